// SPDX-License-Identifier: Apache-2.0
#include "command/access.h"

#include "base/error_codes.h"
#include "base/try.h"
#include "command/command.h"
#include "command/login.h"
#include "command/own_documents.h"
#include "request/crud.h"

namespace quire::command {
namespace {

using auth::Resource;

bool IsLocal(const request::Client& client) {
  const std::string& remote = client.remote();
  return remote.empty() || remote.starts_with("127.") || remote.starts_with("[::1]") ||
         remote.starts_with('/');
}

// The localhost exception: as long as there are no users, those on the same machine may make the
// first one and set the replica set up without a login.
Result<bool> IsExceptedFromLogin(Invocation& i, const Access& access) {
  bool makes_user = i.call.command.name == "createUser" && i.database() == "admin";
  bool sets_up =
      access.scope == Access::Scope::kCluster &&
      (access.action == Action::replSetConfigure || access.action == Action::replSetGetStatus);
  if (!(makes_user || sets_up) || !IsLocal(i.call.client)) {
    return false;
  }
  ASSIGN_OR_RETURN(std::vector<bson::Document> users, LoadOwnAll(i.engine, kUsers, {}, {}));
  return users.empty();
}

Resource FrontCollection(Invocation& i) {
  bson::Value name = i.body().front().value();
  return auth::Collection(i.database(), name.is_string() ? name.AsString() : std::string_view());
}

Resource OfNamespace(std::string_view ns) {
  size_t dot = ns.find('.');
  return dot == std::string_view::npos ? auth::Database(ns)
                                       : auth::Collection(ns.substr(0, dot), ns.substr(dot + 1));
}

// The actions a first stage needs on its collection instead of find.
struct FirstStage {
  std::string_view name;
  Action action;
  bool cluster;
};
constexpr FirstStage kFirstStages[] = {
    {"$collStats", Action::collStats, false},
    {"$indexStats", Action::indexStats, false},
    {"$planCacheStats", Action::planCacheRead, false},
    {"$changeStream", Action::changeStream, false},
    {"$currentOp", Action::inprog, true},
    {"$listSessions", Action::listSessions, true},
    {"$listLocalSessions", Action::listSessions, true},
    {"$listClusterCatalog", Action::listCollections, false},
    {"$querySettings", Action::querySettings, true},
};

std::string_view TextOf(const bson::Value& value) {
  return value.is_string() ? value.AsString() : std::string_view();
}

// {db, coll} or a collection of `database`.
Resource TargetOf(std::string_view database, const bson::Value& value) {
  if (!value.is_document()) {
    return auth::Collection(database, TextOf(value));
  }
  bson::View spec = value.AsDocument();
  std::string_view db = TextOf(spec["db"]);
  return auth::Collection(db.empty() ? database : db, TextOf(spec["coll"]));
}

// The documents of an array argument, wherever the message carries them.
std::vector<bson::View> ListArgument(Invocation& i, std::string_view name) {
  for (const request::Sequence& sequence : i.call.request.sequences) {
    if (sequence.name == name) {
      return sequence.documents;
    }
  }
  std::vector<bson::View> out;
  if (bson::Value list = i.body()[name]; list.is_array()) {
    for (const bson::Element& e : list.AsArray()) {
      if (e.type() == bson::Type::kDocument) {
        out.push_back(e.value().AsDocument());
      }
    }
  }
  return out;
}

Status CheckPipeline(Invocation& i, bson::View pipeline, int depth);

Status CheckSubPipeline(Invocation& i, const bson::Value& pipeline, int depth) {
  return pipeline.is_array() ? CheckPipeline(i, pipeline.AsArray(), depth + 1) : Status::Ok();
}

Status CheckMerge(Invocation& i, const bson::Value& spec) {
  bson::Value into = spec.is_document() ? spec.AsDocument()["into"] : spec;
  Resource target = TargetOf(i.database(), into);
  RETURN_IF_ERROR(RequireAction(i, Action::insert, target));
  return RequireAction(i, Action::update, target);
}

Status CheckStage(Invocation& i, const bson::Element& stage, int depth) {
  bson::Value spec = stage.value();
  std::string_view name = stage.name();
  if (name == "$lookup" || name == "$graphLookup") {
    if (!spec.is_document()) {
      return Status::Ok();
    }
    bson::Value from = spec.AsDocument()["from"];
    if (!from.missing()) {
      RETURN_IF_ERROR(RequireAction(i, Action::find, TargetOf(i.database(), from)));
    }
    return CheckSubPipeline(i, spec.AsDocument()["pipeline"], depth);
  }
  if (name == "$unionWith") {
    bson::Value from = spec.is_document() ? spec.AsDocument()["coll"] : spec;
    if (!from.missing()) {
      RETURN_IF_ERROR(RequireAction(i, Action::find, TargetOf(i.database(), from)));
    }
    return spec.is_document() ? CheckSubPipeline(i, spec.AsDocument()["pipeline"], depth)
                              : Status::Ok();
  }
  if (name == "$facet" && spec.is_document()) {
    for (const bson::Element& e : spec.AsDocument()) {
      RETURN_IF_ERROR(CheckSubPipeline(i, e.value(), depth));
    }
    return Status::Ok();
  }
  if (name == "$out") {
    Resource target = TargetOf(i.database(), spec);
    RETURN_IF_ERROR(RequireAction(i, Action::insert, target));
    return RequireAction(i, Action::remove, target);
  }
  return name == "$merge" ? CheckMerge(i, spec) : Status::Ok();
}

Status CheckPipeline(Invocation& i, bson::View pipeline, int depth) {
  constexpr int kDeepest = 100;
  if (depth > kDeepest) {
    return {kMaxSubPipelineDepthExceeded, "the pipeline is nested too deeply"};
  }
  for (const bson::Element& e : pipeline) {
    if (e.type() == bson::Type::kDocument && !e.value().AsDocument().empty()) {
      RETURN_IF_ERROR(CheckStage(i, e.value().AsDocument().front(), depth));
    }
  }
  return Status::Ok();
}

// On admin $listClusterCatalog tells of all databases.
Status CheckClusterCatalog(Invocation& i) {
  for (const std::string& database : i.engine.catalog().snapshot()->Databases()) {
    RETURN_IF_ERROR(RequireAction(i, Action::listCollections, auth::Database(database)));
  }
  return Status::Ok();
}

Status CheckSource(Invocation& i, const Resource& source, bson::View pipeline) {
  std::string_view first;
  if (!pipeline.empty() && pipeline.front().type() == bson::Type::kDocument &&
      !pipeline.front().value().AsDocument().empty()) {
    first = pipeline.front().value().AsDocument().front().name();
  }
  if (first == "$listClusterCatalog" && i.database() == "admin") {
    return CheckClusterCatalog(i);
  }
  for (const FirstStage& stage : kFirstStages) {
    if (stage.name == first) {
      return RequireAction(i, stage.action, stage.cluster ? auth::Cluster() : source);
    }
  }
  return RequireAction(i, Action::find, source);
}

Status CheckAggregateOf(Invocation& i, bson::View command) {
  bson::Value name = command.front().value();
  bson::Value pipeline = command["pipeline"];
  bson::View stages = pipeline.is_array() ? pipeline.AsArray() : bson::View();
  RETURN_IF_ERROR(CheckSource(i, auth::Collection(i.database(), TextOf(name)), stages));
  return CheckPipeline(i, stages, 0);
}

Status CheckModifyOf(Invocation& i, bson::View command) {
  Resource target = auth::Collection(i.database(), TextOf(command.front().value()));
  RETURN_IF_ERROR(RequireAction(i, Action::find, target));
  bson::Value remove = command["remove"];
  if (remove.type() == bson::Type::kBool && remove.AsBool()) {
    return RequireAction(i, Action::remove, target);
  }
  RETURN_IF_ERROR(RequireAction(i, Action::update, target));
  bson::Value upsert = command["upsert"];
  return upsert.type() == bson::Type::kBool && upsert.AsBool()
             ? RequireAction(i, Action::insert, target)
             : Status::Ok();
}

}  // namespace

Status Unauthorized(const Invocation& i) {
  constexpr size_t kMaxText = 512;
  std::string text = bson::ToJson(i.call.body);
  if (text.size() > kMaxText) {
    text.resize(kMaxText);
    text += "...";
  }
  return {kUnauthorized,
          "not authorized on " + std::string(i.call.database) + " to execute command " + text};
}

bool May(Invocation& i, Action action, const Resource& resource) {
  if (!i.commands.info().access_control) {
    return true;
  }
  std::shared_ptr<const Login> login = CurrentLogin(i);
  return login != nullptr && login->privileges.Allow(action, resource);
}

bool MayUse(Invocation& i, std::string_view database) {
  if (!i.commands.info().access_control) {
    return true;
  }
  std::shared_ptr<const Login> login = CurrentLogin(i);
  return login != nullptr && login->privileges.AllowAnythingIn(database);
}

Status RequireAction(Invocation& i, Action action, const Resource& resource) {
  return May(i, action, resource) ? Status::Ok() : Unauthorized(i);
}

Status Authorise(Invocation& i, const Access& access) {
  if (access.scope == Access::Scope::kAnyone) {
    return Status::Ok();
  }
  if (CurrentLogin(i) == nullptr) {
    ASSIGN_OR_RETURN(bool excepted, IsExceptedFromLogin(i, access));
    return excepted ? Status::Ok()
                    : Status(kUnauthorized, "Command " + std::string(i.call.command.name) +
                                                " requires authentication");
  }
  switch (access.scope) {
    case Access::Scope::kRoot:
      return RequireAction(i, Action::anyAction, auth::AnyResource());
    case Access::Scope::kCollection:
      return RequireAction(i, access.action, FrontCollection(i));
    case Access::Scope::kDatabase:
      return RequireAction(i, access.action, auth::Database(i.database()));
    case Access::Scope::kCluster:
      return RequireAction(i, access.action, auth::Cluster());
    case Access::Scope::kChecked:
      return access.check(i);
    case Access::Scope::kAnyone:
    case Access::Scope::kLoggedIn:
      break;
  }
  return Status::Ok();
}

Status CheckUpdateAccess(Invocation& i) {
  RETURN_IF_ERROR(RequireAction(i, Action::update, FrontCollection(i)));
  ASSIGN_OR_RETURN(auto request, request::UpdateRequest::Parse(i.body(), i.call.request.sequences));
  for (const request::UpdateStatement& statement : request.updates) {
    if (statement.upsert) {
      return RequireAction(i, Action::insert, FrontCollection(i));
    }
  }
  return Status::Ok();
}

// Each of nsInfo's namespaces with all the kinds of operations there are in the command.
Status CheckBulkWriteAccess(Invocation& i) {
  constexpr std::pair<std::string_view, Action> kKinds[] = {
      {"insert", Action::insert}, {"update", Action::update}, {"delete", Action::remove}};
  std::vector<bson::View> operations = ListArgument(i, "ops");
  for (bson::View ns : ListArgument(i, "nsInfo")) {
    Resource target = OfNamespace(TextOf(ns["ns"]));
    for (bson::View operation : operations) {
      std::string_view kind = operation.empty() ? "" : operation.front().name();
      for (auto [name, action] : kKinds) {
        if (name == kind) {
          RETURN_IF_ERROR(RequireAction(i, action, target));
        }
      }
      bson::Value upsert = operation["upsert"];
      if (upsert.type() == bson::Type::kBool && upsert.AsBool()) {
        RETURN_IF_ERROR(RequireAction(i, Action::insert, target));
      }
    }
  }
  return Status::Ok();
}

Status CheckModifyAccess(Invocation& i) { return CheckModifyOf(i, i.body()); }
Status CheckAggregateAccess(Invocation& i) { return CheckAggregateOf(i, i.body()); }

// What the explained command needs, as far as it reads.
Status CheckExplainAccess(Invocation& i) {
  bson::Value inner = i.body().front().value();
  if (!inner.is_document() || inner.AsDocument().empty()) {
    return Status::Ok();
  }
  bson::View command = inner.AsDocument();
  std::string_view name = command.front().name();
  Resource target = auth::Collection(i.database(), TextOf(command.front().value()));
  if (name == "aggregate") {
    return CheckAggregateOf(i, command);
  }
  if (name == "findAndModify" || name == "findandmodify") {
    return CheckModifyOf(i, command);
  }
  Action action = name == "update"   ? Action::update
                  : name == "delete" ? Action::remove
                                     : Action::find;
  return RequireAction(i, action, target);
}

// A cursor is read on, or closed, by who may read its collection.
Status CheckCursorAccess(Invocation& i) {
  bool more = i.call.command.name == "getMore";
  std::string_view name = TextOf(more ? i.body()["collection"] : i.body().front().value());
  if (name.starts_with("$cmd")) {
    return Status::Ok();
  }
  return RequireAction(i, more ? Action::find : Action::killCursors,
                       auth::Collection(i.database(), name));
}

Status CheckRenameAccess(Invocation& i) {
  Resource from = OfNamespace(TextOf(i.body().front().value()));
  Resource to = OfNamespace(TextOf(i.body()["to"]));
  if (from.database == to.database && May(i, Action::renameCollectionSameDB, from) &&
      May(i, Action::renameCollectionSameDB, to)) {
    return Status::Ok();
  }
  RETURN_IF_ERROR(RequireAction(i, Action::find, from));
  RETURN_IF_ERROR(RequireAction(i, Action::dropCollection, from));
  RETURN_IF_ERROR(RequireAction(i, Action::insert, to));
  return RequireAction(i, Action::createIndex, to);
}

// With authorizedCollections and nameOnly everybody sees what they may use.
Status CheckListAccess(Invocation& i) {
  bson::Value authorized = i.body()["authorizedCollections"];
  bson::Value name_only = i.body()["nameOnly"];
  if (authorized.type() == bson::Type::kBool && authorized.AsBool() &&
      name_only.type() == bson::Type::kBool && name_only.AsBool()) {
    return Status::Ok();
  }
  return RequireAction(i, Action::listCollections, auth::Database(i.database()));
}

Status CheckDataSizeAccess(Invocation& i) {
  return RequireAction(i, Action::find, OfNamespace(TextOf(i.body().front().value())));
}

}  // namespace quire::command
