// SPDX-License-Identifier: Apache-2.0
#include "kv/rocks/batch_builder.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace quire::kv {
namespace {

// What RocksDB reads in a batch.
class Reader final : public rocksdb::WriteBatch::Handler {
 public:
  rocksdb::Status PutCF(uint32_t section, const rocksdb::Slice& key,
                        const rocksdb::Slice& value) override {
    seen.push_back("put " + std::to_string(section) + " " + key.ToString() + "=" +
                   value.ToString());
    return rocksdb::Status::OK();
  }
  rocksdb::Status DeleteCF(uint32_t section, const rocksdb::Slice& key) override {
    seen.push_back("delete " + std::to_string(section) + " " + key.ToString());
    return rocksdb::Status::OK();
  }

  std::vector<std::string> seen;
};

Sections::Numbered Id(uint32_t id) { return {.handle = nullptr, .id = id}; }

TEST(BatchBuilder, MakesWhatRocksDbReads) {
  const std::string long_key(200, 'k');
  const std::string long_value(100000, 'v');
  BatchBuilder builder(false, 5, 10);
  builder.Put(Id(0), "a", "1");
  builder.Put(Id(3), "", "");
  builder.Delete(Id(0), "b");
  builder.Delete(Id(300), std::string("c\0d", 3));
  builder.Put(Id(1), long_key, long_value);
  rocksdb::WriteBatch batch = builder.Finish();
  Reader reader;
  ASSERT_TRUE(batch.Iterate(&reader).ok());
  EXPECT_EQ(batch.Count(), 5U);
  EXPECT_EQ(reader.seen, (std::vector<std::string>{"put 0 a=1", "put 3 =", "delete 0 b",
                                                   std::string("delete 300 c\0d", 14),
                                                   "put 1 " + long_key + "=" + long_value}));
}

TEST(BatchBuilder, IsTheSameAsRocksDbsOwn) {
  rocksdb::WriteBatch own;
  ASSERT_TRUE(own.Put("key", "value").ok());
  ASSERT_TRUE(own.Delete("other").ok());
  BatchBuilder builder(false, 2, 16);
  builder.Put(Id(0), "key", "value");
  builder.Delete(Id(0), "other");
  EXPECT_EQ(builder.Finish().Data(), own.Data());
}

TEST(BatchBuilder, APlainOneIsRocksDbs) {
  BatchBuilder plain(true, 2, 16);
  BatchBuilder own(false, 2, 16);
  for (BatchBuilder* builder : {&plain, &own}) {
    builder->Put(Id(0), "key", "value");
    builder->Delete(Id(0), "other");
  }
  EXPECT_EQ(plain.Finish().Data(), own.Finish().Data());
}

TEST(BatchBuilder, MayBeEmpty) { EXPECT_EQ(BatchBuilder(false, 0, 0).Finish().Count(), 0U); }

}  // namespace
}  // namespace quire::kv
