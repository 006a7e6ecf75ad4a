// SPDX-License-Identifier: Apache-2.0
//
// The parts of the key space that lie in files of their own (column families of RocksDB). Merging
// files rewrites all that lies between their first and last key: what is written together but lies
// far apart is merged apart.
#pragma once

#include <rocksdb/db.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kv/kv.h"

namespace quire::kv {

// The sections of an open database. Safe for concurrent use.
class Sections {
 public:
  using Handle = rocksdb::ColumnFamilyHandle*;

  Sections() = default;
  // Owns the handles, one for each section; `begins` are the sections' first keys, the first empty.
  // REQUIRES: `db` outlives it.
  Sections(rocksdb::DB* db, std::vector<std::string> begins, std::vector<Handle> handles);
  ~Sections();
  Sections(Sections&& other) noexcept { *this = std::move(other); }
  Sections& operator=(Sections&& other) noexcept;

  Handle Of(std::string_view key) const { return handles_[IndexOf(key)]; }
  // The same with its id, which a handle tells by a virtual call.
  struct Numbered {
    Handle handle;
    uint32_t id;
  };
  Numbered NumberedOf(std::string_view key) const {
    const size_t index = IndexOf(key);
    return {handles_[index], ids_[index]};
  }
  // The column families that may hold keys of the range, in the order of their keys.
  std::span<const Handle> Touching(const Range& range) const;
  const std::vector<Handle>& all() const { return handles_; }

 private:
  size_t IndexOf(std::string_view key) const {
    size_t index = begins_.size() - 1;
    while (key < begins_[index]) {
      --index;
    }
    return index;
  }

  rocksdb::DB* db_ = nullptr;
  std::vector<std::string> begins_;
  std::vector<Handle> handles_;
  std::vector<uint32_t> ids_;
};

}  // namespace quire::kv
