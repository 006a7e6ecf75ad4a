// SPDX-License-Identifier: Apache-2.0
//
// findAndModify over shards.
#include <algorithm>

#include "base/error_codes.h"
#include "base/try.h"
#include "request/crud.h"
#include "request/reply.h"
#include "router/core.h"
#include "router/data/forward.h"
#include "router/data/one_write.h"
#include "router/data/target.h"
#include "router/remote/errors.h"
#include "router/rows.h"

namespace quire::router {

namespace {

using placement::WriteWay;

class FoundWrite final : public OneWrite {
 public:
  FoundWrite(std::string of, const bson::Document& body,
             const request::FindAndModifyRequest& request)
      : body_(body) {
    ns = std::move(of);
    filter = request.query;
    sort = request.sort;
    collation = request.collation;
    let = request.let;
    hint = request.hint;
    upsert = request.upsert;
    const bson::Value number = body["stmtId"];
    statement = number.type() == bson::Type::kInt32 ? number.AsInt32() : 0;
  }

  bson::Document Command(bson::View with_filter, bool upserts) const override {
    bson::Builder out;
    for (const bson::Element& field : body_.view()) {
      if (field.name() != "query" && (upserts || field.name() != "upsert")) {
        out.Append(field);
      }
    }
    return out.Append("query", with_filter).Finish();
  }

  bson::Document Making(bson::View document) const override {
    bson::Builder out;
    for (const bson::Element& field : body_.view()) {
      const std::string_view name = field.name();
      if (name != "query" && name != "update" && name != "sort" && name != "hint" &&
          name != "arrayFilters") {
        out.Append(field);
      }
    }
    const bson::Document query = MakingFilter(document);
    return out.Append("query", query).Append("update", document).Finish();
  }

  std::optional<bson::Document> NoneMatched() const override { return std::nullopt; }

  bson::Document Repeated(bson::View answer) const override {
    bson::Builder out;
    return out.AppendFields(answer).Append("retriedStmtId", statement).Append("ok", 1.0).Finish();
  }

  bool Matched(bson::View reply) const override {
    const bson::Value last = reply["lastErrorObject"];
    return last.is_document() && request::CountIn(last.AsDocument()["n"]) > 0;
  }

  Status ErrorIn(const Heard& heard) const override {
    return heard.reply.ok() ? Status::Ok() : heard.reply.status().WithExtra(heard.error.bytes());
  }

 private:
  const bson::Document& body_;
};

// What only a shard could do is told to the client in its own words.
Status Deliver(Routed& request, Heard answer) {
  if (!answer.reply.ok() && answer.reply.status().code() == kWouldChangeOwningShard) {
    return KeyChangeOverShards();
  }
  return request.Deliver(std::move(answer));
}

// Sends it to the one shard that has what it names.
Task<Result<Heard>> WriteThere(Routed& request, RoutePtr* route, const FoundWrite& write,
                               placement::ShardName shard, bool* stale) {
  std::vector<Part> parts;
  parts.push_back({std::move(shard), request.body});
  Result<std::vector<Heard>> heard = co_await AskVersioned(request, route, std::move(parts), stale);
  CO_RETURN_IF_ERROR(heard.status());
  Heard& answer = heard->front();
  const Status error = write.ErrorIn(answer);
  const bson::Value upserts = answer.error["shouldUpsert"];
  if (*stale || error.code() != kWouldChangeOwningShard || upserts.type() != bson::Type::kBool ||
      !upserts.AsBool()) {
    co_return std::move(answer);
  }
  if (!request.call().generic.txn_number) {
    co_return KeyChangeNotAllowed();
  }
  Result<Heard> made = co_await MakeAtOwner(request, route, write, error, stale);
  co_return made;
}

Task<Status> RouteFindAndModify(Routed& request) {
  CO_ASSIGN_OR_RETURN(std::string ns, request.Namespace());
  Result<RoutePtr> found = co_await request.Find(ns, true);
  CO_RETURN_IF_ERROR(found.status());
  RoutePtr route = *found;
  CO_ASSIGN_OR_RETURN(const auto modify, request::FindAndModifyRequest::Parse(request.body));
  const FoundWrite write(ns, request.body, modify);
  for (int i = 0; i <= kMostRefreshes; ++i) {
    if (!route->sharded()) {
      bool sharded = false;
      const ForwardOptions options{.create = true, .replan = &sharded};
      Status forwarded = co_await Forward(request, ns, options);
      if (!sharded) {
        co_return forwarded;
      }
      found = co_await request.Find(ns, true);
      CO_RETURN_IF_ERROR(found.status());
      route = *found;
      continue;
    }
    request.call().summary.ns = ns;
    const Query query{modify.query, modify.collation, modify.let};
    placement::WriteWish wish;
    wish.upsert = modify.upsert;
    CO_ASSIGN_OR_RETURN(const placement::WriteTargets targets,
                        TargetChange(request, *route, query, wish));
    const auto& shards = targets.targets.shards;
    bool stale = false;
    Result<Heard> answer = Status(kInternalError, "nothing was asked");
    if (targets.way == WriteWay::kTwoPhase) {
      std::vector<placement::ShardName> all(shards.begin(), shards.end());
      answer = co_await WriteOne(request, &route, write, std::move(all), &stale);
    } else {
      answer = co_await WriteThere(request, &route, write, *shards.begin(), &stale);
    }
    CO_RETURN_IF_ERROR(answer.status());
    if (!stale) {
      co_return Deliver(request, *std::move(answer));
    }
  }
  co_return AlwaysStale(ns);
}

}  // namespace

std::span<const RoutineRow> FindAndModifyRoutines() {
  static constexpr RoutineRow kRows[] = {
      {"findAndModify", RouteFindAndModify},
  };
  return kRows;
}

}  // namespace quire::router
