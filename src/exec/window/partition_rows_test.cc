// SPDX-License-Identifier: Apache-2.0
#include "exec/window/partition_rows.h"

#include <gtest/gtest.h>

namespace quire::exec {
namespace {

bson::Document Numbered(int32_t n) {
  bson::Builder out;
  out.Append("n", n);
  out.Append("filling", std::string(100, 'x'));
  return out.Finish();
}

Status AddNumbered(PartitionRows& rows, int32_t n, size_t bytes_beside) {
  bson::Document document = Numbered(n);
  return rows.Add(document, bytes_beside);
}

void CheckAll(const PartitionRows& rows) {
  for (size_t i = rows.size(); i-- > 0;) {
    EXPECT_EQ(rows.At(i)["n"].AsInt32(), static_cast<int32_t>(i));
  }
}

TEST(PartitionRows, InMemory) {
  PartitionRows rows(1 << 20, false);
  for (int32_t i = 0; i < 100; ++i) {
    ASSERT_TRUE(AddNumbered(rows, i, 8).ok());
  }
  ASSERT_TRUE(rows.Seal().ok());
  EXPECT_FALSE(rows.spilled());
  EXPECT_EQ(rows.size(), 100u);
  CheckAll(rows);
}

TEST(PartitionRows, InAFileWhenThereAreMany) {
  PartitionRows rows(100'000, true);
  for (int32_t i = 0; i < 4000; ++i) {
    ASSERT_TRUE(AddNumbered(rows, i, 8).ok());
  }
  ASSERT_TRUE(rows.Seal().ok());
  EXPECT_TRUE(rows.spilled());
  CheckAll(rows);
}

TEST(PartitionRows, Limits) {
  PartitionRows documents(1000, false);
  Status status = Status::Ok();
  for (int32_t i = 0; i < 20 && status.ok(); ++i) {
    status = AddNumbered(documents, i, 0);
  }
  EXPECT_EQ(status.code(), 5643011);

  PartitionRows beside(1000, true);
  status = Status::Ok();
  for (int32_t i = 0; i < 20 && status.ok(); ++i) {
    status = AddNumbered(beside, i, 100);
  }
  EXPECT_EQ(status.code(), 5643011);
}

}  // namespace
}  // namespace quire::exec
