// SPDX-License-Identifier: Apache-2.0
#include "kv/rocks/insert_hints.h"

namespace quire::kv {
namespace {

// Keys of one hint have their first bytes in common.
constexpr size_t kShared = 4;

class InsertHints final : public rocksdb::SliceTransform {
 public:
  const char* Name() const override { return "quire.insert_hints"; }
  rocksdb::Slice Transform(const rocksdb::Slice& key) const override {
    return {key.data(), kShared};
  }
  bool InDomain(const rocksdb::Slice& key) const override { return IsHinted(key.ToStringView()); }
};

}  // namespace

bool IsHinted(std::string_view key) { return key.size() > kShared; }

std::shared_ptr<const rocksdb::SliceTransform> NewInsertHints() {
  return std::make_shared<InsertHints>();
}

}  // namespace quire::kv
