// SPDX-License-Identifier: Apache-2.0
#include "command/authorise.h"

#include "base/error_codes.h"
#include "base/try.h"
#include "command/auth/login.h"
#include "command/command.h"
#include "command/own_documents.h"
#include "engine/schema/schema.h"
#include "pipeline/needs.h"
#include "request/crud.h"
#include "run/redact.h"

namespace quire::command {
namespace {

using auth::Resource;

bool IsLocal(const request::Client& client) {
  const std::string& remote = client.remote();
  return remote.empty() || remote.starts_with("127.") || remote.starts_with("[::1]") ||
         remote.starts_with('/');
}

// The localhost exception: as long as there are no users, those on the same machine may make the
// first one and set the replica set or the cluster up without a login.
Result<bool> IsExceptedFromLogin(Invocation& i, const Access& access) {
  bool makes_user = i.call.command.name == "createUser" && i.database() == "admin";
  bool sets_up = access.scope == Access::Scope::kCluster &&
                 (access.action == Action::replSetConfigure ||
                  access.action == Action::replSetGetStatus || access.action == Action::addShard);
  if (!(makes_user || sets_up) || !IsLocal(i.call.client) ||
      !i.commands.localhost_exception.load()) {
    return false;
  }
  ASSIGN_OR_RETURN(std::vector<bson::Document> users, LoadOwnAll(i.engine, kUsers, {}, {}));
  return users.empty();
}

Status StateNeeds(Invocation& i, const Access& access, auth::Needs* needs) {
  switch (access.scope) {
    case Access::Scope::kCollection: {
      ASSIGN_OR_RETURN(std::string_view name,
                       request::CollectionName(i.call.command.name, i.body()));
      needs->Add(access.action, auth::Collection(i.database(), name));
      break;
    }
    case Access::Scope::kDatabase:
      needs->Add(access.action, auth::Database(i.database()));
      break;
    case Access::Scope::kCluster:
      needs->Add(access.action, auth::Cluster());
      break;
    case Access::Scope::kStated:
      return access.state(i, needs);
    case Access::Scope::kUnstated:
      needs->AddImpossible();
      break;
    case Access::Scope::kAnyone:
    case Access::Scope::kLoggedIn:
      break;
  }
  return Status::Ok();
}

}  // namespace

Status Unauthorized(const Invocation& i) {
  constexpr size_t kMaxText = 512;
  const run::ShownCommand shown(i.call.body);
  std::string text = bson::ToJson(shown.view());
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

bool MayUse(Invocation& i, const Resource& resource) {
  if (!i.commands.info().access_control) {
    return true;
  }
  std::shared_ptr<const Login> login = CurrentLogin(i);
  return login != nullptr && login->privileges.AllowAnythingOn(resource);
}

Result<bool> SeesAllDatabases(Invocation& i, std::optional<bool> authorized) {
  const bool may = May(i, Action::listDatabases, auth::Cluster());
  if (!may && authorized && !*authorized) {
    return Unauthorized(i);
  }
  return may && !authorized.value_or(false);
}

Status RequireAction(Invocation& i, Action action, const Resource& resource) {
  return May(i, action, resource) ? Status::Ok() : Unauthorized(i);
}

Status Authorise(Invocation& i, const Access& access) {
  if (access.scope == Access::Scope::kAnyone) {
    return Status::Ok();
  }
  std::shared_ptr<const Login> login = CurrentLogin(i);
  if (login == nullptr) {
    RETURN_IF_ERROR(i.op().CheckInterruptNow());
    ASSIGN_OR_RETURN(bool excepted, IsExceptedFromLogin(i, access));
    return excepted ? Status::Ok()
                    : Status(kUnauthorized, "Command " + std::string(i.call.command.name) +
                                                " requires authentication");
  }
  auto needs = std::make_shared<auth::Needs>(login->user, login->database);
  RETURN_IF_ERROR(StateNeeds(i, access, needs.get()));
  if (!needs->MetBy(login->privileges)) {
    return Unauthorized(i);
  }
  i.needs = std::move(needs);
  return Status::Ok();
}

Status StatePipeline(std::string_view database, std::string_view collection, bson::View pipeline,
                     bool bypass_validation, auth::Needs* needs) {
  pipeline::PipelineOptions options;
  options.ns = {std::string(database), std::string(collection)};
  options.bypass_validation = bypass_validation;
  return pipeline::AddPipelineNeeds(pipeline, options, needs);
}

Status StateView(Invocation& i, std::string_view view, std::string_view source, bson::View pipeline,
                 auth::Needs* needs) {
  ASSIGN_OR_RETURN(bson::Document stages, engine::ViewPipeline(pipeline));
  if (!May(i, Action::find, auth::Collection(i.database(), view))) {
    return Status::Ok();
  }
  needs->Add(Action::find, auth::Collection(i.database(), source));
  return StatePipeline(i.database(), source, stages, false, needs);
}

}  // namespace quire::command
