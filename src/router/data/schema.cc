// SPDX-License-Identifier: Apache-2.0
//
// Commands about collections, indexes and databases: coordinated by the primary shard of their
// database.
#include "router/data/schema.h"

#include "base/error_codes.h"
#include "request/crud.h"
#include "router/core.h"
#include "router/data/forward.h"
#include "router/data/target.h"
#include "router/remote/errors.h"
#include "router/rows.h"

namespace quire::router {

namespace {

// The whole command under the name of its row: coordinators know no second names.
bson::Document ByItsName(Routed& request) {
  const bson::Document whole = Whole(*request.call().request);
  const std::string_view given = whole.view().front().name();
  bson::Builder out;
  for (const bson::Element& e : whole.view()) {
    out.Append(e.name() == given ? request.call().command.name : e.name(), e.value());
  }
  return out.Finish();
}

}  // namespace

Task<Status> Coordinate(Routed& request, std::string ns, bool create) {
  const std::string name(DatabaseOf(ns));
  Result<RoutePtr> route = co_await request.Find(name, create);
  if (!route.ok() && route.status().code() == kNamespaceNotFound) {
    co_return request.RunHere();
  }
  const bson::Document whole = ByItsName(request);
  const std::string id = bson::ObjectId::Generate().ToHex();
  bool plain = request.call().generic.in_transaction();
  for (int i = 0;; ++i) {
    CO_RETURN_IF_ERROR(route.status());
    const RoutePtr& known = *route;
    plain = plain || !known->versioned;  // always lies where it does: there is nothing to agree on
    bool begins = false;
    CO_RETURN_IF_ERROR(request.Enlist(known->database.primary, &begins));
    bson::Builder wrapped;
    wrapped.Append("_shardsvrCoordinate", whole).Append("db", request.database);
    wrapped.Append("changeId", id);  // whoever has done it knows it when it comes again
    if (const bson::Value concern = whole["writeConcern"]; !concern.missing()) {
      wrapped.Append("writeConcern", concern);
    }
    // A transaction makes collections on its own shard, with what else it does.
    const bson::Document command = plain ? whole : wrapped.Finish();
    std::vector<Asked> asked;
    asked.push_back(
        {known->database.primary,
         {},
         request.Outgoing(command, plain ? request.database : "admin", [&](bson::Builder* out) {
           AppendDatabaseVersion(*known, out);
           request.AppendBegin(begins, out);
         })});
    AskOptions options;
    options.repeatable = !plain;
    Result<std::vector<Heard>> heard = co_await request.Ask(std::move(asked), options);
    CO_RETURN_IF_ERROR(heard.status());
    Heard& answer = heard->front();
    if (!plain && !answer.reply.ok() && answer.reply.status().code() == kCommandNotFound) {
      plain = true;
      continue;
    }
    request.core.catalog->Forget(request.database == "admin" ? name : ns);
    if (answer.reply.ok() || !IsStale(answer.reply.status().code()) || i == kMostRefreshes) {
      co_return request.Deliver(std::move(answer));
    }
    CO_RETURN_IF_ERROR(request.AfterRefusal(begins, answer.reply.status()));
    route = co_await request.Refresh(known, answer.error);
  }
}

namespace {

Task<Status> CoordinateNamed(Routed& request, bool create) {
  CO_ASSIGN_OR_RETURN(std::string ns, request.Namespace());
  Status status = co_await Coordinate(request, std::move(ns), create);
  co_return status;
}

Task<Status> RouteCreate(Routed& request) { return CoordinateNamed(request, true); }
Task<Status> RouteChange(Routed& request) { return CoordinateNamed(request, false); }

// The first field is the whole namespace.
Task<Status> CoordinateOf(Routed& request, bool create) {
  const bson::Value target = request.body.view().front().value();
  if (!target.is_string() || target.AsString().find('.') == std::string_view::npos) {
    co_return request.RunHere();
  }
  Status status = co_await Coordinate(request, std::string(target.AsString()), create);
  co_return status;
}

Task<Status> RouteRename(Routed& request) {
  const bson::Value from = request.body.view().front().value();
  if (from.is_string() && DatabaseOf(from.AsString()) == "admin") {
    co_return Status(kIllegalOperation, "Can't rename a collection in the admin database");
  }
  Status status = co_await CoordinateOf(request, false);
  co_return status;
}

Task<Status> RouteDropDatabase(Routed& request) {
  CO_RETURN_IF_ERROR(request::CheckDatabaseName(request.database));
  Status status = co_await Coordinate(request, request.database, false);
  request.core.catalog->Forget(request.database);
  co_return status;
}

}  // namespace

std::span<const RoutineRow> SchemaRoutines() {
  static constexpr RoutineRow kRows[] = {
      {"create", RouteCreate},
      {"createIndexes", RouteCreate},
      {"drop", RouteChange},
      {"dropIndexes", RouteChange},
      {"collMod", RouteChange},
      {"convertToCapped", RouteChange},
      {"renameCollection", RouteRename},
      {"dropDatabase", RouteDropDatabase},
  };
  return kRows;
}

}  // namespace quire::router
