// SPDX-License-Identifier: Apache-2.0
//
// find, count and distinct over shards.
#include "engine/read/read.h"

#include <algorithm>
#include <set>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/compare.h"
#include "bson/number.h"
#include "expr/collation/collator.h"
#include "pipeline/stages/match.h"
#include "request/crud.h"
#include "request/cursor_reply.h"
#include "request/reply.h"
#include "router/core.h"
#include "router/cursor/remote_rows.h"
#include "router/data/aggregate.h"
#include "router/data/forward.h"
#include "router/data/merged.h"
#include "router/data/target.h"
#include "router/pipeline/view_read.h"
#include "router/remote/errors.h"
#include "router/rows.h"
#include "run/batch.h"

namespace quire::router {

namespace {

bool IsNatural(bson::View sort) { return !sort.empty() && sort.front().name() == "$natural"; }

// skip + limit; 0: there is no limit.
Result<int64_t> WantedOfShards(int64_t skip, int64_t limit) {
  int64_t sum = 0;
  if (limit == 0) {
    return int64_t{0};
  }
  if (__builtin_add_overflow(skip, limit, &sum)) {
    return Status(kOverflow, "sum of limit and skip cannot be represented as a 64-bit integer");
  }
  return sum;
}

// Whether rows come in an order: the sort's, or that of their distances.
bool IsOrdered(const request::FindRequest& find) {
  return find.sort.empty() ? pipeline::FilterUses(find.filter, {"$near", "$nearSphere"})
                           : !IsNatural(find.sort);
}

// The find that each of several shards gets: it skips nothing, and tells by what its rows are
// sorted.
Result<bson::Document> ShardFind(bson::View body, const request::FindRequest& find) {
  ASSIGN_OR_RETURN(const int64_t limit, WantedOfShards(find.skip, find.limit));
  bson::Builder out;
  for (const bson::Element& field : body) {
    const std::string_view name = field.name();
    if (name != "skip" && name != "limit" && name != "singleBatch" &&
        name != "allowPartialResults") {
      out.Append(field);
    }
  }
  if (limit > 0) {
    out.Append("limit", limit);
  }
  out.BeginDocument("shardRows")
      .Append("keys", IsOrdered(find))
      .Append("bytes", kMergedBytes)
      .End();
  return out.Finish();
}

// The one row that an aggregation of a view gives; empty when it gives none.
Task<Result<bson::Document>> RowOfView(Routed& request, const std::string& ns,
                                       const engine::ViewRead& read, const Status& refusal) {
  Aggregation aggregation = OnView(ns, read, request.body);
  CO_RETURN_IF_ERROR(aggregation.Resolve(refusal));
  ParsedPipeline pipeline;
  CO_RETURN_IF_ERROR(pipeline.Parse(request.invocation.operation, aggregation));
  Result<Places> places = co_await FindPlaces(request, aggregation, pipeline);
  CO_RETURN_IF_ERROR(places.status());
  if (places->main == nullptr) {
    co_return bson::Document();
  }
  Result<std::shared_ptr<run::Cursor>> cursor =
      co_await OpenDivided(request, aggregation, pipeline, *places);
  CO_RETURN_IF_ERROR(cursor.status());
  exec::Row row;
  Result<bool> found = co_await NextRow(request, **cursor, &row);
  CO_RETURN_IF_ERROR(found.status());
  co_return *found ? bson::Document(row.document) : bson::Document();
}

// Of a view or a collection on one shard; of a view on a sharded collection as an aggregation.
// *sharded: nothing was run, the collection is sharded now.
Task<Status> FindUnsharded(Routed& request, const std::string& ns, const request::FindRequest& find,
                           bool* sharded) {
  ForwardOptions options;
  options.replan = sharded;
  Status forwarded = co_await Forward(request, ns, options);
  if (!Aggregation::IsRefusal(forwarded)) {
    co_return forwarded;
  }
  CO_ASSIGN_OR_RETURN(const engine::ViewRead read, engine::FindOnView(ns, find));
  Aggregation aggregation = OnView(ns, read, request.body);
  CO_RETURN_IF_ERROR(aggregation.Resolve(forwarded));
  Status status = co_await RunAggregation(request, std::move(aggregation));
  co_return status;
}

Task<Status> RouteFind(Routed& request) {
  CO_ASSIGN_OR_RETURN(std::string ns, request.Namespace());
  Result<RoutePtr> found = co_await request.Find(ns, false);
  if (!found.ok() && found.status().code() == kNamespaceNotFound) {
    co_return request.RunHere();
  }
  CO_RETURN_IF_ERROR(found.status());
  RoutePtr route = *found;
  CO_ASSIGN_OR_RETURN(const request::FindRequest find, request::FindRequest::Parse(request.body));
  for (int i = 0; i <= kMostRefreshes; ++i) {
    if (!route->sharded()) {
      bool sharded = false;
      Status status = co_await FindUnsharded(request, ns, find, &sharded);
      if (!sharded) {
        co_return status;
      }
      found = co_await request.Find(ns, false);
      CO_RETURN_IF_ERROR(found.status());
      route = *found;
      continue;
    }
    const Query query{find.filter, find.collation, find.let};
    CO_ASSIGN_OR_RETURN(const placement::Targets targets, TargetRead(request, *route, query));
    bson::Document command = request.body;
    if (!targets.single()) {
      CO_ASSIGN_OR_RETURN(command, ShardFind(request.body, find));
    }
    std::vector<Part> parts = ToEach(targets.shards, command);
    bool stale = false;
    Result<std::vector<Heard>> heard =
        co_await AskVersioned(request, &route, std::move(parts), &stale);
    CO_RETURN_IF_ERROR(heard.status());
    if (stale) {
      KillOpened(request, *heard);
      continue;
    }
    MergeOptions merge;
    merge.ns = ns;
    merge.allows_partial = find.allow_partial_results;
    merge.partial = merge.allows_partial && std::erase_if(*heard, [](const Heard& one) {
                                              return !one.reply.ok() &&
                                                     IsUnreachable(one.reply.status().code());
                                            }) > 0;
    if (targets.single() && !merge.partial) {
      co_return request.Deliver(std::move(heard->front()));
    }
    if (Status failed = FirstErrorOf(*heard); !failed.ok()) {
      KillOpened(request, *heard);
      co_return failed;
    }
    merge.skip = find.skip;
    merge.limit = find.limit;
    merge.batch_size = find.batch_size;
    merge.single_batch = find.single_batch;
    merge.no_timeout = find.no_cursor_timeout;
    merge.sorted = IsOrdered(find);
    co_return OpenMerged(request, *std::move(heard), merge);
  }
  co_return AlwaysStale(ns);
}

// Of a view on a sharded collection.
Task<Status> CountView(Routed& request, const std::string& ns, const request::CountRequest& count,
                       const Status& refusal) {
  const engine::ViewRead read = engine::ExplainedCountOnView(count);
  Result<bson::Document> row = co_await RowOfView(request, ns, read, refusal);
  CO_RETURN_IF_ERROR(row.status());
  const int64_t n = row->empty() ? 0 : request::CountIn((*row)["count"]);
  request::AppendCount(&request.call().reply, "n", n);
  co_return Status::Ok();
}

// The count that each shard gets: it skips nothing.
Result<bson::Document> ShardCount(bson::View body, const request::CountRequest& count) {
  ASSIGN_OR_RETURN(const int64_t limit, WantedOfShards(count.skip, count.limit));
  bson::Builder out;
  for (const bson::Element& field : body) {
    if (field.name() != "skip" && field.name() != "limit") {
      out.Append(field);
    }
  }
  if (limit > 0) {
    out.Append("limit", limit);
  }
  return out.Finish();
}

// {shards: {name: n}, n}
void AppendCounts(Routed& request, const std::vector<Heard>& heard,
                  const request::CountRequest& count) {
  bson::Builder& reply = request.call().reply;
  int64_t n = 0;
  reply.BeginDocument("shards");
  for (const Heard& one : heard) {
    const int64_t own = request::CountIn((*one.reply)["n"]);
    request::AppendCount(&reply, one.shard, own);
    n += own;
    const bson::Value time = (*one.reply)["operationTime"];
    if (time.type() == bson::Type::kTimestamp) {
      request.call().operation_time = std::max(request.call().operation_time, time.AsTimestamp());
    }
  }
  reply.End();
  n = std::max<int64_t>(0, n - count.skip);
  n = count.limit > 0 ? std::min(n, count.limit) : n;
  request::AppendCount(&reply, "n", n);
}

Task<Status> RouteCount(Routed& request) {
  CO_ASSIGN_OR_RETURN(std::string ns, request.Namespace());
  request.call().summary.ns = ns;
  Result<RoutePtr> found = co_await request.Find(ns, false);
  if (!found.ok() && found.status().code() == kNamespaceNotFound) {
    co_return request.RunHere();
  }
  CO_RETURN_IF_ERROR(found.status());
  RoutePtr route = *found;
  CO_ASSIGN_OR_RETURN(const auto count, request::CountRequest::Parse(request.body));
  const PartsOf parts = [&](const Route& known) -> Result<std::vector<Part>> {
    std::set<placement::ShardName> shards = {known.database.primary};
    if (known.sharded()) {
      const Query query{count.query, count.collation, bson::View()};
      ASSIGN_OR_RETURN(const placement::Targets targets, TargetRead(request, known, query));
      shards = targets.shards;
    }
    ASSIGN_OR_RETURN(const bson::Document command, ShardCount(request.body, count));
    return ToEach(shards, command);
  };
  Result<std::vector<Heard>> heard = co_await AskRefreshed(request, &route, parts);
  CO_RETURN_IF_ERROR(heard.status());
  const Status failed = FirstErrorOf(*heard);
  if (Aggregation::IsRefusal(failed)) {
    Status status = co_await CountView(request, ns, count, failed);
    co_return status;
  }
  CO_RETURN_IF_ERROR(failed);
  AppendCounts(request, *heard, count);
  co_return Status::Ok();
}

// Each value once, in order.
class DistinctValues {
 public:
  // `collator` outlives it.
  explicit DistinctValues(const expr::Collator* collator) : values_(Less{collator}) {}

