// SPDX-License-Identifier: Apache-2.0
//
// Reads of whole collections: filters without an index, and pipelines.
#include "workload_internal.h"

namespace quire::bench {
namespace {

int64_t ScanFilter(Connection& c) {
  static const Bson filter = FromJson(R"({"status":500,"bytes":{"$gt":97000}})");
  return Find(c, filter.get(), nullptr);
}

int64_t CountFilter(Connection& c) {
  static const Bson filter = FromJson(R"({"status":500,"bytes":{"$gt":50000}})");
  return mongoc_collection_count_documents(c.collection.get(), filter.get(), nullptr, nullptr,
                                           nullptr, &c.error) < 0
             ? -1
             : 1;
}

int64_t SortLimit(Connection& c) {
  static const Bson filter = FromJson(R"({"method":"POST"})");
  static const Bson options = FromJson(R"({"sort":{"bytes":-1},"limit":20})");
  return Find(c, filter.get(), options.get());
}

int64_t AggregateGroup(Connection& c) {
  const int64_t from = kFirstEventMs + c.shared.size * kEventStepMs / 20;
  const std::string pipeline =
      R"({"pipeline":[{"$match":{"time":{"$gte":{"$date":{"$numberLong":")" + std::to_string(from) +
      R"("}}}}},{"$group":{"_id":{"path":"$path","day":{"$dateToString":{"format":"%Y-%m-%d",)" +
      R"("date":"$time"}}},"hits":{"$sum":1},"bytes":{"$sum":"$bytes"},)" +
      R"("slowest":{"$max":"$seconds"}}},{"$sort":{"hits":-1,"_id":1}},{"$limit":20}]})";
  Bson command = FromJson(pipeline);
  return Drain(c, mongoc_collection_aggregate(c.collection.get(), MONGOC_QUERY_NONE, command.get(),
                                              nullptr, nullptr));
}

int64_t Aggregate(Connection& c, const Bson& command) {
  return Drain(c, mongoc_collection_aggregate(c.collection.get(), MONGOC_QUERY_NONE, command.get(),
                                              nullptr, nullptr));
}

// What the pipelines below are to be compared with: every document read, none kept.
int64_t AggregateScan(Connection& c) {
  static const Bson command = FromJson(R"({"pipeline":[{"$match":{"bytes":{"$lt":0}}}]})");
  return Aggregate(c, command);
}

int64_t AggregateTop(Connection& c) {
  static const Bson command =
      FromJson(R"({"pipeline":[{"$sort":{"bytes":-1,"_id":1}},{"$limit":20}]})");
  return Aggregate(c, command);
}

int64_t AggregateUnwind(Connection& c) {
  static const Bson command = FromJson(
      R"({"pipeline":[{"$project":{"part":{"$split":["$path","/"]}}},{"$unwind":"$part"},
          {"$group":{"_id":"$part","n":{"$sum":1}}}]})");
  return Aggregate(c, command);
}

int64_t AggregateLookup(Connection& c) {
  static const Bson command = FromJson(
      R"({"pipeline":[{"$limit":1000},{"$lookup":{"from":"events","localField":"_id",
          "foreignField":"_id","as":"same"}},{"$unwind":"$same"},{"$match":{"same.status":500}},
          {"$count":"n"}]})");
  return Aggregate(c, command);
}

int64_t AggregateFacet(Connection& c) {
  static const Bson command = FromJson(
      R"({"pipeline":[{"$facet":{"paths":[{"$group":{"_id":"$path","n":{"$sum":1}}}],
          "statuses":[{"$group":{"_id":"$status","n":{"$sum":1}}}],
          "largest":[{"$sort":{"bytes":-1}},{"$limit":10}]}}]})");
  return Aggregate(c, command);
}

int64_t AggregateDistinct(Connection& c) {
  static const Bson command = FromJson(R"({"pipeline":[{"$group":{"_id":"$path"}}]})");
  return Aggregate(c, command);
}

int64_t MapReduce(Connection& c) {
  static const std::string command =
      R"({"mapReduce":"events","map":"function() { emit(this.path, this.bytes); }",)"
      R"("reduce":"function(key, values) { return Array.sum(values); }","out":{"inline":1}})";
  return RunJson(c.client.get(), kDatabase, command, &c.error) ? 1 : -1;
}

constexpr Workload kRows[] = {
    {"scan-filter", "unindexed filter over the events", "events", nullptr, false, ScanFilter,
     nullptr, true},
    {"count-filter", "countDocuments, unindexed", "events", nullptr, false, CountFilter, nullptr,
     true},
    {"sort-limit", "filter, top 20 by an unindexed field", "events", nullptr, false, SortLimit,
     nullptr, true},
    {"agg-group", "match by time, group by (path, day), three accumulators, sort, limit", "events",
     nullptr, false, AggregateGroup, nullptr, true},
    {"agg-scan", "a pipeline that reads every event and keeps none: the yardstick", "events",
     nullptr, false, AggregateScan, nullptr, true},
    {"agg-top", "top 20 of all events by an unindexed field", "events", nullptr, false,
     AggregateTop, nullptr, true},
    {"agg-unwind", "split, unwind, group", "events", nullptr, false, AggregateUnwind, nullptr,
     true},
    {"agg-lookup", "1000 events, each looked up by _id, unwound and filtered", "events", nullptr,
     false, AggregateLookup},
    {"agg-facet", "two groups and a top 10 over all events in one $facet", "events", nullptr, false,
     AggregateFacet, nullptr, true},
    {"agg-distinct", "the distinct values of an indexed field", "events", nullptr, false,
     AggregateDistinct},
    {"map-reduce", "bytes by path, in JavaScript", "events", nullptr, false, MapReduce},
};

}  // namespace

std::span<const Workload> ScanWorkloads() { return kRows; }

}  // namespace quire::bench
