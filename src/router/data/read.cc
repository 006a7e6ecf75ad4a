// SPDX-License-Identifier: Apache-2.0
//
// find, count and distinct over shards.
#include "router/data/read.h"

#include <algorithm>
#include <set>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/compare.h"
#include "bson/number.h"
#include "expr/collation/collator.h"
#include "request/crud.h"
#include "request/cursor_reply.h"
#include "request/reply.h"
#include "router/core.h"
#include "router/cursor/remote_rows.h"
#include "router/data/forward.h"
#include "router/data/target.h"
#include "router/remote/errors.h"
#include "router/rows.h"
#include "run/batch.h"

namespace quire::router {

namespace {

constexpr std::string_view kSortKey = "__sortKey";

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

// The find that each of several shards gets: it skips nothing, and tells its rows' sort keys.
Result<bson::Document> ShardFind(bson::View body, const request::FindRequest& find) {
  ASSIGN_OR_RETURN(const int64_t limit, WantedOfShards(find.skip, find.limit));
  const bool sorted = !find.sort.empty() && !IsNatural(find.sort);
  bson::Builder out;
  for (const bson::Element& field : body) {
    const std::string_view name = field.name();
    if (name != "skip" && name != "limit" && name != "singleBatch" &&
        !(sorted && name == "projection")) {
      out.Append(field);
    }
  }
  if (limit > 0) {
    out.Append("limit", limit);
  }
  if (sorted) {
    out.BeginDocument("projection").AppendFields(find.projection);
    out.BeginDocument(kSortKey).Append("$meta", "sortKey").End().End();
  }
  return out.Finish();
}

std::vector<bool> Directions(bson::View sort) {
  std::vector<bool> ascending;
  for (const bson::Element& part : sort) {
    // {$meta: "textScore"} is from the highest on.
    ascending.push_back(part.value().is_number() && bson::ClampedInt64(part.value()) > 0);
  }
  return ascending;
}

}  // namespace

Status OpenMerged(Routed& request, std::vector<Heard> heard, const MergeOptions& merge) {
  auto cursor = std::make_shared<run::Cursor>();
  cursor->ns = merge.ns;
  cursor->lsid = request.call().generic.lsid;
  RemoteRowsOptions options;
  options.database = std::string(DatabaseOf(merge.ns));
  options.collection = merge.ns.substr(options.database.size() + 1);
  options.session = request.SessionFields();
  options.sort = merge.sort;
  options.sort_key = merge.sort.empty() ? "" : std::string(kSortKey);
  options.skip = merge.skip;
  options.limit = merge.limit;
  options.batch_size = merge.batch_size;
  std::vector<OpenedCursor> opened;
  for (Heard& one : heard) {
    const bson::Value time = (*one.reply)["operationTime"];
    if (time.type() == bson::Type::kTimestamp) {
      request.call().operation_time = std::max(request.call().operation_time, time.AsTimestamp());
    }
    opened.push_back({one.shard, one.host, *std::move(one.reply)});
  }
  cursor->source =
      std::make_unique<RemoteRows>(&request.core.lanes(), std::move(options), std::move(opened));
  run::FirstBatch first;
  first.size = merge.batch_size;
  first.single = merge.single_batch;
  first.needs = request.invocation.needs;
  return run::AppendFirstBatch(request.core.engine().cursors(), std::move(cursor), first,
                               request.call());
}

void KillOpened(Routed& request, const std::vector<Heard>& heard) {
  for (const Heard& one : heard) {
    if (!one.reply.ok()) {
      continue;
    }
    auto cursor = request::CursorReply::Read(*one.reply);
    if (!cursor.ok() || cursor->id == 0) {
      continue;
    }
    const bson::Document session = request.SessionFields();
    const std::string database(DatabaseOf(cursor->ns));
    bson::Builder kill;
    kill.Append("killCursors", cursor->ns.substr(database.size() + 1))
        .BeginArray("cursors")
        .Push(cursor->id)
        .End()
        .AppendFields(session)
        .Append("$db", database);
    constexpr std::chrono::seconds kPatience{10};
    request.core.lanes().Send(one.host, kill.Finish(), OpContext::Clock::now() + kPatience,
                              [](const Result<bson::Document>&) {});
  }
}

namespace {

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
      Status forwarded = co_await Forward(request, ns, ForwardOptions());
      co_return forwarded;
    }
    const Query query{find.filter, find.collation, find.let};
    CO_ASSIGN_OR_RETURN(const placement::Targets targets, TargetRead(request, *route, query));
    if (find.tailable) {
      co_return Status(kInvalidOptions,
                       "tailable cursors are not supported on sharded collections");
    }
    bson::Document command = request.body;
    if (!targets.single()) {
      CO_ASSIGN_OR_RETURN(command, ShardFind(request.body, find));
    }
    std::vector<Part> parts;
    for (const placement::ShardName& shard : targets.shards) {
      parts.push_back({shard, command});
    }
    bool stale = false;
    Result<std::vector<Heard>> heard =
        co_await AskVersioned(request, &route, std::move(parts), &stale);
    CO_RETURN_IF_ERROR(heard.status());
    if (stale) {
      KillOpened(request, *heard);
      continue;
    }
    if (targets.single()) {
      co_return request.Deliver(std::move(heard->front()));
    }
    if (Status failed = FirstErrorOf(*heard); !failed.ok()) {
      KillOpened(request, *heard);
      co_return failed;
    }
    MergeOptions merge;
    merge.ns = ns;
    merge.skip = find.skip;
    merge.limit = find.limit;
    merge.batch_size = find.batch_size;
    merge.single_batch = find.single_batch;
    if (!find.sort.empty() && !IsNatural(find.sort)) {
      merge.sort = Directions(find.sort);
    }
    co_return OpenMerged(request, *std::move(heard), merge);
  }
  co_return Status(kStaleConfig, "The placement of " + ns + " changes all the time");
}

