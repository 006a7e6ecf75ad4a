// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/reports.h"

#include <atomic>

#include "base/try.h"
#include "demo/demos.h"
#include "quire/doc.h"

namespace quire::apps {
namespace {

using patterns::Level;
using patterns::ReportLayout;
using patterns::Reports;

constexpr char kSite[] = "site-1";
constexpr int64_t kDay = 86'400'000;
constexpr int64_t kStart = 1'577'836'800'000;  // 2020-01-01
constexpr int64_t kDays = 28;

std::string PageOf(int64_t i) { return Numbered("/page", i); }

bson::Date AnyTime(Chance* chance) { return bson::Date{kStart + chance->Below(kDays * kDay)}; }

std::vector<Step> Steps(const DesignRun& run, const Reports& reports, std::atomic<int64_t>* hits) {
  return {
      {"log hit", 70,
       [&run, &reports, hits](Worker& w) {
         Status status =
             reports.LogHit({AnyTime(&w.chance), kSite, PageOf(w.chance.Skewed(run.size())), 1});
         *hits += status.ok() ? 1 : 0;
         return status;
       }},
      {"minutes of a day", 15,
       [&](Worker& w) {
         const bson::Date from = patterns::BucketStart(AnyTime(&w.chance), Level::kDay);
         return reports
             .Series(kSite, PageOf(w.chance.Skewed(run.size())), from,
                     bson::Date{from.millis + kDay}, Level::kMinute)
             .status();
       }},
      {"days of a month", 15,
       [&](Worker& w) {
         return reports
             .Series(kSite, PageOf(w.chance.Skewed(run.size())), bson::Date{kStart},
                     bson::Date{kStart + kDays * kDay}, Level::kDay)
             .status();
       }},
  };
}

Result<int64_t> Counted(const DesignRun& run, const Reports& reports, Level level) {
  int64_t sum = 0;
  for (int64_t i = 0; i < run.size(); ++i) {
    ASSIGN_OR_RETURN(std::vector<patterns::ReportPoint> points,
                     reports.Series(kSite, PageOf(i), bson::Date{kStart},
                                    bson::Date{kStart + kDays * kDay}, level));
    for (const patterns::ReportPoint& point : points) {
      sum += point.hits;
    }
  }
  return sum;
}

Status RunLayout(DesignRun* run, ReportLayout layout) {
  Reports reports(run->client(), run->database(), {.layout = layout});
  RETURN_IF_ERROR(reports.CreateIndexes());
  RETURN_IF_ERROR(run->Load("days of pages", run->size() * kDays, [&](int64_t i) {
    return reports.Preallocate(bson::Date{kStart + i % kDays * kDay}, kSite, PageOf(i / kDays));
  }));
  std::atomic<int64_t> hits{0};
  RETURN_IF_ERROR(run->Work(Steps(*run, reports, &hits)));
  RETURN_IF_ERROR(run->Explain(
      "days of a month", layout == ReportLayout::kSplit ? "stats.monthly" : "stats.daily",
      Doc("metadata.site", kSite, "metadata.page", PageOf(0), "metadata.date",
          Doc("$gte", bson::Date{kStart}, "$lt", bson::Date{kStart + kDays * kDay}))));
  for (Level level : {Level::kMinute, Level::kDay}) {
    ASSIGN_OR_RETURN(int64_t counted, Counted(*run, reports, level));
    run->Check(
        std::string("every hit is counted in its ") + (level == Level::kDay ? "day" : "minute"),
        counted == hits, std::to_string(counted) + " of " + std::to_string(hits));
  }
  return run->CheckInvariants(reports);
}

}  // namespace

Status DemoReports(DemoRun* run) {
  struct Row {
    const char* name;
    ReportLayout layout;
  };
  constexpr Row kRows[] = {{"flat", ReportLayout::kFlat},
                           {"hierarchical", ReportLayout::kHierarchical},
                           {"split", ReportLayout::kSplit}};
  for (const Row& row : kRows) {
    RETURN_IF_ERROR(
        run->Design(row.name, [&](DesignRun* design) { return RunLayout(design, row.layout); }));
  }
  return Status::Ok();
}

}  // namespace quire::apps
