// SPDX-License-Identifier: Apache-2.0
#include "exec/window/counted_values.h"

#include <gtest/gtest.h>

#include <string>

#include "base/current_op.h"

namespace quire::exec {
namespace {

TEST(CountedValues, HoldWhatTheOperationMay) {
  OpContext op;
  op.memory_limit = size_t{1} << 20;
  CurrentOpScope scope(&op);
  const std::string text(1 << 17, 'x');
  Status status = Status::Ok();
  {
    CountedValues values;
    while (status.ok() && values.size() < 100) {
      status = values.Add(bson::Value(text));
    }
    EXPECT_EQ(status.code(), 5414201);
    EXPECT_LE(values.size(), 8u);
    EXPECT_EQ(values[0].AsString(), text);
    EXPECT_GT(op.held.load(), 1 << 20);
  }
  EXPECT_EQ(op.held.load(), 0);
}

}  // namespace
}  // namespace quire::exec
