// SPDX-License-Identifier: Apache-2.0
#include "kv/rocks/insert_hints.h"

namespace quire::kv {
namespace {

// Keys of one hint have their table in common, and those of the first table, which holds many
// kinds of entries, the kind as well (store/layout.h).
size_t SharedBytes(std::string_view key) {
  constexpr size_t kTable = 4;
  return key.size() > kTable && key.substr(0, kTable) == std::string_view("\0\0\0\0", kTable)
             ? kTable + 1
             : kTable;
}

class InsertHints final : public rocksdb::SliceTransform {
 public:
  const char* Name() const override { return "quire.insert_hints"; }
  rocksdb::Slice Transform(const rocksdb::Slice& key) const override {
    return {key.data(), SharedBytes(key.ToStringView())};
  }
  bool InDomain(const rocksdb::Slice& key) const override { return IsHinted(key.ToStringView()); }
};

}  // namespace

bool IsHinted(std::string_view key) { return key.size() > SharedBytes(key); }

std::shared_ptr<const rocksdb::SliceTransform> NewInsertHints() {
  return std::make_shared<InsertHints>();
}

}  // namespace quire::kv
