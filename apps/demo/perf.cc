// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/perf.h"

#include "base/try.h"
#include "demo/demos.h"
#include "quire/doc.h"
#include "quire/patterns/buckets.h"

namespace quire::apps {
namespace {

using patterns::Perf;

constexpr int64_t kBatch = 100;
constexpr int64_t kHosts = 50;
constexpr int64_t kDays = 5;
constexpr int64_t kDay = 86'400'000;
constexpr int64_t kPage = 100;

std::string HostOf(int64_t i) { return Numbered("host", i % kHosts); }

Status InsertBatch(const Perf& perf, bson::Date until, int64_t count, Chance* chance) {
  std::vector<patterns::PerfSample> samples;
  for (int64_t i = 0; i < count; ++i) {
    samples.push_back({.host = HostOf(chance->Below(kHosts)),
                       .time = bson::Date{until.millis - chance->Below(kDays * kDay)},
                       .parameter = chance->Below(2) == 0 ? "cpu" : "memory",
                       .value = static_cast<double>(chance->Below(100))});
  }
  return perf.InsertMany(samples).status();
}

std::vector<Step> Steps(const Perf& perf, bson::Date now) {
  const bson::Date from{now.millis - kDays * kDay};
  const bson::Date last_hour{now.millis - kDay / 24};
  return {
      {"insert 100", 15,
       [&perf, now](Worker& w) { return InsertBatch(perf, now, kBatch, &w.chance); }},
      {"by host", 40,
       [&perf, from, now](Worker& w) {
         return perf.ByHost(HostOf(w.chance.Below(kHosts)), from, now, {.limit = kPage}).status();
       }},
      {"by parameter", 25,
       [&perf, from, now](Worker& w) {
         return perf
             .ByHostAndParameter(HostOf(w.chance.Below(kHosts)), "cpu", from, now, {.limit = kPage})
             .status();
       }},
      {"latest", 18,
       [&perf](Worker& w) { return perf.Latest(HostOf(w.chance.Below(kHosts))).status(); }},
      {"sum an hour", 2,
       [&perf, last_hour, now](Worker&) {
         return perf.Aggregate({.host = true}, last_hour, now).status();
       }},
  };
}

Status RunPerf(DesignRun* run) {
  // Nothing is stored while the sums are made, so that no sample has to wait for the next run.
  Perf perf(run->client(), run->database(), {.delay = std::chrono::milliseconds(-1)});
  RETURN_IF_ERROR(perf.CreateIndexes());
  const bson::Date now = patterns::Clock::System()->Now();
  RETURN_IF_ERROR(run->LoadBatches("batches", run->size(), kBatch, [&](int64_t i, int64_t count) {
    Chance chance(static_cast<uint64_t>(i) + 1);
    return InsertBatch(perf, now, count, &chance);
  }));
  RETURN_IF_ERROR(run->Work(Steps(perf, now)));
  RETURN_IF_ERROR(run->Job("roll-up", [&] { return perf.Rollup().status(); }));
  RETURN_IF_ERROR(run->Explain("by host", "perf_" + patterns::DayKey(now), Doc("Host", HostOf(7)),
                               Doc("GeneratedOn", 1, "_id", 1), kPage));
  ASSIGN_OR_RETURN(std::vector<std::string> wrong, perf.CheckInvariants());
  run->Check("samples lie in their days, counters and sums agree with them", wrong);
  return Status::Ok();
}

}  // namespace

Status DemoPerf(DemoRun* run) { return run->Design("daily collections", RunPerf); }

}  // namespace quire::apps
