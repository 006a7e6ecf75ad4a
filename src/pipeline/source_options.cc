// SPDX-License-Identifier: Apache-2.0
//
// The options of the stages that the engine answers, checked while parsing.
#include "pipeline/source_options.h"

#include <set>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/decimal.h"
#include "bson/number.h"
#include "expr/wrong_type.h"

namespace quire::pipeline {

namespace {

using expr::WrongType;

Status UnknownField(std::string_view where, std::string_view name) {
  return Status(40415, "BSON field '" + std::string(where) + "." + std::string(name) +
                           "' is an unknown field.");
}

std::string Where(std::string_view stage, std::string_view field) {
  return std::string(stage) + "." + std::string(field);
}

Status CheckBool(std::string_view stage, const bson::Element& field) {
  return field.type() == bson::Type::kBool
             ? Status::Ok()
             : WrongType(Where(stage, field.name()), field.value(), "bool");
}

Status CheckLatency(std::string_view stage, const bson::Element& option) {
  for (const bson::Element& field : option.value().AsDocument()) {
    if (field.name() != "histograms") {
      return UnknownField(Where(stage, option.name()), field.name());
    }
    RETURN_IF_ERROR(CheckBool(Where(stage, option.name()), field));
  }
  return Status::Ok();
}

Status CheckCollStatsOption(std::string_view stage, const bson::Element& option) {
  std::string_view name = option.name();
  if (name != "latencyStats" && name != "storageStats" && name != "count" &&
      name != "queryExecStats") {
    return UnknownField(stage, name);
  }
  if (option.type() == bson::Type::kNull) {
    return Status::Ok();
  }
  if (option.type() != bson::Type::kDocument) {
    return WrongType(Where(stage, name), option.value(), "object");
  }
  if (name == "latencyStats") {
    return CheckLatency(stage, option);
  }
  if (name == "storageStats") {
    return StorageScale(option.value()).status();
  }
  if (!option.value().AsDocument().empty()) {
    return Status(31170, Where(stage, name) + " must be an empty object");
  }
  return Status::Ok();
}

// An option that is null is as good as left out, also beside one of the same name.
Status CheckCollStats(std::string_view stage, bson::View options) {
  std::set<std::string_view> given;
  for (const bson::Element& option : options) {
    RETURN_IF_ERROR(CheckCollStatsOption(stage, option));
    if (option.type() != bson::Type::kNull && !given.insert(option.name()).second) {
      return Status(40413, "BSON field '" + Where(stage, option.name()) + "' is a duplicate field");
    }
  }
  return Status::Ok();
}

Status CheckCurrentOp(std::string_view stage, bson::View options) {
  static const std::set<std::string_view> kSwitches = {
      "allUsers", "idleConnections", "idleCursors",   "idleSessions",
      "localOps", "truncateOps",     "targetAllNodes"};
  for (const bson::Element& option : options) {
    if (kSwitches.count(option.name()) == 0) {
      return UnknownField(stage, option.name());
    }
    RETURN_IF_ERROR(CheckBool(stage, option));
  }
  if (options["targetAllNodes"].AsBool()) {
    return Status(kFailedToParse,
                  "$currentOp supports targetAllNodes parameter only for sharded "
                  "clusters");
  }
  return Status::Ok();
}

Status CheckUser(const std::string& where, const bson::Value& user) {
  if (!user.is_document()) {
    return WrongType(where, user, "object");
  }
  for (const bson::Element& field : user.AsDocument()) {
    if (field.name() != "user" && field.name() != "db") {
      return UnknownField(where, field.name());
    }
    if (field.type() != bson::Type::kString && field.type() != bson::Type::kNull) {
      return WrongType(Where(where, field.name()), field.value(), "string");
    }
  }
  for (std::string_view name : {"user", "db"}) {
    if (!user.AsDocument()[name].is_string()) {
      return Status(40414,
                    "BSON field '" + Where(where, name) + "' is missing but a required field");
    }
  }
  return Status::Ok();
}

Status CheckUsers(std::string_view stage, const bson::Element& users, bool* any) {
  if (users.type() != bson::Type::kArray) {
    return WrongType(Where(stage, "users"), users.value(), "array");
  }
  for (const bson::Element& user : users.value().AsArray()) {
    if (user.type() != bson::Type::kNull) {
      RETURN_IF_ERROR(CheckUser(Where(stage, "users"), user.value()));
      *any = true;
    }
  }
  return Status::Ok();
}

Status CheckSessions(std::string_view stage, bson::View options) {
  bool any_user = false;
  for (const bson::Element& option : options) {
    if (option.name() != "allUsers" && option.name() != "users") {
      return UnknownField(stage, option.name());
    }
    if (option.type() == bson::Type::kNull) {
      continue;
    }
    RETURN_IF_ERROR(option.name() == "users" ? CheckUsers(stage, option, &any_user)
                                             : CheckBool(stage, option));
  }
  bson::Value all = options["allUsers"];
  if (any_user && all.type() == bson::Type::kBool && all.AsBool()) {
    return Status(kUnsupportedFormat, std::string(stage) +
                                          " may not specify {allUsers:true} and {users:[...]} at "
                                          "the same time");
  }
  return Status::Ok();
}

Status CheckPlanCacheStats(std::string_view stage, bson::View options) {
  if (options.empty()) {
    return Status::Ok();
  }
  bson::Element option = options.front();
  if (options.Count() > 1 || option.name() != "allHosts") {
    return Status(kFailedToParse, std::string(stage) +
                                      " parameters object may contain only the 'allHosts' field. "
                                      "Found: " +
                                      bson::ToJson(options));
  }
  if (option.type() != bson::Type::kBool) {
    return Status(13111, "wrong type for field (allHosts) " +
                             std::string(bson::TypeName(option.type())) + " != bool");
  }
  if (option.value().AsBool()) {
    return Status(4503200,
                  "$planCacheStats stage supports allHosts parameter only for sharded "
                  "clusters");
  }
  return Status::Ok();
}

Status CheckQuerySettings(std::string_view stage, bson::View options) {
  for (const bson::Element& option : options) {
    if (option.name() != "showDebugQueryShape") {
      return UnknownField(stage, option.name());
    }
    RETURN_IF_ERROR(CheckBool(stage, option));
  }
  return Status::Ok();
}

Status CheckClusterCatalog(std::string_view stage, bson::View options) {
  for (const bson::Element& option : options) {
    if (option.name() != "shards" && option.name() != "balancingConfiguration") {
      return UnknownField(stage, option.name());
    }
    RETURN_IF_ERROR(CheckBool(stage, option));
  }
  return Status::Ok();
}

Status CheckSampledQueries(std::string_view stage, bson::View options) {
  for (const bson::Element& option : options) {
    if (option.name() != "namespace") {
      return UnknownField(stage, option.name());
    }
    if (option.type() != bson::Type::kString) {
      return WrongType(Where(stage, option.name()), option.value(), "string");
    }
    const std::string_view ns = option.value().AsString();
    const size_t dot = ns.find('.');
    if (dot == 0 || dot == std::string_view::npos || dot + 1 == ns.size()) {
      return Status(kInvalidNamespace, "Invalid namespace specified '" + std::string(ns) + "'");
    }
  }
  return Status::Ok();
}

Status CheckTransformedIdentifiers(const std::string& where, bson::View options) {
  for (const bson::Element& option : options) {
    if (option.name() == "algorithm") {
      if (option.type() != bson::Type::kString) {
        return WrongType(Where(where, option.name()), option.value(), "string");
      }
      if (option.value().AsString() != "hmac-sha-256") {
        return Status(kBadValue, "Enumeration value '" + std::string(option.value().AsString()) +
                                     "' for field '" + Where(where, option.name()) +
                                     "' is not a valid value.");
      }
    } else if (option.name() == "hmacKey") {
      if (option.type() != bson::Type::kBinary) {
        return WrongType(Where(where, option.name()), option.value(), "binData");
      }
    } else {
      return UnknownField(where, option.name());
    }
  }
  for (std::string_view required : {"algorithm", "hmacKey"}) {
    if (!options.Has(required)) {
      return Status(40414,
                    "BSON field '" + Where(where, required) + "' is missing but a required field");
    }
  }
  return Status::Ok();
}

Status CheckQueryStats(std::string_view stage, bson::View options) {
  for (const bson::Element& option : options) {
    if (option.name() != "transformIdentifiers") {
      return UnknownField(stage, option.name());
    }
    const std::string where = Where(stage, option.name());
    if (option.type() != bson::Type::kDocument) {
      return WrongType(where, option.value(), "object");
    }
    RETURN_IF_ERROR(CheckTransformedIdentifiers(where, option.value().AsDocument()));
  }
  return Status::Ok();
}

Status CheckEmpty(std::string_view stage, bson::View options) {
  return options.empty() ? Status::Ok()
                         : Status(28803, "The " + std::string(stage) +
                                             " stage specification must be an empty object");
}

Status CheckDistribution(std::string_view stage, bson::View options) {
  return options.empty() ? Status::Ok()
                         : Status(6789100, "The " + std::string(stage) +
                                               " stage specification must be an empty object");
}

Status CheckNothing(std::string_view, bson::View) { return Status::Ok(); }

struct SourceRow {
  std::string_view name;
  int not_object;  // error code for an argument that is no document
  Status (*check)(std::string_view stage, bson::View options);
};
constexpr SourceRow kSources[] = {
    {"$indexStats", 28803, CheckEmpty},
    {"$collStats", 5447000, CheckCollStats},
    {"$currentOp", kTypeMismatch, CheckCurrentOp},
    {"$listSessions", kTypeMismatch, CheckSessions},
    {"$listLocalSessions", kTypeMismatch, CheckSessions},
    {"$planCacheStats", kFailedToParse, CheckPlanCacheStats},
    {"$changeStream", 6188500, CheckNothing},
    {"$querySettings", 7746800, CheckQuerySettings},
    {"$listClusterCatalog", 9621302, CheckClusterCatalog},
    {"$listSampledQueries", 6876001, CheckSampledQueries},
    {"$queryStats", kFailedToParse, CheckQueryStats},
    {"$shardedDataDistribution", 6789100, CheckDistribution},
};

// A number as the scale of sizes: doubles cut off, decimals rounded, at most 2^31 - 1.
int64_t ToScale(const bson::Value& number) {
  constexpr int64_t kMost = INT32_MAX;
  double size = bson::ToDouble(number);
  if (!(size >= 0)) {
    return 0;
  }
  if (size >= static_cast<double>(kMost)) {
    return kMost;
  }
  if (number.type() == bson::Type::kDecimal128) {
    return bson::decimal::ToInt64(number.AsDecimal(), bson::decimal::Rounding::kNearestEven)
        .value_or(0);
  }
  return static_cast<int64_t>(size);
}

}  // namespace

Status CheckSourceOptions(std::string_view stage, const bson::Value& spec) {
  for (const SourceRow& row : kSources) {
    if (row.name != stage) {
      continue;
    }
    if (!spec.is_document()) {
      return Status(row.not_object, "The " + std::string(stage) +
                                        " stage specification must be an object, but found " +
                                        std::string(bson::TypeName(spec.type())));
    }
    return row.check(stage, spec.AsDocument());
  }
  return Status::Ok();
}

Result<int64_t> StorageScale(const bson::Value& storage_stats) {
  bson::Value scale = storage_stats.AsDocument()["scale"];
  if (scale.nullish()) {
    return int64_t{1};
  }
  if (!scale.is_number()) {
    return WrongType("$collStats.storageStats.scale", scale, "number");
  }
  int64_t value = ToScale(scale);
  if (value < 1) {
    return Status(kBadValue, "BSON field 'scale' value must be >= 1, actual value '" +
                                 bson::ToJson(scale) + "'");
  }
  return value;
}

}  // namespace quire::pipeline