Task<Status> RouteCount(Routed& request) {
  CO_ASSIGN_OR_RETURN(std::string ns, request.Namespace());
  Result<RoutePtr> found = co_await request.Find(ns, false);
  if (!found.ok() && found.status().code() == kNamespaceNotFound) {
    co_return request.RunHere();
  }
  CO_RETURN_IF_ERROR(found.status());
  RoutePtr route = *found;
  CO_ASSIGN_OR_RETURN(const auto count, request::CountRequest::Parse(request.body));
  for (int i = 0; i <= kMostRefreshes; ++i) {
    if (!route->sharded()) {
      Status forwarded = co_await Forward(request, ns, ForwardOptions());
      co_return forwarded;
    }
    const Query query{count.query, count.collation, bson::View()};
    CO_ASSIGN_OR_RETURN(const placement::Targets targets, TargetRead(request, *route, query));
    bson::Document command = request.body;
    if (!targets.single()) {
      CO_ASSIGN_OR_RETURN(const int64_t limit, WantedOfShards(count.skip, count.limit));
      bson::Builder out;
      for (const bson::Element& field : request.body.view()) {
        if (field.name() != "skip" && field.name() != "limit") {
          out.Append(field);
        }
      }
      if (limit > 0) {
        out.Append("limit", limit);
      }
      command = out.Finish();
    }
    std::vector<Part> parts;
    for (const placement::ShardName& shard : targets.shards) {
      parts.push_back({shard, command});
    }
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
    int64_t n = 0;
    for (const Heard& one : *heard) {
      n += request::CountIn((*one.reply)["n"]);
    }
    n = std::max<int64_t>(0, n - count.skip);
    n = count.limit > 0 ? std::min(n, count.limit) : n;
    request::AppendCount(&request.call().reply, "n", n);
    co_return Status::Ok();
  }
  co_return Status(kStaleConfig, "The placement of " + ns + " changes all the time");
}

// Each value once, in order.
Status AppendDistinct(const std::vector<Heard>& heard, bson::View collation, const Route& route,
                      bson::Builder* reply) {
  constexpr size_t kMostBytes = size_t{16} << 20;
  std::shared_ptr<const expr::Collator> collator;
  if (!collation.empty()) {
    ASSIGN_OR_RETURN(collator, expr::Collator::Parse(collation));
  } else if (route.collection->default_collation) {
    ASSIGN_OR_RETURN(collator, expr::Collator::Parse(*route.collection->default_collation));
  }
  const bson::StringCompare* strings = collator.get();
  auto less = [strings](const bson::Value& a, const bson::Value& b) {
    return bson::Compare(a, b, strings) < 0;
  };
  std::set<bson::Value, decltype(less)> values(less);
  size_t bytes = 0;
  for (const Heard& one : heard) {
    for (const bson::Element& value : (*one.reply)["values"].AsArray()) {
      if (values.insert(value.value()).second) {
        bytes += value.value_size() + 8;
      }
    }
  }
  if (bytes > kMostBytes) {
    return {17217, "distinct too big, 16mb cap"};
  }
  reply->BeginArray("values");
  for (const bson::Value& value : values) {
    reply->Push(value);
  }
  reply->End();
  return Status::Ok();
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
      Status forwarded = co_await Forward(request, ns, ForwardOptions());
      co_return forwarded;
    }
    const Query query{distinct.query, distinct.collation, bson::View()};
    CO_ASSIGN_OR_RETURN(const placement::Targets targets, TargetRead(request, *route, query));
    std::vector<Part> parts;
    for (const placement::ShardName& shard : targets.shards) {
      parts.push_back({shard, request.body});
    }
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
    co_return AppendDistinct(*heard, distinct.collation, *route, &request.call().reply);
  }
  co_return Status(kStaleConfig, "The placement of " + ns + " changes all the time");
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
