// SPDX-License-Identifier: Apache-2.0
//
// Reads by an index, and the floor they are compared with.
#include <algorithm>

#include "workload_internal.h"

namespace quire::bench {
namespace {

int64_t Ping(Connection& c) {
  static const Bson ping = FromJson(R"({"ping":1})");
  bool ok =
      mongoc_client_command_simple(c.client.get(), "admin", ping.get(), nullptr, nullptr, &c.error);
  return ok ? 1 : -1;
}

int64_t FindId(Connection& c) { return FindRecord(c, RandomBelow(c, c.shared.size)); }

int64_t FindHostTime(Connection& c) {
  const int64_t total = c.shared.size * kEventStepMs;
  const int64_t span = std::min(total, 11 * kHosts * kEventStepMs);  // about 11 events of a host
  const int64_t from = kFirstEventMs + RandomBelow(c, total - span + 1);
  bson_t filter = BSON_INITIALIZER;
  BSON_APPEND_UTF8(&filter, "host", HostName(static_cast<int>(RandomBelow(c, kHosts))).c_str());
  bson_t range;
  BSON_APPEND_DOCUMENT_BEGIN(&filter, "time", &range);
  BSON_APPEND_DATE_TIME(&range, "$gte", from);
  BSON_APPEND_DATE_TIME(&range, "$lt", from + span);
  bson_append_document_end(&filter, &range);
  int64_t done = Find(c, &filter, nullptr);
  bson_destroy(&filter);
  return done;
}

Bson HostFilter(Connection& c) {
  Bson filter(bson_new());
  BSON_APPEND_UTF8(filter.get(), "host",
                   HostName(static_cast<int>(RandomBelow(c, kHosts))).c_str());
  return filter;
}

int64_t SortedByIndex(Connection& c) {
  static const Bson newest = FromJson(R"({"sort":{"time":-1},"limit":50})");
  return Find(c, HostFilter(c).get(), newest.get());
}

int64_t CoveredByIndex(Connection& c) {
  static const Bson keys =
      FromJson(R"({"projection":{"_id":0,"host":1,"time":1},"limit":100,"batchSize":100})");
  return Find(c, HostFilter(c).get(), keys.get());
}

int64_t CountByIndex(Connection& c) {
  const Bson filter = HostFilter(c);
  return mongoc_collection_count_documents(c.collection.get(), filter.get(), nullptr, nullptr,
                                           nullptr, &c.error) < 0
             ? -1
             : 1;
}

int64_t FindPath100(Connection& c) {
  static const Bson hundred = FromJson(R"({"limit":100,"batchSize":100})");
  bson_t filter = BSON_INITIALIZER;
  BSON_APPEND_UTF8(&filter, "path", PathName(static_cast<int>(RandomBelow(c, kPaths))).c_str());
  int64_t done = Find(c, &filter, hundred.get());
  bson_destroy(&filter);
  return done;
}

constexpr Workload kRows[] = {
    {"ping", "the floor: driver, socket, dispatch", "events", nullptr, false, Ping},
    {"find-id", "find by _id, one document", "ycsb", nullptr, false, FindId},
    {"find-hosttime", "{host, time range}, about 11 documents", "events", nullptr, false,
     FindHostTime},
    {"find-path-100", "{path} limit 100", "events", nullptr, false, FindPath100},
    {"find-sorted", "{host} newest 50, sorted by the index", "events", nullptr, false,
     SortedByIndex},
    {"find-covered", "{host} limit 100, answered from the index alone", "events", nullptr, false,
     CoveredByIndex},
    {"count-host", "countDocuments of a {host}, from the index", "events", nullptr, false,
     CountByIndex},
};

}  // namespace

std::span<const Workload> ReadWorkloads() { return kRows; }

}  // namespace quire::bench
