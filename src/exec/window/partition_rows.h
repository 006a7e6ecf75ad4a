// SPDX-License-Identifier: Apache-2.0
//
// The documents of one partition, for random access: in memory, or in a temporary file mapped into
// it when they are too many.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "quire/bson.h"
#include "quire/status.h"

namespace quire::exec {

// First Add, then Seal once, then At.
class PartitionRows {
 public:
  PartitionRows(size_t memory_limit, bool allow_disk)
      : memory_limit_(memory_limit), allow_disk_(allow_disk) {}

  // Error 5643011 when memory does not suffice: for the documents unless disk is allowed, and for
  // `bytes_beside` more per row in any case.
  Status Add(bson::View document, size_t bytes_beside);
  Status Seal();

  size_t size() const { return offsets_.size(); }
  bool spilled() const { return file_ != nullptr; }
  // Valid as long as this object.
  bson::View At(size_t i) const { return bson::View(base_ + offsets_[i]); }

 private:
  class File;
  struct FileDeleter {
    void operator()(File* file) const;
  };

  const size_t memory_limit_;
  const bool allow_disk_;
  std::vector<size_t> offsets_;
  size_t beside_ = 0;  // bytes used per row outside the documents, summed up
  std::string bytes_;  // all documents, or those not yet in the file
  std::unique_ptr<File, FileDeleter> file_;
  const char* base_ = nullptr;
};

}  // namespace quire::exec
