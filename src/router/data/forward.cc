// SPDX-License-Identifier: Apache-2.0
#include "router/data/forward.h"

#include <set>

#include "base/error_codes.h"
#include "command/auth/login.h"
#include "request/crud.h"
#include "request/fields.h"
#include "request/reply_part.h"
#include "router/accounts.h"
#include "router/core.h"
#include "router/data/target.h"
#include "router/remote/errors.h"
#include "router/rows.h"

namespace quire::router {

namespace {

// Commands that name a collection by their first field.
Task<Status> RouteRead(Routed& request) {
  CO_ASSIGN_OR_RETURN(std::string ns, request.Namespace());
  Status status = co_await Forward(request, std::move(ns), ForwardOptions());
  co_return status;
}

// Commands that have no meaning yet for a collection on several shards.
Task<Status> RouteUnsharded(Routed& request) {
  CO_ASSIGN_OR_RETURN(std::string ns, request.Namespace());
  bool sharded = false;
  ForwardOptions options;
  options.replan = &sharded;
  Status status = co_await Forward(request, std::move(ns), options);
  if (sharded) {
    status = Status(kIllegalOperation, std::string(request.call().command.name) +
                                           " is not supported on sharded collections");
  }
  co_return status;
}

// {raw: {shard: reply}, valid}
Task<Status> RouteValidate(Routed& request) {
  Result<Owners> owners = co_await AskOwners(request);
  CO_RETURN_IF_ERROR(owners.status());
  if (owners->route == nullptr) {
    co_return request.RunHere();
  }
  const std::vector<Heard>& heard = owners->heard;
  bool valid = true;
  bson::Builder& reply = request.call().reply;
  reply.BeginDocument("raw");
  for (const Heard& one : heard) {
    valid = valid && request::Truthy((*one.reply)["valid"]);
    reply.Append(one.shard, request::AsPart(*one.reply));
  }
  reply.End().Append("valid", valid);
  co_return Status::Ok();
}

// What the first shard says, and each one's reply by its name.
Task<Status> RoutePlanCache(Routed& request) {
  Result<Owners> owners = co_await AskOwners(request);
  CO_RETURN_IF_ERROR(owners.status());
  if (owners->route == nullptr) {
    co_return request.RunHere();
  }
  const std::vector<Heard>& heard = owners->heard;
  request.AppendReply(*heard.front().reply);
  for (const Heard& one : heard) {
    request.call().reply.Append(one.shard, request::AsPart(*one.reply));
  }
  co_return Status::Ok();
}

Task<Status> RouteDatabase(Routed& request) {
  ForwardOptions options{.only_database = true};
  Status status = co_await Forward(request, request.database, options);
  co_return status;
}

// With authorizedCollections everybody sees what they may use: the shard shows the router all.
Task<Status> ListCollections(Routed& request) {
  ForwardOptions options{.only_database = true};
  command::Invocation& invocation = request.invocation;
  if (invocation.commands.info().access_control &&
      request::Truthy(request.body["authorizedCollections"])) {
    options.shows = [login = command::CurrentLogin(invocation),
                     database = request.database](bson::View row) {
      return login != nullptr &&
             login->privileges.AllowAnythingOn(auth::Collection(database, row["name"].AsString()));
    };
  }
  Status status = co_await Forward(request, request.database, std::move(options));
  co_return status;
}

// Users and roles of all databases lie on the admin shard.
Task<Status> RouteAccounts(Routed& request) {
  Result<RoutePtr> route = co_await request.Find("admin", false);
  CO_RETURN_IF_ERROR(route.status());
  std::vector<Asked> asked;
  asked.push_back(
      {(*route)->database.primary, {}, request.Outgoing(request.body, request.database, nullptr)});
  Result<std::vector<Heard>> heard = co_await request.Ask(std::move(asked));
  CO_RETURN_IF_ERROR(heard.status());
  if (request.call().command.Is(request::kWrite)) {
    std::shared_ptr<Wait> reading = request.core.accounts->ReadAgain();
    Status read = co_await request.Until(reading);
    CO_RETURN_IF_ERROR(read);
  }
  co_return request.Deliver(std::move(heard->front()));
}

}  // namespace

bson::Document Whole(const request::Request& request) {
  if (request.sequences.empty()) {
    return bson::Document(request.body);
  }
  bson::Builder out;
  out.AppendFields(request.body);
  for (const request::Sequence& sequence : request.sequences) {
    out.BeginArray(sequence.name);
    for (const bson::View document : sequence.documents) {
      out.Push(document);
    }
    out.End();
  }
  return out.Finish();
}

Task<Status> Forward(Routed& request, std::string ns, ForwardOptions options) {
  const bson::Document whole = Whole(*request.call().request);
  request.call().summary.ns = ns;
  Result<RoutePtr> route = co_await request.Find(ns, options.create);
  if (!route.ok() && route.status().code() == kNamespaceNotFound) {
    co_return request.RunHere();
  }
  for (int i = 0;; ++i) {
    CO_RETURN_IF_ERROR(route.status());
    const RoutePtr& known = *route;
    if (known->sharded() && options.replan != nullptr) {
      *options.replan = true;
      co_return Status::Ok();
    }
    bool begins = false;
    CO_RETURN_IF_ERROR(request.Enlist(known->database.primary, &begins));
    std::vector<Asked> asked;
    asked.push_back({known->database.primary,
                     {},
                     request.Outgoing(whole, request.database, [&](bson::Builder* out) {
                       if (options.only_database) {
                         AppendDatabaseVersion(*known, out);
                       } else {
                         AppendVersions(*known, known->database.primary, out);
                       }
                       if (options.others != nullptr) {
                         AppendOtherVersions(*options.others, known->database.primary, out);
                       }
                       request.AppendBegin(begins, out);
                     })});
    Result<std::vector<Heard>> heard = co_await request.Ask(std::move(asked));
    CO_RETURN_IF_ERROR(heard.status());
    Heard& answer = heard->front();
    if (answer.reply.ok() || !IsStale(answer.reply.status().code()) || i == kMostRefreshes) {
      co_return request.Deliver(std::move(answer), options.shows);
    }
    CO_RETURN_IF_ERROR(request.AfterRefusal(begins, answer.reply.status()));
    const bson::Value refused = answer.error["ns"];
    if (options.replan != nullptr && options.others != nullptr && refused.is_string() &&
        refused.AsString() != known->ns) {
      request.core.catalog->Forget(refused.AsString());
      *options.replan = true;
      co_return Status::Ok();
    }
    route = co_await request.Refresh(known, answer.error);
  }
}

std::span<const RoutineRow> ForwardRoutines() {
  static constexpr RoutineRow kRows[] = {
      {"filemd5", RouteUnsharded},
      {"listIndexes", RouteRead},
      {"listCollections", ListCollections},
      {"validateDBMetadata", RouteDatabase},
      {"validate", RouteValidate},
      {"dbHash", RouteDatabase},
      {"planCacheClear", RoutePlanCache},
      {"planCacheListFilters", RoutePlanCache},
      {"planCacheSetFilter", RoutePlanCache},
      {"planCacheClearFilters", RoutePlanCache},
      {"createUser", RouteAccounts},
      {"updateUser", RouteAccounts},
      {"dropUser", RouteAccounts},
      {"dropAllUsersFromDatabase", RouteAccounts},
      {"grantRolesToUser", RouteAccounts},
      {"revokeRolesFromUser", RouteAccounts},
      {"usersInfo", RouteAccounts},
      {"createRole", RouteAccounts},
      {"updateRole", RouteAccounts},
      {"dropRole", RouteAccounts},
      {"dropAllRolesFromDatabase", RouteAccounts},
      {"grantPrivilegesToRole", RouteAccounts},
      {"revokePrivilegesFromRole", RouteAccounts},
      {"grantRolesToRole", RouteAccounts},
      {"revokeRolesFromRole", RouteAccounts},
      {"rolesInfo", RouteAccounts},
  };
  return kRows;
}

}  // namespace quire::router
