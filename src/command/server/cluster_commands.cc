// SPDX-License-Identifier: Apache-2.0
//
// Settings of the whole cluster, which here is one node, and the commands only a shard takes.
#include <algorithm>
#include <array>

#include "base/error_codes.h"
#include "base/try.h"
#include "base/version.h"
#include "bson/number.h"
#include "command/diagnostic.h"
#include "command/own_documents.h"
#include "command/server/cluster.h"
#include "command/stored_version.h"
#include "request/fields.h"

namespace quire::command {
namespace {

// On the collection that the first field names in full.
template <Action action>
Status StateOfShard(Invocation& i, auth::Needs* needs) {
  bson::Value ns = i.body().front().value();
  needs->Add(action, auth::OfNamespace(ns.is_string() ? ns.AsString() : std::string_view()));
  return Status::Ok();
}

Status RunNotAShard(Invocation&) {
  return {kNoShardingEnabled, "Cannot accept sharding commands if not started with --shardsvr"};
}

Status BadParameter(std::string_view name, std::string_view why) {
  return {kBadValue,
          "Invalid value for cluster parameter " + std::string(name) + ": " + std::string(why)};
}

// {preAndPostImages: {expireAfterSeconds: "off" or a positive number}}
Status CheckChangeStreamOptions(std::string_view name, bson::View value) {
  if (value.Count() != 1 || !value["preAndPostImages"].is_document()) {
    return BadParameter(name, "needs preAndPostImages and nothing else");
  }
  bson::View images = value["preAndPostImages"].AsDocument();
  bson::Value after = images["expireAfterSeconds"];
  if (images.Count() != 1 || after.missing()) {
    return BadParameter(name, "needs expireAfterSeconds and nothing else");
  }
  bool off = after.is_string() && after.AsString() == "off";
  bool seconds = after.is_number() && !bson::IsNan(after) && bson::ClampedInt64(after) > 0;
  return off || seconds ? Status::Ok()
                        : BadParameter(name, "expireAfterSeconds is \"off\" or a positive number");
}

// {expireAfterSeconds: a positive number}, of change collections, which only a server of many
// tenants has.
Status CheckChangeStreams(std::string_view name, bson::View value) {
  for (const bson::Element& e : value) {
    if (e.name() != "expireAfterSeconds") {
      return request::UnknownField(name, e.name());
    }
    if (e.value().nullish()) {
      continue;
    }
    if (!e.value().is_number()) {
      return request::WrongType(name, e, "[long, int, decimal, double]");
    }
    if (bson::IsNan(e.value()) || bson::ClampedInt64(e.value()) <= 0) {
      return BadParameter(name, "expireAfterSeconds is a positive number");
    }
  }
  return Status::Ok();
}

// {readOperations: milliseconds}
Status CheckMaxTime(std::string_view name, bson::View value) {
  bson::Value reads = value["readOperations"];
  if (value.Count() != 1 || !reads.is_number() || bson::ClampedInt64(reads) < 0 ||
      bson::ClampedInt64(reads) > INT32_MAX) {
    return BadParameter(name, "readOperations is a number of milliseconds");
  }
  return Status::Ok();
}

// {enabled: bool}. There are no migrations here that could go on.
Status CheckPauseMigrations(std::string_view name, bson::View value) {
  for (const bson::Element& e : value) {
    if (e.name() != "enabled") {
      return request::UnknownField(name, e.name());
    }
    if (!e.value().nullish() && e.type() != bson::Type::kBool) {
      return request::WrongType(name, e, "bool");
    }
  }
  return Status::Ok();
}

struct Parameter {
  std::string_view name;
  std::string_view initial;  // JSON
  Status (*check)(std::string_view name, bson::View value);
};
constexpr Parameter kParameters[] = {
    {"changeStreamOptions", R"({"preAndPostImages":{"expireAfterSeconds":"off"}})",
     CheckChangeStreamOptions},
    {"changeStreams", R"({"expireAfterSeconds":{"$numberLong":"3600"}})", CheckChangeStreams},
    {"defaultMaxTimeMS", R"({"readOperations":0})", CheckMaxTime},
    {"pauseMigrationsDuringMultiUpdates", R"({"enabled":false})", CheckPauseMigrations},
};

Result<const Parameter*> FindParameter(std::string_view name) {
  for (const Parameter& parameter : kParameters) {
    if (parameter.name == name) {
      return &parameter;
    }
  }
  return Status(kNoSuchKey, "Unknown server parameter: " + std::string(name));
}

// Numbers as 64-bit integers; a field that is null or left out as it is initially.
void AppendValue(bson::View initial, bson::View value, bson::Builder* out) {
  for (const bson::Element& e : initial) {
    bson::Value given = value[e.name()];
    if (given.nullish()) {
      out->Append(e);
    } else if (given.is_document()) {
      out->BeginDocument(e.name());
      AppendValue(e.value().is_document() ? e.value().AsDocument() : bson::View(),
                  given.AsDocument(), out);
      out->End();
    } else if (given.is_number()) {
      out->Append(e.name(), bson::ClampedInt64(given));
    } else {
      out->Append(e.name(), given);
    }
  }
}

Status AppendParameter(Invocation& i, const Parameter& parameter) {
  ASSIGN_OR_RETURN(std::optional<bson::Document> stored,
                   LoadOwn(i.engine, kClusterParameters, bson::Value(parameter.name)));
  if (stored) {
    i.reply().Push(stored->view());
    return Status::Ok();
  }
  ASSIGN_OR_RETURN(bson::Document initial, bson::Document::FromJson(parameter.initial));
  i.reply().PushDocument().Append("_id", parameter.name);
  i.reply().AppendFields(initial.view());
  i.reply().End();
  return Status::Ok();
}

Status RunGetClusterParameter(Invocation& i) {
  bson::Element which = i.body().front();
  std::vector<const Parameter*> wanted;
  if (which.type() == bson::Type::kString && which.value().AsString() == "*") {
    for (const Parameter& parameter : kParameters) {
      wanted.push_back(&parameter);
    }
  } else if (which.type() == bson::Type::kString) {
    ASSIGN_OR_RETURN(const Parameter* parameter, FindParameter(which.value().AsString()));
    wanted.push_back(parameter);
  } else if (which.type() == bson::Type::kArray) {
    for (const bson::Element& e : which.value().AsArray()) {
      std::string_view name;
      RETURN_IF_ERROR(request::ReadField("getClusterParameter", e, &name));
      ASSIGN_OR_RETURN(const Parameter* parameter, FindParameter(name));
      wanted.push_back(parameter);
    }
    if (wanted.empty()) {
      return {kBadValue, "Must supply at least one cluster server parameter name"};
    }
  } else {
    return request::WrongType("getClusterParameter", which, "[string, array]");
  }
  i.reply().BeginArray("clusterParameters");
  for (const Parameter* parameter : wanted) {
    RETURN_IF_ERROR(AppendParameter(i, *parameter));
  }
  i.reply().End();
  return Status::Ok();
}

Status RunSetClusterParameter(Invocation& i) {
  bson::Element argument = i.body().front();
  if (argument.value().nullish()) {
    return request::MissingField("setClusterParameter", "setClusterParameter");
  }
  if (argument.type() != bson::Type::kDocument) {
    return request::WrongType("setClusterParameter", argument, "object");
  }
  bson::View change = argument.value().AsDocument();
  if (change.Count() > 1) {
    return {kInvalidOptions, "setClusterParameter only supports setting exactly one parameter"};
  }
  std::string_view name = change.empty() ? "" : change.front().name();
  ASSIGN_OR_RETURN(const Parameter* parameter, FindParameter(name));
  if (change.front().type() != bson::Type::kDocument) {
    return BadParameter(name, "not a document");
  }
  bson::View value = change.front().value().AsDocument();
  for (const bson::Element& e : value) {
    if (e.name().starts_with('$')) {
      return {kDollarPrefixedFieldName,
              "The field '" + std::string(e.name()) + "' of a cluster parameter starts with $"};
    }
  }
  RETURN_IF_ERROR(parameter->check(name, value));
  bson::Builder out;
  out.Append("_id", name).Append("clusterParameterTime", i.engine.clock().Tick());
  ASSIGN_OR_RETURN(bson::Document initial, bson::Document::FromJson(parameter->initial));
  AppendValue(initial, value, &out);
  bson::Document document = out.Finish();
  RETURN_IF_ERROR(SaveOwn(i.engine, kClusterParameters, document.view()));
  i.commands.cluster().Load(i.engine);
  return Status::Ok();
}

struct VersionRequest {
  bool confirm = false;
  bool from_config_server = false;
  static constexpr auto kFields = std::to_array<request::FieldRow<VersionRequest>>(
      {request::Field<&VersionRequest::confirm>("confirm"),
       request::Field<&VersionRequest::from_config_server>("fromConfigServer")});
};

// The version is remembered and shown; the server behaves the same under each of them.
Status RunSetVersion(Invocation& i) {
  bson::Element version = i.body().front();
  if (version.value().nullish()) {
    return request::MissingField("setFeatureCompatibilityVersion",
                                 "setFeatureCompatibilityVersion");
  }
  if (version.type() != bson::Type::kString) {
    return request::WrongType("setFeatureCompatibilityVersion", version, "string");
  }
  VersionRequest asked;
  RETURN_IF_ERROR(request::ReadFields<VersionRequest>("setFeatureCompatibilityVersion", i.body(),
                                                      true, VersionRequest::kFields, &asked));
  std::string_view wanted = version.value().AsString();
  if (wanted != kFeatureCompatibilityVersion && wanted != kLastFeatureCompatibilityVersion) {
    return {4926900, "Invalid feature compatibility version value '" + std::string(wanted) +
                         "'; expected '" + std::string(kLastFeatureCompatibilityVersion) +
                         "' or '" + std::string(kFeatureCompatibilityVersion) + "'"};
  }
  if (!asked.confirm) {
    return {7369100,
            "Once the version is changed, earlier binaries may not start; re-run with "
            "{confirm: true}"};
  }
  bson::Builder out;
  out.Append("_id", kVersionId).Append("version", wanted);
  bson::Document document = out.Finish();
  RETURN_IF_ERROR(SaveOwn(i.engine, kVersionNs, document.view()));
  i.commands.cluster().Load(i.engine);
  return Status::Ok();
}

Status RunNoRoutes(Invocation& /*i*/) {
  return {kShardingStateNotInitialized, "Sharding is not enabled"};
}

struct BlockRequest {
  std::optional<bool> global;
  std::string_view reason = "Unspecified";
  static constexpr auto kFields = std::to_array<request::FieldRow<BlockRequest>>(
      {request::Field<&BlockRequest::global>("global", request::Need::kRequired),
       request::Field<&BlockRequest::reason>("reason")});
};

Status RunBlockWrites(Invocation& i) {
  bson::Value global = i.body()["global"];
  if (!global.nullish() && global.type() != bson::Type::kBool) {
    return request::WrongType("setUserWriteBlockMode", i.body().Find("global"), "bool");
  }
  BlockRequest asked;
  RETURN_IF_ERROR(request::ReadFields<BlockRequest>("setUserWriteBlockMode", i.body(), true,
                                                    BlockRequest::kFields, &asked));
  constexpr std::array<std::string_view, 3> kReasons = {
      "Unspecified", "ClusterToClusterMigrationInProgress", "DiskUseThresholdExceeded"};
  if (std::find(kReasons.begin(), kReasons.end(), asked.reason) == kReasons.end()) {
    return {kBadValue, "Enumeration value '" + std::string(asked.reason) +
                           "' for field 'reason' is not a valid value."};
  }
  ClusterSettings& cluster = i.commands.cluster();
  std::string present = cluster.block_reason();
  if (cluster.writes_blocked() && present != asked.reason) {
    return {kIllegalOperation, "user writes are blocked for another reason already: " + present};
  }
  bson::Builder out;
  out.Append("_id", kWriteBlockId).Append("global", *asked.global).Append("reason", asked.reason);
  bson::Document document = out.Finish();
  RETURN_IF_ERROR(SaveOwn(i.engine, kClusterSettings, document.view()));
  cluster.Load(i.engine);
  return Status::Ok();
}

}  // namespace

std::span<const Row> ClusterRows() {
  using request::kAdminOnly;
  using request::kWriteConcern;
  static constexpr Row kRows[] = {
      {{"getClusterParameter", "", kAdminOnly, "settings of the cluster"},
       RunGetClusterParameter,
       OnCluster(Action::getClusterParameter)},
      {{"setClusterParameter", "", kAdminOnly | request::kOnPrimary,
        "changes a setting of the cluster"},
       RunSetClusterParameter,
       OnCluster(Action::setClusterParameter)},
      {{"setFeatureCompatibilityVersion", "", kAdminOnly | kWriteConcern | request::kOnPrimary,
        "sets the version getParameter shows"},
       RunSetVersion,
       OnCluster(Action::setFeatureCompatibilityVersion)},
      {{"setUserWriteBlockMode", "", kAdminOnly | request::kOnPrimary,
        "stops and allows writes of users"},
       RunBlockWrites,
       OnCluster(Action::setUserWriteBlockMode)},
      {{"mergeChunks", "", kAdminOnly, "for shards only"},
       RunNotAShard,
       Stated(StateOfShard<Action::splitChunk>)},
      {{"moveChunk", "", kAdminOnly, "for shards only"},
       RunNotAShard,
       Stated(StateOfShard<Action::moveChunk>)},
      {{"splitChunk", "", kAdminOnly, "for shards only"},
       RunNotAShard,
       OnCluster(Action::internal)},
      {{"cleanupOrphaned", "", kAdminOnly, "for shards only"},
       RunNotAShard,
       OnCluster(Action::cleanupOrphaned)},
      {{"flushRouterConfig", "", kAdminOnly, "for shards and routers only"},
       RunNoRoutes,
       OnCluster(Action::flushRouterConfig)},
      {{"getShardVersion", "", kAdminOnly, "for shards only"},
       RunNotAShard,
       Stated(StateOfShard<Action::getShardVersion>)},
  };
  return kRows;
}

}  // namespace quire::command
