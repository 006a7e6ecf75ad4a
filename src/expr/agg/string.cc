// SPDX-License-Identifier: Apache-2.0
//
// Building and cutting strings: $concat, $substr*, $strLen*, $toUpper, $toLower, $strcasecmp.
#include "base/try.h"
#include "expr/agg/number_internal.h"
#include "expr/agg/operators_internal.h"
#include "expr/agg/result_internal.h"
#include "expr/agg/text_internal.h"

namespace quire::expr::agg {

namespace {

char ToUpperAscii(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; }
char ToLowerAscii(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

Result<Value> MapCase(const Call& call, EvalContext& eval, char (*map)(char)) {
  ASSIGN_OR_RETURN(Value value, call.Get(0, eval));
  ASSIGN_OR_RETURN(std::string_view text, CoerceToString(value, eval));
  RETURN_IF_ERROR(CheckStringSize(text.size()));
  std::string out(text);
  for (char& c : out) {
    c = map(c);
  }
  return MakeString(eval, std::move(out));
}

// A byte position of $substrBytes.
Result<int64_t> BytePosition(const Call& call, const Value& value, bool length) {
  if (!value.is_number()) {
    return Status(length ? 16035 : 16034,
                  std::string(call.name()) + ":  " + (length ? "length" : "starting index") +
                      " must be a numeric type (is BSON type " + TypeText(value) + ")");
  }
  return CoerceToLong(value);
}

// A code point position of $substrCP.
Result<int64_t> CodePointPosition(const Value& value, bool length) {
  std::string what = length ? "$substrCP: length" : "$substrCP: starting index";
  if (!value.is_number()) {
    return Status(length ? 34452 : 34450,
                  what + " must be a numeric type (is BSON type " + TypeText(value) + ")");
  }
  auto n = AsInt32Exact(value);
  if (!n) {
    return Status(length ? 34453 : 34451,
                  what + " cannot be represented as a 32-bit integral value: " + Show(value));
  }
  return *n;
}

}  // namespace

Result<Value> EvalConcat(const Call& call, EvalContext& eval) {
  std::string out;
  for (size_t i = 0; i < call.size(); ++i) {
    ASSIGN_OR_RETURN(Value value, call.Get(i, eval));
    if (value.nullish()) {
      return Value::Null();
    }
    if (!value.is_string()) {
      return Status(16702, "$concat only supports strings, not " + TypeText(value));
    }
    out += value.AsString();
    RETURN_IF_ERROR(CheckStringSize(out.size()));
  }
  return MakeString(eval, std::move(out));
}

Result<Value> EvalToUpper(const Call& call, EvalContext& eval) {
  return MapCase(call, eval, ToUpperAscii);
}

Result<Value> EvalToLower(const Call& call, EvalContext& eval) {
  return MapCase(call, eval, ToLowerAscii);
}

Result<Value> EvalStrcasecmp(const Call& call, EvalContext& eval) {
  ASSIGN_OR_RETURN(Value first, call.Get(0, eval));
  ASSIGN_OR_RETURN(Value second, call.Get(1, eval));
  ASSIGN_OR_RETURN(std::string_view a, CoerceToString(first, eval));
  ASSIGN_OR_RETURN(std::string_view b, CoerceToString(second, eval));
  size_t common = std::min(a.size(), b.size());
  for (size_t i = 0; i < common; ++i) {
    auto x = static_cast<unsigned char>(ToUpperAscii(a[i]));
    auto y = static_cast<unsigned char>(ToUpperAscii(b[i]));
    if (x != y) {
      return Value(x < y ? -1 : 1);
    }
  }
  return Value(static_cast<int32_t>((a.size() > b.size()) - (a.size() < b.size())));
}

Result<Value> EvalStrLenBytes(const Call& call, EvalContext& eval) {
  ASSIGN_OR_RETURN(Value value, call.Get(0, eval));
  if (!value.is_string()) {
    return Status(34473, "$strLenBytes requires a string argument, found: " + TypeText(value));
  }
  return Value(static_cast<int32_t>(value.AsString().size()));
}

Result<Value> EvalStrLenCp(const Call& call, EvalContext& eval) {
  ASSIGN_OR_RETURN(Value value, call.Get(0, eval));
  if (!value.is_string()) {
    return Status(34471, "$strLenCP requires a string argument, found: " + TypeText(value));
  }
  return Value(static_cast<int32_t>(CountCodePoints(value.AsString())));
}

Result<Value> EvalSubstrBytes(const Call& call, EvalContext& eval) {
  ASSIGN_OR_RETURN(Value input, call.Get(0, eval));
  ASSIGN_OR_RETURN(Value from, call.Get(1, eval));
  ASSIGN_OR_RETURN(Value count, call.Get(2, eval));
  ASSIGN_OR_RETURN(std::string_view text, CoerceToString(input, eval));
  ASSIGN_OR_RETURN(int64_t start, BytePosition(call, from, false));
  ASSIGN_OR_RETURN(int64_t length, BytePosition(call, count, true));
  if (start < 0) {
    return Status(
        50752, std::string(call.name()) +
                   ":  starting index must be non-negative (got: " + std::to_string(start) + ")");
  }
  auto first = static_cast<size_t>(start);
  if (first >= text.size()) {
    return Value(std::string_view());
  }
  size_t rest = text.size() - first;
  size_t size = length < 0 ? rest : std::min(rest, static_cast<size_t>(length));
  if (IsContinuation(text[first])) {
    return Status(28656, std::string(call.name()) +
                             ":  Invalid range, starting index is a UTF-8 continuation byte.");
  }
  if (first + size < text.size() && IsContinuation(text[first + size])) {
    return Status(28657, std::string(call.name()) +
                             ":  Invalid range, ending index is in the middle of a UTF-8 "
                             "character.");
  }
  return Value(text.substr(first, size));
}

Result<Value> EvalSubstrCp(const Call& call, EvalContext& eval) {
  ASSIGN_OR_RETURN(Value input, call.Get(0, eval));
  ASSIGN_OR_RETURN(Value from, call.Get(1, eval));
  ASSIGN_OR_RETURN(Value count, call.Get(2, eval));
  ASSIGN_OR_RETURN(std::string_view text, CoerceToString(input, eval));
  ASSIGN_OR_RETURN(int64_t start, CodePointPosition(from, false));
  ASSIGN_OR_RETURN(int64_t length, CodePointPosition(count, true));
  if (length < 0) {
    return Status(34454, "$substrCP: length must be a nonnegative integer.");
  }
  if (start < 0) {
    return Status(34455, "$substrCP: the starting index must be nonnegative integer.");
  }
  text.remove_prefix(CodePointOffset(text, static_cast<size_t>(start)));
  return Value(text.substr(0, CodePointOffset(text, static_cast<size_t>(length))));
}

}  // namespace quire::expr::agg
