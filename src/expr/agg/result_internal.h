// SPDX-License-Identifier: Apache-2.0
//
// Making result values that live in the evaluation's arena, and the small questions operators ask
// of their operands. Private to expr/agg.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "expr/agg/node_internal.h"

namespace quire::expr::agg {

inline Value MakeString(EvalContext& eval, std::string&& text) {
  return Value(eval.arena->Adopt(std::move(text)));
}

// The name of a type, for messages.
inline std::string TypeText(bson::Type type) { return std::string(bson::TypeName(type)); }
inline std::string TypeText(const Value& value) { return TypeText(value.type()); }

// Collects an array in the arena.
class ArrayResult {
 public:
  ArrayResult() : builder_(&bytes_) {}
  // A missing value is stored as null.
  void Push(const Value& value) {
    if (value.missing()) {
      builder_.Push(Value::Null());
    } else {
      builder_.Push(value);
    }
  }
  bson::Builder& builder() { return builder_; }
  size_t size() const { return builder_.size(); }
  Value Finish(EvalContext& eval) {
    builder_.Close();
    return Value::Array(bson::View(eval.arena->Adopt(std::move(bytes_)).data()));
  }

 private:
  std::string bytes_;
  bson::Builder builder_;
};

// Collects a document in the arena.
class DocumentResult {
 public:
  DocumentResult() : builder_(&bytes_) {}
  bson::Builder& builder() { return builder_; }
  Value Finish(EvalContext& eval) {
    builder_.Close();
    return Value(bson::View(eval.arena->Adopt(std::move(bytes_)).data()));
  }

 private:
  std::string bytes_;
  bson::Builder builder_;
};

// Ok while `extra` further bytes fit the evaluation's memory and nobody asked it to stop.
Status CheckBudget(const EvalContext& eval, std::string_view op, size_t extra = 0);

// The value as error texts show it.
std::string Show(const Value& value);

// MongoDB's order under the operation's collation; missing sorts before everything but MinKey.
int CompareValues(const EvalContext& eval, const Value& a, const Value& b);

// A number with an integral value inside [min, max].
std::optional<int64_t> IntegralIn(const Value& value, int64_t min, int64_t max);
inline std::optional<int64_t> AsInt32Exact(const Value& value) {
  return IntegralIn(value, INT32_MIN, INT32_MAX);
}
inline std::optional<int64_t> AsInt64Exact(const Value& value) {
  return IntegralIn(value, INT64_MIN, INT64_MAX);
}

}  // namespace quire::expr::agg
