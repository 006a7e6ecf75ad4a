// SPDX-License-Identifier: Apache-2.0
#include "router/data/target.h"

#include <utility>

#include "base/error_codes.h"
#include "base/try.h"
#include "expr/collation/collator.h"
#include "expr/match/match.h"
#include "router/core.h"
#include "router/data/snapshot.h"
#include "router/remote/errors.h"

namespace quire::router {

namespace {

// A filter with all that it needs to mean something.
struct Parsed {
  std::shared_ptr<const expr::Collator> collator;
  expr::Context context;
  std::unique_ptr<expr::match::Filter> filter;
};

Status Parse(Routed& request, const Route& route, const Query& query, Parsed* out) {
  const auto& default_collation = route.collection->default_collation;
  if (!query.collation.empty()) {
    ASSIGN_OR_RETURN(out->collator, expr::Collator::Parse(query.collation));
  } else if (default_collation) {
    ASSIGN_OR_RETURN(out->collator, expr::Collator::Parse(*default_collation));
  }
  out->context.collator = out->collator.get();
  engine::Operation operation{request.core.engine(), request.op()};
  RETURN_IF_ERROR(engine::FillContext(operation, query.let, &out->context));
  ASSIGN_OR_RETURN(out->filter, expr::match::Filter::Parse(query.filter, &out->context));
  return Status::Ok();
}

}  // namespace

Result<placement::Targets> TargetRead(Routed& request, const Route& route, const Query& query) {
  Parsed parsed;
  RETURN_IF_ERROR(Parse(request, route, query, &parsed));
  return placement::TargetFilter(*route.chunks, parsed.filter->root(), parsed.context);
}

Result<placement::WriteTargets> TargetChange(Routed& request, const Route& route,
                                             const Query& query, const placement::WriteWish& wish) {
  Parsed parsed;
  RETURN_IF_ERROR(Parse(request, route, query, &parsed));
  return placement::TargetWrite(*route.chunks, parsed.filter->root(), parsed.context, wish);
}

Status FirstErrorOf(const std::vector<Heard>& heard) {
  for (const Heard& one : heard) {
    if (!one.reply.ok()) {
      return ForClients(one.reply.status());
    }
  }
  return Status::Ok();
}

namespace {

// Reads again what the shard has refused.
Task<Status> RefreshRefused(Routed& request, RoutePtr* route, Routes* others, const Heard& one) {
  const bson::Value ns = one.error["ns"];        // StaleConfig
  const bson::Value database = one.error["db"];  // StaleDbVersion
  auto is_refused = [&](const std::string& name) {
    return (ns.is_string() && ns.AsString() == name) ||
           (database.is_string() && database.AsString() == DatabaseOf(name));
  };
  bool refreshed = false;
  if (others != nullptr) {
    for (auto& [name, known] : *others) {
      if (is_refused(name)) {
        Result<RoutePtr> fresh = co_await request.Refresh(known, one.error);
        CO_RETURN_IF_ERROR(fresh.status());
        known = *fresh;
        refreshed = true;
      }
    }
  }
  if (!refreshed || is_refused((*route)->ns)) {
    Result<RoutePtr> fresh = co_await request.Refresh(*route, one.error);
    CO_RETURN_IF_ERROR(fresh.status());
    *route = *fresh;
  }
  co_return Status::Ok();
}

}  // namespace

bool LiesOn(const Route& route, const placement::ShardName& shard) {
  return !route.sharded() && route.database.primary == shard;
}

void AppendOtherVersions(const Routes& others, const placement::ShardName& shard,
                         bson::Builder* out) {
  bool any = false;
  for (const auto& [ns, route] : others) {
    if (!LiesOn(*route, shard)) {
      continue;
    }
    if (!std::exchange(any, true)) {
      out->BeginArray("shardVersions");
    }
    out->PushDocument().Append("ns", ns);
    AppendVersions(*route, shard, out);
    out->End();
  }
  if (any) {
    out->End();
  }
}

std::vector<Part> ToEach(const std::set<placement::ShardName>& shards,
                         const bson::Document& command) {
  std::vector<Part> parts;
  for (const placement::ShardName& shard : shards) {
    parts.push_back({shard, command});
  }
  return parts;
}

Task<Result<std::vector<Heard>>> AskVersioned(Routed& request, RoutePtr* route,
                                              std::vector<Part> parts, bool* stale,
                                              Routes* others) {
  *stale = false;
  CO_RETURN_IF_ERROR(CheckPlacedThen(request, **route));
  std::vector<Asked> asked;
  bool begun = false;
  for (Part& part : parts) {
    bool begins = false;
    CO_RETURN_IF_ERROR(request.Enlist(part.shard, &begins));
    begun = begun || begins;
    asked.push_back(
        {part.shard,
         {},
         request.Outgoing(part.command, DatabaseOf((*route)->ns), [&](bson::Builder* out) {
           AppendVersions(**route, part.shard, out);
           if (others != nullptr) {
             AppendOtherVersions(*others, part.shard, out);
           }
           request.AppendBegin(begins, out);
         })});
  }
  Result<std::vector<Heard>> heard = co_await request.Ask(std::move(asked));
  CO_RETURN_IF_ERROR(heard.status());
  for (const Heard& one : *heard) {
    if (one.reply.ok() || !IsStale(one.reply.status().code())) {
      continue;
    }
    *stale = true;
    CO_RETURN_IF_ERROR(request.AfterRefusal(begun, one.reply.status()));
    Status refreshed = co_await RefreshRefused(request, route, others, one);
    CO_RETURN_IF_ERROR(refreshed);
    break;
  }
  co_return heard;
}

Status AlwaysStale(const std::string& ns) {
  return {kStaleConfig, "The placement of " + ns + " changes all the time"};
}

Task<Result<std::vector<Heard>>> AskRefreshed(Routed& request, RoutePtr* route,
                                              const PartsOf& parts) {
  for (int i = 0; i <= kMostRefreshes; ++i) {
    CO_ASSIGN_OR_RETURN(std::vector<Part> wanted, parts(**route));
    bool stale = false;
    Result<std::vector<Heard>> heard =
        co_await AskVersioned(request, route, std::move(wanted), &stale);
    if (!heard.ok() || !stale) {
      co_return heard;
    }
  }
  co_return AlwaysStale((*route)->ns);
}

Task<Result<Owners>> AskOwners(Routed& request) {
  CO_ASSIGN_OR_RETURN(std::string ns, request.Namespace());
  Result<RoutePtr> found = co_await request.Find(ns, false);
  if (!found.ok() && found.status().code() == kNamespaceNotFound) {
    co_return Owners();
  }
  CO_RETURN_IF_ERROR(found.status());
  RoutePtr route = *found;
  const PartsOf parts = [&](const Route& known) {
    return ToEach(known.sharded() ? known.chunks->shards()
                                  : std::set<placement::ShardName>{known.database.primary},
                  request.body);
  };
  Result<std::vector<Heard>> heard = co_await AskRefreshed(request, &route, parts);
  CO_RETURN_IF_ERROR(heard.status());
  CO_RETURN_IF_ERROR(FirstErrorOf(*heard));
  co_return Owners{std::move(route), *std::move(heard)};
}

}  // namespace quire::router
