// SPDX-License-Identifier: Apache-2.0
//
// Finding in strings: $indexOfBytes, $indexOfCP, $split, $replaceOne, $replaceAll, $trim.
#include "base/try.h"
#include "expr/agg/operators_internal.h"
#include "expr/agg/result_internal.h"
#include "expr/agg/text_internal.h"

namespace quire::expr::agg {

namespace {

// A start or end position; `fallback` when the operand is not given.
Result<int64_t> Position(const Call& call, size_t i, EvalContext& eval, int64_t fallback) {
  if (!call.has(i)) {
    return fallback;
  }
  ASSIGN_OR_RETURN(Value value, call.Get(i, eval));
  return CheckIndexOfPosition(call.name(), value, i == 2 ? "starting" : "ending",
                              kIndexOfTextCodes);
}

struct Range {
  std::string_view text;
  std::string_view token;
  int64_t start = 0;
  int64_t end = INT64_MAX;
};

// False when the text is null.
Result<bool> ReadRange(const Call& call, EvalContext& eval, int text_code, int token_code,
                       Range* range) {
  ASSIGN_OR_RETURN(Value text, call.Get(0, eval));
  if (text.nullish()) {
    return false;
  }
  std::string name(call.name());
  if (!text.is_string()) {
    return Status(text_code,
                  name + " requires a string as the first argument, found: " + TypeText(text));
  }
  ASSIGN_OR_RETURN(Value token, call.Get(1, eval));
  if (!token.is_string()) {
    return Status(token_code,
                  name + " requires a string as the second argument, found: " + TypeText(token));
  }
  range->text = text.AsString();
  range->token = token.AsString();
  ASSIGN_OR_RETURN(range->start, Position(call, 2, eval, 0));
  ASSIGN_OR_RETURN(range->end, Position(call, 3, eval, INT64_MAX));
  return true;
}

bool IsTrimmable(std::string_view code_point) {
  if (code_point.size() == 1) {
    char c = code_point[0];
    return c == '\0' || c == ' ' || (c >= '\t' && c <= '\r');
  }
  if (code_point == "\xC2\xA0" || code_point == "\xE1\x9A\x80") {
    return true;
  }
  return code_point.size() == 3 && code_point.starts_with("\xE2\x80") &&
         static_cast<unsigned char>(code_point[2]) >= 0x80 &&
         static_cast<unsigned char>(code_point[2]) <= 0x8A;
}

bool ContainsCodePoint(std::string_view set, std::string_view code_point) {
  for (size_t at = 0; at < set.size(); at += CodePointSize(set, at)) {
    if (set.substr(at, CodePointSize(set, at)) == code_point) {
      return true;
    }
  }
  return false;
}

bool Trims(const std::string_view* chars, std::string_view code_point) {
  return chars != nullptr ? ContainsCodePoint(*chars, code_point) : IsTrimmable(code_point);
}

std::string_view Trim(std::string_view text, const std::string_view* chars, bool left, bool right) {
  while (left && !text.empty()) {
    size_t size = CodePointSize(text, 0);
    if (!Trims(chars, text.substr(0, size))) {
      break;
    }
    text.remove_prefix(size);
  }
  while (right && !text.empty()) {
    size_t start = text.size() - 1;
    while (start > 0 && IsContinuation(text[start])) {
      --start;
    }
    if (!Trims(chars, text.substr(start))) {
      break;
    }
    text.remove_suffix(text.size() - start);
  }
  return text;
}

Result<Value> EvalTrimSides(const Call& call, EvalContext& eval, bool left, bool right) {
  ASSIGN_OR_RETURN(Value input, call.Get(0, eval));
  if (input.nullish()) {
    return Value::Null();
  }
  std::string name(call.name());
  if (!input.is_string()) {
    return Status(50699, name + " requires its input to be a string, got " + Show(input) +
                             " (of type " + TypeText(input) + ") instead.");
  }
  if (!call.has(1)) {
    return Value(Trim(input.AsString(), nullptr, left, right));
  }
  ASSIGN_OR_RETURN(Value chars, call.Get(1, eval));
  if (chars.nullish()) {
    return Value::Null();
  }
  if (!chars.is_string()) {
    return Status(50700, name + " requires 'chars' to be a string, got " + Show(chars) +
                             " (of type " + TypeText(chars) + ") instead.");
  }
  std::string_view set = chars.AsString();
  return Value(Trim(input.AsString(), &set, left, right));
}

struct Replacement {
  std::string_view input, find, replacement;
};

// False when one of the three is null.
Result<bool> ReadReplacement(const Call& call, EvalContext& eval, Replacement* out) {
  static constexpr std::string_view kNames[] = {"input", "find", "replacement"};
  static constexpr int kCodes[] = {10503904, 10503901, 10503902};
  std::string_view* targets[] = {&out->input, &out->find, &out->replacement};
  bool complete = true;
  for (size_t i = 0; i < 3; ++i) {
    ASSIGN_OR_RETURN(Value value, call.Get(i, eval));
    if (value.nullish()) {
      complete = false;
    } else if (!value.is_string()) {
      return Status(kCodes[i], std::string(call.name()) + " requires that '" +
                                   std::string(kNames[i]) + "' be a string, found: " + Show(value));
    } else {
      *targets[i] = value.AsString();
    }
  }
  return complete;
}

}  // namespace

Result<int64_t> CheckIndexOfPosition(std::string_view op, const Value& value,
                                     std::string_view which, const IndexOfCodes& codes) {
  auto n = AsInt32Exact(value);
  if (!n) {
    return Status(codes.not_integral, std::string(op) + " requires an integral " +
                                          std::string(which) + " index, found a value of type: " +
                                          TypeText(value) + ", with value: " + Show(value));
  }
  if (*n < 0) {
    return Status(codes.negative, std::string(op) + " requires a nonnegative " +
                                      std::string(which) + " index, found: " + std::to_string(*n));
  }
  return *n;
}

Result<Value> EvalIndexOfBytes(const Call& call, EvalContext& eval) {
  Range range;
  ASSIGN_OR_RETURN(bool present, ReadRange(call, eval, 40091, 40092, &range));
  if (!present) {
    return Value::Null();
  }
  auto size = static_cast<int64_t>(range.text.size());
  int64_t end = std::min(range.end, size);
  if (range.start > end) {
    return Value(-1);
  }
  size_t at = range.text.substr(0, static_cast<size_t>(end))
                  .find(range.token, static_cast<size_t>(range.start));
  return Value(at == std::string_view::npos ? -1 : static_cast<int32_t>(at));
}

Result<Value> EvalIndexOfCp(const Call& call, EvalContext& eval) {
  Range range;
  ASSIGN_OR_RETURN(bool present, ReadRange(call, eval, 40093, 40094, &range));
  if (!present) {
    return Value::Null();
  }
  auto count = static_cast<int64_t>(CountCodePoints(range.text));
  int64_t end = std::min(range.end, count);
  if (range.start > end) {
    return Value(-1);
  }
  if (range.text.empty() && range.token.empty() && range.start == 0) {
    return Value(0);
  }
  // A match has to start before the end, not to lie before it.
  size_t stop = CodePointOffset(range.text, static_cast<size_t>(end));
  size_t at = CodePointOffset(range.text, static_cast<size_t>(range.start));
  size_t found = range.text.find(range.token, at);
  if (found == std::string_view::npos || found >= stop) {
    return Value(-1);
  }
  return Value(static_cast<int32_t>(CountCodePoints(range.text.substr(0, found))));
}

Result<Value> EvalSplit(const Call& call, EvalContext& eval) {
  ASSIGN_OR_RETURN(Value input, call.Get(0, eval));
  ASSIGN_OR_RETURN(Value separator, call.Get(1, eval));
  if (input.nullish() || separator.nullish()) {
    return Value::Null();
  }
  if (!input.is_string()) {
    return Status(40085,
                  "$split requires an expression that evaluates to a string as a first "
                  "argument, found: " +
                      TypeText(input));
  }
  if (!separator.is_string()) {
    return Status(10503900,
                  "$split requires an expression that evaluates to a string as a second "
                  "argument, found: " +
                      TypeText(separator));
  }
  std::string_view text = input.AsString();
  std::string_view token = separator.AsString();
  if (token.empty()) {
    return Status(40087, "$split requires a non-empty separator");
  }
  ArrayResult result;
  while (true) {
    size_t at = text.find(token);
    result.Push(Value(text.substr(0, at)));
    if (at == std::string_view::npos) {
      return result.Finish(eval);
    }
    text.remove_prefix(at + token.size());
  }
}

Result<Value> EvalReplaceOne(const Call& call, EvalContext& eval) {
  Replacement r;
  ASSIGN_OR_RETURN(bool complete, ReadReplacement(call, eval, &r));
  if (!complete) {
    return Value::Null();
  }
  size_t at = r.input.find(r.find);
  if (at == std::string_view::npos) {
    return Value(r.input);
  }
  std::string out(r.input.substr(0, at));
  out += r.replacement;
  out += r.input.substr(at + r.find.size());
  RETURN_IF_ERROR(CheckStringSize(out.size()));
  return MakeString(eval, std::move(out));
}

Result<Value> EvalReplaceAll(const Call& call, EvalContext& eval) {
  Replacement r;
  ASSIGN_OR_RETURN(bool complete, ReadReplacement(call, eval, &r));
  if (!complete) {
    return Value::Null();
  }
  std::string out;
  size_t from = 0;
  while (true) {
    size_t at = r.input.find(r.find, from);
    if (at == std::string_view::npos) {
      break;
    }
    out += r.input.substr(from, at - from);
    out += r.replacement;
    from = at + r.find.size();
    if (r.find.empty()) {
      if (from == r.input.size()) {
        break;
      }
      size_t size = CodePointSize(r.input, from);
      out += r.input.substr(from, size);
      from += size;
    }
    RETURN_IF_ERROR(CheckStringSize(out.size()));
  }
  out += r.input.substr(from);
  RETURN_IF_ERROR(CheckStringSize(out.size()));
  return MakeString(eval, std::move(out));
}

Result<Value> EvalTrim(const Call& call, EvalContext& eval) {
  return EvalTrimSides(call, eval, true, true);
}

Result<Value> EvalLtrim(const Call& call, EvalContext& eval) {
  return EvalTrimSides(call, eval, true, false);
}

Result<Value> EvalRtrim(const Call& call, EvalContext& eval) {
  return EvalTrimSides(call, eval, false, true);
}

}  // namespace quire::expr::agg
