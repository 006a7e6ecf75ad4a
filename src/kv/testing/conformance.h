// SPDX-License-Identifier: Apache-2.0
//
// The test fixture of the suite every backend passes (conformance_*_test.cc). A backend joins by a
// row in conformance_test.cc.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kv/kv.h"

namespace quire::kv {

// One way to open a store, in a place of its own.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::unique_ptr<Store> Open() = 0;
  // Whether Open after closing the store finds what was committed.
  virtual bool persistent() const { return false; }
};

struct BackendRow {
  const char* name;
  std::unique_ptr<Backend> (*make)();
};

// A new, empty folder that is removed with the object.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class Conformance : public testing::TestWithParam<BackendRow> {
 protected:
  using Entries = std::vector<std::pair<std::string, std::string>>;

  Conformance() : backend_(GetParam().make()), store_(backend_->Open()) {}

  void Reopen() {
    store_.reset();
    store_ = backend_->Open();
  }
  std::unique_ptr<Txn> Begin(bool read_only = false);
  // One committed transaction putting these entries.
  void PutAll(const std::map<std::string, std::string>& entries);
  // The committed value of a key.
  std::optional<std::string> Read(std::string_view key);
  int64_t ReadCounter(std::string_view key);

  static std::optional<std::string> Get(Txn& txn, std::string_view key);
  static Entries Collect(Txn& txn, Range range, Direction direction = Direction::kForward);
  static std::string Number(int n);  // zero-padded, sorts as the number

  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Store> store_;
};

}  // namespace quire::kv
