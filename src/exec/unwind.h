// SPDX-License-Identifier: Apache-2.0
//
// $unwind: one row per element of an array.
#pragma once

#include <optional>
#include <string>

#include "base/memory_charge.h"
#include "exec/nested_field.h"
#include "exec/unary.h"

namespace quire::exec {

struct UnwindOptions {
  FieldPath path;
  FieldPath index_path;   // empty: none
  bool preserve = false;  // rows without elements are kept
};

class Unwind final : public Unary {
 public:
  Unwind(std::unique_ptr<Operator> input, UnwindOptions options)
      : Unary(std::move(input)), options_(std::move(options)) {}

 protected:
  Result<bool> Produce(OpContext& op, Row* row) override;

 private:
  // Shows current_ with `element` at the path (kept when `replace` is false) and the index.
  void Show(const bson::Value& element, bool replace, const bson::Value& index, Row* row);

  UnwindOptions options_;
  Row current_;
  bson::View::Iterator next_;
  bson::View::Iterator end_;
  int64_t index_ = 0;
  std::string document_;
  std::string indexed_;
  MemoryCharge charge_;
};

}  // namespace quire::exec
