// SPDX-License-Identifier: Apache-2.0
//
// Documents kept to be read several times: in memory, and in a temporary file when there are more.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "base/memory_charge.h"
#include "exec/operator.h"

namespace quire::exec {

// First Add, then Read any number of times.
class RowSpool {
 public:
  // Without disk, more than `memory_limit` bytes are QueryExceededMemoryLimitNoDiskUseAllowed.
  RowSpool(size_t memory_limit, bool allow_disk)
      : memory_limit_(memory_limit), allow_disk_(allow_disk) {}

  Status Add(bson::View document);
  // All documents in order, from the first on.
  static std::unique_ptr<Operator> Read(std::shared_ptr<const RowSpool> spool);
  bool spilled() const { return file_ != nullptr; }

 private:
  class Reader;
  struct FileCloser {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  const size_t memory_limit_;
  const bool allow_disk_;
  std::vector<std::string> chunks_;  // documents end to end
  size_t memory_ = 0;
  MemoryCharge charge_;
  std::unique_ptr<std::FILE, FileCloser> file_;
  int64_t file_size_ = 0;
};

}  // namespace quire::exec
