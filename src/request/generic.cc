// SPDX-License-Identifier: Apache-2.0
#include "request/generic.h"

#include <algorithm>
#include <array>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/number.h"
#include "request/fields.h"

namespace quire::request {

namespace {

Status ReadSession(const bson::Element& e, Generic* out) {
  if (e.type() != bson::Type::kDocument) {
    return WrongType("OperationSessionInfo", e, "object");
  }
  bson::Element id;
  for (const bson::Element& field : e.value().AsDocument()) {
    if (field.name() == "id") {
      if (id.present()) {
        return DuplicateField("OperationSessionInfo.lsid", "id");
      }
      id = field;
    } else if (field.name() == "uid") {
      if (!out->session_owner.empty()) {
        return DuplicateField("OperationSessionInfo.lsid", "uid");
      }
      if (field.type() == bson::Type::kBinary) {
        out->session_owner = field.value().AsBinary();
      }
    } else if (field.name() != "txnNumber" && field.name() != "txnUUID") {
      return UnknownField("OperationSessionInfo.lsid", field.name());
    }
  }
  if (!id.present()) {
    return MissingField("OperationSessionInfo.lsid", "id");
  }
  bson::Value uuid = id.value();
  if (uuid.type() != bson::Type::kBinary || uuid.binary_subtype() != 4) {
    return WrongType("OperationSessionInfo.lsid", id, "binData");
  }
  if (uuid.AsBinary().size() != 16) {
    return {kInvalidUUID, "uuid must be a 16-byte binary field with UUID (4) subtype"};
  }
  out->lsid = uuid.AsBinary();
  return Status::Ok();
}

Status ReadMaxTime(std::string_view command, const bson::Element& e, Generic* out) {
  bson::Value value = e.value();
  if (!value.is_number()) {
    return WrongType(command, e, "[long, int, decimal, double]");
  }
  std::optional<int64_t> exact = bson::ExactInt64(value);
  if (!exact) {
    return {kFailedToParse, "maxTimeMS has non-integral value"};
  }
  if (*exact < 0 || *exact > INT32_MAX) {
    return {kBadValue, "maxTimeMS: " + std::to_string(*exact) + " is out of range"};
  }
  out->max_time_ms = *exact;
  return Status::Ok();
}

Status CheckProvenance(std::string_view concern, const bson::Element& e) {
  constexpr std::array<std::string_view, 5> kSources = {"clientSupplied", "implicitDefault",
                                                        "customDefault", "getLastErrorDefaults",
                                                        "internalWriteDefault"};
  if (e.value().nullish()) {
    return Status::Ok();
  }
  std::string_view source;
  RETURN_IF_ERROR(ReadField(concern, e, &source));
  if (std::find(kSources.begin(), kSources.end(), source) == kSources.end()) {
    return {kBadValue, "Enumeration value '" + std::string(source) +
                           "' for field 'provenance' is not a valid value."};
  }
  return Status::Ok();
}

Status ReadReadConcern(std::string_view command, const bson::Element& e, Generic* out) {
  RETURN_IF_ERROR(ReadField(command, e, &out->read_concern));
  constexpr std::array<std::string_view, 5> kLevels = {"local", "majority", "linearizable",
                                                       "available", "snapshot"};
  for (const bson::Element& field : out->read_concern) {
    if (field.name() == "level") {
      if (field.value().nullish()) {
        continue;
      }
      if (field.type() != bson::Type::kString) {
        return WrongType("readConcern", field, "string");
      }
      out->read_concern_level = field.value().AsString();
      if (std::find(kLevels.begin(), kLevels.end(), out->read_concern_level) == kLevels.end()) {
        return {kBadValue, "Enumeration value '" + std::string(out->read_concern_level) +
                               "' for field 'level' is not a valid value."};
      }
    } else if (field.name() == "afterClusterTime" || field.name() == "atClusterTime") {
      if (field.type() != bson::Type::kTimestamp) {
        return WrongType("readConcern", field, "timestamp");
      }
      bson::Timestamp time = field.value().AsTimestamp();
      if (time == bson::Timestamp{} || (field.name() == "atClusterTime" && time.seconds == 0)) {
        return {kInvalidOptions, std::string(field.name()) + " cannot be a null timestamp"};
      }
    } else if (field.name() == "provenance") {
      RETURN_IF_ERROR(CheckProvenance("readConcern", field));
    } else if (field.name() != "afterOpTime" && field.name() != "allowTransactionTableSnapshot" &&
               field.name() != "waitLastStableRecoveryTimestamp") {
      return UnknownField("readConcern", field.name());
    }
  }
  const std::string_view level = out->read_concern_level;
  if (out->read_concern.Has("afterClusterTime") && !level.empty() && level != "local" &&
      level != "majority" && level != "snapshot") {
    return {kInvalidOptions,
            "afterClusterTime field can be set only if level is equal to majority, local, or "
            "snapshot"};
  }
  if (out->read_concern.Has("afterClusterTime") && out->read_concern.Has("atClusterTime")) {
    return {kInvalidOptions,
            "Specifying a timestamp for readConcern snapshot in a causally consistent session is "
            "not allowed"};
  }
  if (out->read_concern.Has("atClusterTime") && level != "snapshot") {
    return {kInvalidOptions,
            "readConcern.atClusterTime is only allowed with readConcern level 'snapshot'"};
  }
  return Status::Ok();
}

Status ReadW(const bson::Element& given) {
  constexpr int64_t kMostMembers = 50;
  bson::Value w = given.value();
  if (w.is_number()) {
    int64_t members = 0;
    RETURN_IF_ERROR(ReadField("writeConcern", given, &members));
    if (bson::IsNan(w) || members < 0 || members > kMostMembers) {
      return {kFailedToParse, "w has to be a non-negative number and not greater than 50"};
    }
    return Status::Ok();
  }
  if (w.is_document()) {
    if (w.AsDocument().empty()) {
      return {kFailedToParse, "tagged write concern requires tags"};
    }
    for (const bson::Element& tag : w.AsDocument()) {
      if (!tag.value().is_number()) {
        return {kFailedToParse, "tags must be a single level document with only number values"};
      }
    }
    return Status::Ok();
  }
  if (!w.is_string()) {
    return {kFailedToParse, "w has to be a number, string, or object; found: " +
                                std::string(bson::TypeName(w.type()))};
  }
  return Status::Ok();
}

Status ReadWriteTimeout(const bson::Value& value, WriteConcern* out) {
  if (!value.is_number()) {
    return Status::Ok();
  }
  out->wtimeout = bson::IsNan(value) ? 0 : bson::ClampedInt64(value);
  if (out->wtimeout > INT32_MAX) {
    return {kFailedToParse, "wtimeout must be a 32-bit integer"};
  }
  return Status::Ok();
}

Status ReadWriteConcern(std::string_view command, const bson::Element& e, WriteConcern* out) {
  bson::View spec;
  RETURN_IF_ERROR(ReadField(command, e, &spec));
  out->present = true;
  out->given = !spec.empty();
  if (Truthy(spec["fsync"]) && Truthy(spec["j"])) {
    return {kFailedToParse, "fsync and j options cannot be used together"};
  }
  for (const bson::Element& field : spec) {
    if (field.value().nullish()) {
      continue;
    }
    if (field.name() == "w") {
      RETURN_IF_ERROR(ReadW(field));
      out->w = field.value();
    } else if (field.name() == "j") {
      RETURN_IF_ERROR(ReadField("writeConcern", field, &out->journal));
      out->journal_given = true;
    } else if (field.name() == "wtimeout") {
      RETURN_IF_ERROR(ReadWriteTimeout(field.value(), out));
    } else if (field.name() == "provenance") {
      RETURN_IF_ERROR(CheckProvenance("writeConcern", field));
    } else if (field.name() != "fsync" && field.name() != "getLastError" &&
               field.name() != "wElectionId" && field.name() != "wOpTime") {
      return UnknownField("WriteConcern", field.name());
    }
  }
  return Status::Ok();
}

Status ReadOne(std::string_view command, const bson::Element& e, Generic* out) {
  std::string_view name = e.name();
  if (name == "maxTimeMS") {
    return ReadMaxTime(command, e, out);
  }
  if (name == "lsid") {
    return ReadSession(e, out);
  }
  if (name == "txnNumber") {
    if (e.type() != bson::Type::kInt64) {
      return WrongType("OperationSessionInfo", e, "long");
    }
    return ReadField(command, e, &out->txn_number);
  }
  if (name == "autocommit") {
    if (e.type() != bson::Type::kBool) {
      return WrongType("OperationSessionInfo", e, "bool");
    }
    return ReadField(command, e, &out->autocommit);
  }
  if (name == "startTransaction") {
    if (e.type() != bson::Type::kBool) {
      return WrongType("OperationSessionInfo", e, "bool");
    }
    return ReadField(command, e, &out->start_transaction);
  }
  if (name == "readConcern") {
    return ReadReadConcern(command, e, out);
  }
  if (name == "writeConcern") {
    return ReadWriteConcern(command, e, &out->write_concern);
  }
  if (name == "$clusterTime") {
    out->cluster_time = e;
  } else if (name == "stmtId") {
    out->statement_id = e.value();
  } else if (name == "stmtIds") {
    out->statement_ids = e.value();
  } else if (name == "comment") {
    out->comment = e.value();
  } else if (name == "help") {
    out->help = (e.type() == bson::Type::kBool && e.value().AsBool()) ||
                (e.value().is_number() && !bson::IsZero(e.value()));
  } else if (name == "apiVersion") {
    return ReadField(command, e, &out->api.version);
  } else if (name == "apiStrict") {
    return ReadStrictBool(command, e, &out->api.strict);
  } else if (name == "apiDeprecationErrors") {
    return ReadStrictBool(command, e, &out->api.deprecation_errors);
  }
  return Status::Ok();
}

Status CheckApi(const Api& api) {
  if (api.version) {
    return *api.version == "1" || *api.version == "2"
               ? Status::Ok()
               : Status(kAPIVersionError, "API version must be \"1\"");
  }
  if (api.strict || api.deprecation_errors) {
    return {4886600, std::string("Provided ") +
                         (api.strict ? "apiStrict" : "apiDeprecationErrors") +
                         " without passing apiVersion"};
  }
  return Status::Ok();
}

Status CheckTransactionFields(const Generic& g) {
  if (g.txn_number && g.lsid.empty()) {
    return {kInvalidOptions, "Transaction number requires a session ID to also be specified"};
  }
  if (g.txn_number && *g.txn_number < 0) {
    return {kInvalidOptions, "Transaction number cannot be negative"};
  }
  if (g.autocommit && !g.txn_number) {
    return {kInvalidOptions,
            "'autocommit' field requires a transaction number to also be specified"};
  }
  if (g.autocommit && *g.autocommit) {
    return {kInvalidOptions, "Specifying autocommit=true is not allowed."};
  }
  if (g.start_transaction && !g.autocommit) {
    return {kInvalidOptions,
            "'startTransaction' field requires 'autocommit' field to also be specified"};
  }
  return Status::Ok();
}

}  // namespace

std::string SessionKey(std::string_view uuid, std::string_view owner) {
  std::string key(uuid);
  key += owner;
  return key;
}

void AppendSession(std::string_view name, std::string_view key, bson::Builder* out) {
  static constexpr unsigned char kNobody[32] = {0xe3, 0xb0, 0xc4, 0x42, 0x98, 0xfc, 0x1c, 0x14,
                                                0x9a, 0xfb, 0xf4, 0xc8, 0x99, 0x6f, 0xb9, 0x24,
                                                0x27, 0xae, 0x41, 0xe4, 0x64, 0x9b, 0x93, 0x4c,
                                                0xa4, 0x95, 0x99, 0x1b, 0x78, 0x52, 0xb8, 0x55};
  std::string_view owner = key.substr(kSessionIdSize);
  if (owner.empty()) {
    owner = {reinterpret_cast<const char*>(kNobody), sizeof kNobody};
  }
  out->BeginDocument(name)
      .Append("id", bson::Value::Binary(key.substr(0, kSessionIdSize), 4))
      .Append("uid", bson::Value::Binary(owner, 0))
      .End();
}

Result<Generic> ReadGeneric(std::string_view command, bson::View body) {
  Generic out;
  bool first = true;
  for (const bson::Element& e : body) {
    if (!first && e.type() != bson::Type::kNull) {
      RETURN_IF_ERROR(ReadOne(command, e, &out));
    }
    first = false;
  }
  RETURN_IF_ERROR(CheckApi(out.api));
  RETURN_IF_ERROR(CheckTransactionFields(out));
  return out;
}

}  // namespace quire::request
