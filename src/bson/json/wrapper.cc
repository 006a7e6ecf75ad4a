// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <limits>
#include <optional>

#include "base/error_codes.h"
#include "bson/decimal.h"
#include "bson/json/text_forms.h"
#include "bson/json/wrapper_internal.h"
#include "bson/number.h"

namespace quire::bson {

namespace {

// Each unwrapper takes the whole object and the value of its first key; false when malformed.
using Unwrap = bool (*)(View wrapper, const Value& value, std::string_view name, Builder* out);

struct WrapperRow {
  std::string_view key;
  Unwrap unwrap;
};

bool Has(View object, size_t count) { return object.Count() == count; }

bool UnwrapObjectId(View wrapper, const Value& value, std::string_view name, Builder* out) {
  if (!Has(wrapper, 1) || !value.is_string()) {
    return false;
  }
  std::optional<ObjectId> id = ObjectId::FromHex(value.AsString());
  if (id) {
    out->Append(name, *id);
  }
  return id.has_value();
}

bool UnwrapSymbol(View wrapper, const Value& value, std::string_view name, Builder* out) {
  if (!Has(wrapper, 1) || !value.is_string()) {
    return false;
  }
  out->Append(name, Value::Symbol(value.AsString()));
  return true;
}

template <typename T>
bool UnwrapInteger(View wrapper, const Value& value, std::string_view name, Builder* out) {
  if (!Has(wrapper, 1) || !value.is_string()) {
    return false;
  }
  std::string_view text = value.AsString();
  T number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    return false;
  }
  out->Append(name, number);
  return true;
}

std::optional<double> DoubleFromText(std::string_view text) {
  if (text == "NaN") {
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (text == "Infinity" || text == "-Infinity") {
    double infinity = std::numeric_limits<double>::infinity();
    return text.front() == '-' ? -infinity : infinity;
  }
  double number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return number;
}

bool UnwrapDouble(View wrapper, const Value& value, std::string_view name, Builder* out) {
  if (!Has(wrapper, 1) || !value.is_string()) {
    return false;
  }
  std::optional<double> number = DoubleFromText(value.AsString());
  if (number) {
    out->Append(name, *number);
  }
  return number.has_value();
}

bool UnwrapDecimal(View wrapper, const Value& value, std::string_view name, Builder* out) {
  if (!Has(wrapper, 1) || !value.is_string()) {
    return false;
  }
  std::optional<Decimal128> number = decimal::FromString(value.AsString());
  if (number) {
    out->Append(name, *number);
  }
  return number.has_value();
}

std::optional<uint8_t> SubtypeFromText(const Value& value) {
  unsigned subtype = 0;
  if (!value.is_string() || value.AsString().empty() || value.AsString().size() > 2) {
    return std::nullopt;
  }
  std::string_view text = value.AsString();
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), subtype, 16);
  if (error != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return static_cast<uint8_t>(subtype);
}

// {"$binary": {"base64": ..., "subType": ...}} and the older {"$binary": ..., "$type": ...}.
bool UnwrapBinary(View wrapper, const Value& value, std::string_view name, Builder* out) {
  bool older = value.is_string();
  if (!older && (!value.is_document() || !Has(wrapper, 1) || !Has(value.AsDocument(), 2))) {
    return false;
  }
  if (older && !Has(wrapper, 2)) {
    return false;
  }
  Value text = older ? value : value.AsDocument()["base64"];
  std::optional<uint8_t> subtype =
      SubtypeFromText(older ? wrapper["$type"] : value.AsDocument()["subType"]);
  if (!text.is_string() || !subtype) {
    return false;
  }
  std::optional<std::string> bytes = FromBase64(text.AsString());
  if (bytes) {
    out->Append(name, Value::Binary(*bytes, *subtype));
  }
  return bytes.has_value();
}

bool UnwrapUuid(View wrapper, const Value& value, std::string_view name, Builder* out) {
  if (!Has(wrapper, 1) || !value.is_string() || value.AsString().size() != 36) {
    return false;
  }
  std::string bytes;
  std::string_view text = value.AsString();
  for (size_t i = 0; i < text.size();) {
    bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash) {
      if (text[i++] != '-') {
        return false;
      }
      continue;
    }
    unsigned byte = 0;
    auto [end, error] = std::from_chars(text.data() + i, text.data() + i + 2, byte, 16);
    if (error != std::errc() || end != text.data() + i + 2) {
      return false;
    }
    bytes += static_cast<char>(byte);
    i += 2;
  }
  out->Append(name, Value::Binary(bytes, 4));
  return true;
}

