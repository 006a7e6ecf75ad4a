// SPDX-License-Identifier: Apache-2.0
//
// A write batch of RocksDB put together in the form in which RocksDB stores it in its log: an entry
// costs a quarter of what WriteBatch::Put takes. Or by WriteBatch itself, where its form is not
// known to be this one (rocks_version.h).
//
//   batch:  sequence (8 bytes, set by RocksDB), entries (4 bytes, little-endian), the entries
//   entry:  tag, section (varint, not for the default one), key, value (a put's)
//   key, value:  size (varint), bytes
#pragma once

#include <rocksdb/write_batch.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "kv/rocks/sections.h"

namespace quire::kv {

// Not safe for concurrent use.
class BatchBuilder {
 public:
  // `entries` and `bytes` (of keys and values) are what it is going to hold at most. `plain`: by
  // WriteBatch.
  BatchBuilder(bool plain, size_t entries, size_t bytes);

  void Put(Sections::Numbered section, std::string_view key, std::string_view value);
  void Delete(Sections::Numbered section, std::string_view key);
  // The batch; nothing may be added any more.
  rocksdb::WriteBatch Finish();

 private:
  void Begin(char tag, char tag_in_section, uint32_t section, std::string_view key);

  const bool plain_;
  rocksdb::WriteBatch batch_;  // when plain, else:
  std::string bytes_;
  uint32_t count_ = 0;
};

}  // namespace quire::kv
