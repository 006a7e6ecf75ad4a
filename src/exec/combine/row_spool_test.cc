// SPDX-License-Identifier: Apache-2.0
#include "exec/combine/row_spool.h"

#include <gtest/gtest.h>

#include "base/error_codes.h"

namespace quire::exec {
namespace {

bson::Document Numbered(int n, size_t padding) {
  return bson::Builder().Append("n", n).Append("p", std::string(padding, 'x')).Finish();
}

Status Add(RowSpool* spool, int n, size_t padding) {
  bson::Document document = Numbered(n, padding);
  return spool->Add(document);
}

void ExpectNumbered(const std::shared_ptr<const RowSpool>& spool, int count) {
  OpContext op;
  Row row;
  auto reader = RowSpool::Read(spool);
  for (int n = 0; n < count; ++n) {
    auto more = reader->Next(op, &row);
    ASSERT_TRUE(more.ok() && *more) << n;
    ASSERT_EQ(row.document["n"].AsInt32(), n);
  }
  auto more = reader->Next(op, &row);
  EXPECT_TRUE(more.ok() && !*more);
}

TEST(RowSpool, IsReadSeveralTimesFromMemoryAndDisk) {
  for (size_t limit : {size_t{0}, size_t{5000}, size_t{100} << 20}) {
    SCOPED_TRACE(limit);
    auto spool = std::make_shared<RowSpool>(limit, true);
    constexpr int kRows = 600;
    for (int n = 0; n < kRows; ++n) {
      ASSERT_TRUE(Add(spool.get(), n, n % 7 == 0 ? 3000 : 10).ok());
    }
    EXPECT_EQ(spool->spilled(), limit < 10000);
    ExpectNumbered(spool, kRows);
    ExpectNumbered(spool, kRows);
  }
}

TEST(RowSpool, HoldsDocumentsLargerThanItsChunks) {
  for (size_t limit : {size_t{1}, size_t{100} << 20}) {
    auto spool = std::make_shared<RowSpool>(limit, true);
    for (int n = 0; n < 4; ++n) {
      ASSERT_TRUE(Add(spool.get(), n, size_t{1} << 20).ok());
    }
    ExpectNumbered(spool, 4);
  }
}

TEST(RowSpool, NeedsPermissionForDisk) {
  RowSpool spool(100, false);
  ASSERT_TRUE(Add(&spool, 0, 10).ok());
  EXPECT_EQ(Add(&spool, 1, 200).code(), kQueryExceededMemoryLimitNoDiskUseAllowed);
}

}  // namespace
}  // namespace quire::exec