bool UnwrapCode(View wrapper, const Value& value, std::string_view name, Builder* out) {
  if (!value.is_string()) {
    return false;
  }
  if (Has(wrapper, 1)) {
    out->Append(name, Value::Code(value.AsString()));
    return true;
  }
  Value scope = wrapper["$scope"];
  if (!Has(wrapper, 2) || !scope.is_document()) {
    return false;
  }
  out->AppendCodeWithScope(name, value.AsString(), scope.AsDocument());
  return true;
}

bool UnwrapTimestamp(View wrapper, const Value& value, std::string_view name, Builder* out) {
  if (!Has(wrapper, 1) || !value.is_document() || !Has(value.AsDocument(), 2)) {
    return false;
  }
  std::optional<int64_t> t = ExactInt64(value.AsDocument()["t"]);
  std::optional<int64_t> i = ExactInt64(value.AsDocument()["i"]);
  constexpr int64_t kMax = std::numeric_limits<uint32_t>::max();
  if (!t || !i || *t < 0 || *t > kMax || *i < 0 || *i > kMax) {
    return false;
  }
  out->Append(name, Timestamp{static_cast<uint32_t>(*t), static_cast<uint32_t>(*i)});
  return true;
}

bool UnwrapRegex(View wrapper, const Value& value, std::string_view name, Builder* out) {
  if (!Has(wrapper, 1) || !value.is_document() || !Has(value.AsDocument(), 2)) {
    return false;
  }
  Value pattern = value.AsDocument()["pattern"];
  Value options = value.AsDocument()["options"];
  auto plain = [](const Value& v) {
    return v.is_string() && v.AsString().find('\0') == std::string_view::npos;
  };
  if (!plain(pattern) || !plain(options)) {
    return false;
  }
  out->AppendRegex(name, pattern.AsString(), options.AsString());
  return true;
}

bool UnwrapDbPointer(View wrapper, const Value& value, std::string_view name, Builder* out) {
  if (!Has(wrapper, 1) || !value.is_document() || !Has(value.AsDocument(), 2)) {
    return false;
  }
  Value ns = value.AsDocument()["$ref"];
  Value id = value.AsDocument()["$id"];
  if (!ns.is_string() || id.type() != Type::kObjectId) {
    return false;
  }
  out->AppendDbPointer(name, ns.AsString(), id.AsObjectId());
  return true;
}

bool UnwrapDate(View wrapper, const Value& value, std::string_view name, Builder* out) {
  if (!Has(wrapper, 1)) {
    return false;
  }
  std::optional<int64_t> millis =
      value.is_string() ? FromIsoDate(value.AsString()) : ExactInt64(value);
  if (millis) {
    out->Append(name, Date{*millis});
  }
  return millis.has_value();
}

bool UnwrapMinKey(View wrapper, const Value& value, std::string_view name, Builder* out) {
  out->Append(name, Value::MinKey());
  return Has(wrapper, 1) && ExactInt64(value) == 1;
}

bool UnwrapMaxKey(View wrapper, const Value& value, std::string_view name, Builder* out) {
  out->Append(name, Value::MaxKey());
  return Has(wrapper, 1) && ExactInt64(value) == 1;
}

bool UnwrapUndefined(View wrapper, const Value& value, std::string_view name, Builder* out) {
  out->Append(name, Value::Undefined());
  return Has(wrapper, 1) && value.type() == Type::kBool && value.AsBool();
}

constexpr WrapperRow kWrappers[] = {
    {"$oid", UnwrapObjectId},
    {"$symbol", UnwrapSymbol},
    {"$numberInt", UnwrapInteger<int32_t>},
    {"$numberLong", UnwrapInteger<int64_t>},
    {"$numberDouble", UnwrapDouble},
    {"$numberDecimal", UnwrapDecimal},
    {"$binary", UnwrapBinary},
    {"$uuid", UnwrapUuid},
    {"$code", UnwrapCode},
    {"$timestamp", UnwrapTimestamp},
    {"$regularExpression", UnwrapRegex},
    {"$dbPointer", UnwrapDbPointer},
    {"$date", UnwrapDate},
    {"$minKey", UnwrapMinKey},
    {"$maxKey", UnwrapMaxKey},
    {"$undefined", UnwrapUndefined},
};

const WrapperRow* FindWrapper(std::string_view key) {
  for (const WrapperRow& row : kWrappers) {
    if (row.key == key) {
      return &row;
    }
  }
  return nullptr;
}

}  // namespace

bool IsJsonWrapper(std::string_view first_key) { return FindWrapper(first_key) != nullptr; }

Status AppendUnwrapped(View wrapper, std::string_view name, Builder* out) {
  Element first = wrapper.front();
  const WrapperRow* row = FindWrapper(first.name());
  if (!row->unwrap(wrapper, first.value(), name, out)) {
    return Status(kFailedToParse, "Invalid extended JSON: bad " + std::string(first.name()));
  }
  return Status::Ok();
}

}  // namespace quire::bson
