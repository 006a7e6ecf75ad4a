// SPDX-License-Identifier: Apache-2.0
#include "request/fields.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error_codes.h"
#include "bson/decimal.h"
#include "bson/number.h"

namespace quire::request {

namespace {

constexpr std::array<std::string_view, 39> kGeneric = {
    "$db",
    "lsid",
    "$clusterTime",
    "txnNumber",
    "autocommit",
    "startTransaction",
    "readConcern",
    "writeConcern",
    "maxTimeMS",
    "comment",
    "help",
    "$readPreference",
    "apiVersion",
    "apiStrict",
    "apiDeprecationErrors",
    "maxTimeMSOpOnly",
    "$audit",
    "$client",
    "$configServerState",
    "$configTime",
    "$topologyTime",
    "$gleStats",
    "$oplogQueryData",
    "$queryOptions",
    "$replData",
    "$impersonatedUsers",
    "clientOperationKey",
    "coordinator",
    "databaseVersion",
    "legacyRuntimeConstants",
    "partialGroup",
    "shardRows",
    "shardVersion",
    "shardVersions",
    "operationSessionInfo",
    "startOrContinueTransaction",
    "stmtId",
    "stmtIds",
    "usesDefaultMaxTimeMS",
};

std::string Dotted(std::string_view command, std::string_view field) {
  return "'" + std::string(command) + "." + std::string(field) + "'";
}

Result<int64_t> Integer(std::string_view command, const bson::Element& e, double low, double high) {
  bson::Value value = e.value();
  if (!value.is_number()) {
    return WrongType(command, e, "[long, int, decimal, double]");
  }
  double as_double = bson::ToDouble(value);
  if (std::isnan(as_double)) {
    return int64_t{0};
  }
  if (value.type() == bson::Type::kDecimal128) {
    as_double = std::nearbyint(as_double);  // a half goes to the even number
  }
  as_double = std::clamp(as_double, low, high);
  if (value.type() == bson::Type::kInt32 || value.type() == bson::Type::kInt64) {
    return value.AsInt64();
  }
  if (value.type() == bson::Type::kDecimal128) {
    using bson::decimal::Rounding;
    auto rounded = bson::decimal::ToInt64(value.AsDecimal(), Rounding::kNearestEven);
    return rounded.value_or(as_double < 0 ? INT64_MIN : INT64_MAX);
  }
  constexpr double kTwo63 = 9223372036854775808.0;
  if (as_double >= kTwo63 || as_double <= -kTwo63) {
    return as_double < 0 ? INT64_MIN : INT64_MAX;
  }
  return static_cast<int64_t>(as_double);
}

}  // namespace

bool IsGenericField(std::string_view name) {
  return std::find(kGeneric.begin(), kGeneric.end(), name) != kGeneric.end();
}

Status UnknownField(std::string_view command, std::string_view field) {
  return {40415, "BSON field " + Dotted(command, field) + " is an unknown field."};
}

Status MissingField(std::string_view command, std::string_view field) {
  return {40414, "BSON field " + Dotted(command, field) + " is missing but a required field"};
}

Status DuplicateField(std::string_view command, std::string_view field) {
  return {kIDLDuplicateField, "BSON field " + Dotted(command, field) + " is a duplicate field"};
}

Status WrongType(std::string_view command, const bson::Element& field, std::string_view expected) {
  std::string message = "BSON field " + Dotted(command, field.name()) + " is the wrong type '" +
                        std::string(bson::TypeName(field.type())) + "', expected ";
  bool several = expected.starts_with('[');
  message += several ? "types '" : "type '";
  return {kTypeMismatch, message + std::string(expected) + "'"};
}

Status ReadField(std::string_view command, const bson::Element& e, bool* out) {
  bson::Value value = e.value();
  if (value.type() == bson::Type::kBool) {
    *out = value.AsBool();
    return Status::Ok();
  }
  if (!value.is_number()) {
    return WrongType(command, e, "[bool, long, int, decimal, double]");
  }
  *out = !bson::IsZero(value);
  return Status::Ok();
}

Status ReadStrictBool(std::string_view command, const bson::Element& e, bool* out) {
  if (e.type() != bson::Type::kBool) {
    return WrongType(command, e, "bool");
  }
  *out = e.value().AsBool();
  return Status::Ok();
}

Status ReadCountLimit(std::string_view, const bson::Element& e, int64_t* out) {
  if (!e.value().is_number()) {
    return {kBadValue, "limit value is not a valid number"};
  }
  std::optional<int64_t> exact = bson::ExactInt64(e.value());
  if (!exact) {
    return {kFailedToParse, "limit value cannot be represented as an integer"};
  }
  if (*exact == INT64_MIN) {
    return {kBadValue, "limit value cannot be negated"};
  }
  *out = *exact;
  return Status::Ok();
}

Status ReadHint(std::string_view, const bson::Element& e, bson::Value* out) {
  bson::Value hint = e.value();
  if (!hint.is_string() && !hint.is_document()) {
    return {kFailedToParse, "Hint must be a string or an object"};
  }
  *out = hint;
  if (hint.is_string()) {
    return Status::Ok();
  }
  bson::View pattern = hint.AsDocument();
  for (const bson::Element& part : pattern) {
    bool natural = part.name() == "$natural";
    if (natural && pattern.Count() > 1) {
      return {kBadValue, "$natural hint may not be combined with other fields"};
    }
    std::optional<int64_t> direction = bson::ExactInt64(part.value());
    bool wrong = part.value().is_number() ? !direction || *direction == 0 : natural;
    if (wrong || (natural && *direction != 1 && *direction != -1)) {
      return {kBadValue, "Invalid direction in hint: " + bson::ToJson(pattern)};
    }
  }
  return Status::Ok();
}

Status ReadField(std::string_view command, const bson::Element& e, int32_t* out) {
  ASSIGN_OR_RETURN(int64_t n, Integer(command, e, INT32_MIN, INT32_MAX));
  *out = static_cast<int32_t>(std::clamp<int64_t>(n, INT32_MIN, INT32_MAX));
  return Status::Ok();
}

Status ReadField(std::string_view command, const bson::Element& e, int64_t* out) {
  ASSIGN_OR_RETURN(*out, Integer(command, e, -9.3e18, 9.3e18));
  return Status::Ok();
}

Status ReadField(std::string_view command, const bson::Element& e, std::string_view* out) {
  if (e.type() != bson::Type::kString) {
    return WrongType(command, e, "string");
  }
  *out = e.value().AsString();
  return Status::Ok();
}

Status ReadField(std::string_view command, const bson::Element& e, bson::View* out) {
  if (e.type() != bson::Type::kDocument) {
    return WrongType(command, e, "object");
  }
  *out = e.value().AsDocument();
  return Status::Ok();
}

Status ReadField(std::string_view, const bson::Element& e, bson::Value* out) {
  *out = e.value();
  return Status::Ok();
}

Status ReadField(std::string_view command, const bson::Element& e, ArrayArgument* out) {
  if (e.type() != bson::Type::kArray) {
    return WrongType(command, e, "array");
  }
  out->view = e.value().AsArray();
  out->present = true;
  return Status::Ok();
}

Status ReadUuid(std::string_view command, const bson::Element& e, bson::Value* out) {
  constexpr uint8_t kUuid = 4;
  constexpr size_t kSize = 16;
  if (e.type() != bson::Type::kBinary || e.value().binary_subtype() != kUuid) {
    return WrongType(command, e, "binData");
  }
  if (e.value().AsBinary().size() != kSize) {
    return {kInvalidUUID, "uuid must be a 16-byte binary field with UUID (4) subtype"};
  }
  *out = e.value();
  return Status::Ok();
}

bool Truthy(const bson::Value& value) {
  if (value.nullish()) {
    return false;
  }
  if (value.type() == bson::Type::kBool) {
    return value.AsBool();
  }
  return !value.is_number() || !bson::IsZero(value);
}

}  // namespace quire::request
