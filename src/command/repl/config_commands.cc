// SPDX-License-Identifier: Apache-2.0
//
// replSetGetConfig, replSetInitiate, replSetReconfig.
#include <algorithm>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/number.h"
#include "command/auth/auditor.h"
#include "command/repl/commands.h"
#include "command/repl/config.h"
#include "command/repl/set_of_one.h"
#include "command/repl/set_view.h"

namespace quire::command::repl {

namespace {

using engine::MemberState;

Status NotInitiated() { return {kNotYetInitialized, "no replset config has been received"}; }

// The status with another code.
Status As(int code, const Status& status) {
  return status.ok() ? status : Status(code, status.message());
}

// Tells the audit log once the configuration is in force.
run::Then Noting(Invocation& i, bson::Document before, bson::Document now) {
  return [&commands = i.commands, before = std::move(before),
          now = std::move(now)](Status status) -> Status {
    RETURN_IF_ERROR(status);
    if (auto& auditor = commands.info().auditor) {
      auditor->SetReconfigured(before, now);
    }
    commands.ConfigurationChanged();
    return Status::Ok();
  };
}

Result<bson::Document> ConfigToInitiate(Invocation& i, bson::View asked) {
  const std::string& name = i.engine.replication->set_name();
  bson::Builder first;  // a first configuration need not say so
  first.AppendFields(asked);
  if (!asked.Has("version")) {
    first.Append("version", 1);
  }
  const bson::Document given = first.Finish();
  ASSIGN_OR_RETURN(bson::Document config,
                   ReadConfig(given, {.term = 1, .set_id = bson::ObjectId::Generate()}));
  if (config["_id"].AsString() != name) {
    return Status(kInvalidReplicaSetConfig, "Attempting to initiate a replica set with name " +
                                                std::string(config["_id"].AsString()) +
                                                ", but command line reports " + name +
                                                "; rejecting");
  }
  RETURN_IF_ERROR(As(kInvalidReplicaSetConfig, CheckConfig(config)));
  return config;
}

}  // namespace

Status GetConfig(Invocation& i) {
  if (i.engine.replication == nullptr) {
    return set_of_one::GetConfig(i);
  }
  const auto status = i.engine.replication->status();
  if (!status->initiated) {
    return NotInitiated();
  }
  const bson::Value wants = i.body()["commitmentStatus"];
  if (!wants.missing() && wants.type() != bson::Type::kBool && !wants.is_number()) {
    return {kTypeMismatch,
            "Expected boolean or number type for field \"commitmentStatus\", found " +
                std::string(bson::TypeName(wants.type()))};
  }
  if (Truthy(wants) && !status->writable) {
    return {kNotWritablePrimary,
            "replSetGetConfig with commitmentStatus must be run on a writable PRIMARY"};
  }
  i.reply().Append("config", status->config);
  if (Truthy(wants)) {
    i.reply().Append("commitmentStatus", true);  // it is known when it is decided
  }
  return Status::Ok();
}

Status Initiate(Invocation& i) {
  if (i.engine.replication == nullptr) {
    return set_of_one::Initiate(i);
  }
  if (i.engine.replication->status()->initiated) {
    return {kAlreadyInitialized, "already initialized"};
  }
  const bson::Value argument = i.body().front().value();
  const bool asks = argument.is_document() && !argument.AsDocument().empty();
  const bson::Document alone = OnlyMember(i.engine.replication->set_name(), i.commands.info().host);
  ASSIGN_OR_RETURN(bson::Document config,
                   ConfigToInitiate(i, asks ? argument.AsDocument() : alone.view()));
  if (!asks) {
    i.reply()
        .Append("info2", "no configuration specified. Using a default configuration for the set")
        .Append("me", i.commands.info().host);
  }
  run::Then then = Noting(i, bson::Document(), config);
  return AwaitAnswer(
      i,
      [&](engine::AnswerFunction answer) {
        i.engine.replication->Initiate(std::move(config), std::move(answer));
      },
      std::move(then));
}

Status Reconfig(Invocation& i) {
  if (i.engine.replication == nullptr) {
    return set_of_one::Reconfig(i);
  }
  const bson::Element given = i.body().front();
  if (given.type() != bson::Type::kDocument) {
    return {kTypeMismatch, "no configuration specified"};
  }
  const auto status = i.engine.replication->status();
  if (!status->initiated) {
    return NotInitiated();
  }
  const bool force = Truthy(i.body()["force"]);
  if (!force && !status->writable) {
    return {kNotWritablePrimary,
            "New config is rejected :: caused by :: replSetReconfig should only be run on a "
            "writable PRIMARY. Current state " +
                std::string(StateName(status->state)) + ";"};
  }
  const bson::Value settings = status->config["settings"];
  const bson::Value set_id =
      settings.is_document() ? settings.AsDocument()["replicaSetId"] : bson::Value();
  ASSIGN_OR_RETURN(
      bson::Document config,
      ReadConfig(given.value().AsDocument(),
                 {.term = static_cast<int64_t>(status->epoch),
                  .set_id = set_id.type() == bson::Type::kObjectId ? set_id.AsObjectId()
                                                                   : bson::ObjectId::Generate()}));
  RETURN_IF_ERROR(As(kNewReplicaSetConfigurationIncompatible, CheckConfig(config)));
  RETURN_IF_ERROR(CheckSuccession(status->config, config, force));
  if (force) {
    config = WithVersion(config, std::max(bson::ClampedInt64(config["version"]),
                                          bson::ClampedInt64(status->config["version"]) + 1));
  }
  run::Then then = Noting(i, status->config, config);
  return AwaitAnswer(
      i,
      [&](engine::AnswerFunction answer) {
        i.engine.replication->Reconfigure(std::move(config), force, std::move(answer));
      },
      std::move(then));
}

}  // namespace quire::command::repl