  void AddAll(bson::View list) {
    for (const bson::Element& value : list) {
      if (values_.insert(value.value()).second) {
        bytes_ += value.value_size() + 8;
      }
    }
  }
  Status Append(Routed& request) const {
    constexpr size_t kMostBytes = size_t{16} << 20;
    if (bytes_ > kMostBytes) {
      return {17217, "distinct too big, 16mb cap"};
    }
    bson::Builder& reply = request.call().reply;
    reply.BeginArray("values");
    for (const bson::Value& value : values_) {
      reply.Push(value);
    }
    reply.End();
    if (request.snapshot_time) {
      reply.Append("atClusterTime", *request.snapshot_time);
    }
    return Status::Ok();
  }

 private:
  struct Less {
    const bson::StringCompare* strings;
    bool operator()(const bson::Value& a, const bson::Value& b) const {
      return bson::Compare(a, b, strings) < 0;
    }
  };
  std::set<bson::Value, Less> values_;
  size_t bytes_ = 0;
};

Status AppendDistinct(Routed& request, const std::vector<Heard>& heard, bson::View collation,
                      const Route& route) {
  std::shared_ptr<const expr::Collator> collator;
  if (!collation.empty()) {
    ASSIGN_OR_RETURN(collator, expr::Collator::Parse(collation));
  } else if (route.collection->default_collation) {
    ASSIGN_OR_RETURN(collator, expr::Collator::Parse(*route.collection->default_collation));
  }
  DistinctValues values(collator.get());
  for (const Heard& one : heard) {
    values.AddAll((*one.reply)["values"].AsArray());
  }
  return values.Append(request);
}

Task<Status> DistinctUnsharded(Routed& request, const std::string& ns,
                               const request::DistinctRequest& distinct, bool* sharded) {
  ForwardOptions options;
  options.replan = sharded;
  Status forwarded = co_await Forward(request, ns, options);
  if (!Aggregation::IsRefusal(forwarded)) {
    co_return forwarded;
  }
  const engine::ViewRead read = engine::ExplainedDistinctOnView(distinct);
  Result<bson::Document> row = co_await RowOfView(request, ns, read, forwarded);
  CO_RETURN_IF_ERROR(row.status());
  std::shared_ptr<const expr::Collator> collator;
  const bson::Document extra = bson::Document::FromTrusted(std::string(forwarded.extra()));
  bson::Value collation = extra["resolvedView"].AsDocument()["collation"];
  if (!distinct.collation.empty()) {
    collation = bson::Value(distinct.collation);
  }
  if (collation.is_document()) {
    CO_ASSIGN_OR_RETURN(collator, expr::Collator::Parse(collation.AsDocument()));
  }
  DistinctValues values(collator.get());
  if (!row->empty()) {
    values.AddAll((*row)["distinct"].AsArray());
  }
  co_return values.Append(request);
}

Task<Status> RouteDistinct(Routed& request) {
  CO_ASSIGN_OR_RETURN(std::string ns, request.Namespace());
  Result<RoutePtr> found = co_await request.Find(ns, false);
  if (!found.ok() && found.status().code() == kNamespaceNotFound) {
    co_return request.RunHere();
  }
  CO_RETURN_IF_ERROR(found.status());
  RoutePtr route = *found;
  CO_ASSIGN_OR_RETURN(const auto distinct, request::DistinctRequest::Parse(request.body));
  for (int i = 0; i <= kMostRefreshes; ++i) {
    if (!route->sharded()) {
      bool sharded = false;
      Status status = co_await DistinctUnsharded(request, ns, distinct, &sharded);
      if (!sharded) {
        co_return status;
      }
      found = co_await request.Find(ns, false);
      CO_RETURN_IF_ERROR(found.status());
      route = *found;
      continue;
    }
    const Query query{distinct.query, distinct.collation, bson::View()};
    CO_ASSIGN_OR_RETURN(const placement::Targets targets, TargetRead(request, *route, query));
    std::vector<Part> parts = ToEach(targets.shards, request.body);
    bool stale = false;
    Result<std::vector<Heard>> heard =
        co_await AskVersioned(request, &route, std::move(parts), &stale);
    CO_RETURN_IF_ERROR(heard.status());
    if (stale) {
      continue;
    }
    if (targets.single()) {
      co_return request.Deliver(std::move(heard->front()));
    }
    CO_RETURN_IF_ERROR(FirstErrorOf(*heard));
    co_return AppendDistinct(request, *heard, distinct.collation, *route);
  }
  co_return AlwaysStale(ns);
}

}  // namespace

std::span<const RoutineRow> ReadRoutines() {
  static constexpr RoutineRow kRows[] = {
      {"find", RouteFind},
      {"count", RouteCount},
      {"distinct", RouteDistinct},
  };
  return kRows;
}

}  // namespace quire::router
