// SPDX-License-Identifier: Apache-2.0
#include "exec/window/counted_values.h"

#include <string>

#include "base/current_op.h"
#include "base/try.h"

namespace quire::exec {

Status CheckWindowMemory(size_t bytes) {
  const OpContext* op = CurrentOp();
  if (op == nullptr || bytes <= op->memory_limit) {
    return Status::Ok();
  }
  return {5414201, "Exceeded memory limit in $setWindowFields, used " + std::to_string(bytes) +
                       " bytes but max allowed is " + std::to_string(op->memory_limit)};
}

Status CountedValues::Add(const bson::Value& value) {
  bytes_ += values_.emplace_back(value).memory();
  charge_.Set(bytes_);
  return CheckWindowMemory(bytes_);
}

}  // namespace quire::exec
