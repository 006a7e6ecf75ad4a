// SPDX-License-Identifier: Apache-2.0
//
// Sorts rows by the bytes of a key: in memory, keeping only the first k when that is all that is
// wanted, or through sorted runs in temporary files when memory does not suffice.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/memory_charge.h"
#include "exec/operator.h"
#include "quire/status.h"

namespace quire::exec {

struct SorterOptions {
  uint64_t limit = 0;  // rows wanted at most; 0: all
  size_t memory_limit = size_t{100} << 20;
  bool allow_disk = false;
};

// Rows of equal keys keep their order. First Add, then Finish once, then Next.
class Sorter {
 public:
  explicit Sorter(SorterOptions options);
  ~Sorter();
  Sorter(const Sorter&) = delete;
  Sorter& operator=(const Sorter&) = delete;

  // Copies what it needs of the row. QueryExceededMemoryLimitNoDiskUseAllowed (292) when memory
  // does not suffice and disk is not allowed.
  Status Add(std::string_view key, const Row& row);
  Status Finish();
  // The next row in order, valid until the next call; false at the end.
  Result<bool> Next(Row* row);
  // After Finish: whether all rows were given.
  bool AtEnd() const;

  uint64_t spills() const { return spills_; }
  uint64_t spilled_bytes() const { return spilled_bytes_; }
  size_t peak_memory() const { return peak_memory_; }
  uint64_t sorted_bytes() const { return sorted_bytes_; }

 private:
  struct Entry {
    uint64_t prefix = 0;  // the key's first bytes, for quick comparison
    uint64_t sequence = 0;
    uint32_t key_size = 0;
    std::string bytes;  // key, then the packed row

    std::string_view key() const { return {bytes.data(), key_size}; }
    bool operator<(const Entry& other) const;
    size_t memory() const { return sizeof *this + bytes.capacity(); }
  };
  class Run;

  static Entry Pack(std::string_view key, const Row& row, uint64_t sequence);
  static void Unpack(const Entry& entry, Row* row);
  void AddTop(Entry entry);
  Status Spill();

  SorterOptions options_;
  std::vector<Entry> entries_;  // a heap with the largest on top while limit applies
  std::vector<std::unique_ptr<Run>> runs_;
  uint64_t sequence_ = 0;
  size_t memory_ = 0;
  MemoryCharge charge_;
  size_t peak_memory_ = 0;
  uint64_t spills_ = 0;
  uint64_t spilled_bytes_ = 0;
  uint64_t sorted_bytes_ = 0;
  uint64_t given_ = 0;
  size_t next_ = 0;
  Entry current_;
};

}  // namespace quire::exec
