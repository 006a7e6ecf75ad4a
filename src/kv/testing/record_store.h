// SPDX-License-Identifier: Apache-2.0
//
// A Store that remembers which keys were read and written, for tests that assert what an operation
// did not touch.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "kv/kv.h"

namespace quire::kv {

// What one thread touches between Start and Stop. Keys are remembered by their place, as `place`
// names it: many keys may share one.
class AccessRecord {
 public:
  explicit AccessRecord(std::function<std::string(std::string_view key)> place)
      : place_(std::move(place)) {}

  // On the calling thread; forgets what was recorded before.
  void Start();
  void Stop();

  const std::set<std::string>& read() const { return read_; }
  const std::set<std::string>& written() const { return written_; }

  // For RecordStore.
  void NoteRead(std::string_view key);
  void NoteWrite(std::string_view key);

 private:
  std::function<std::string(std::string_view)> place_;
  std::set<std::string> read_;
  std::set<std::string> written_;
};

// REQUIRES: `record` outlives the store.
std::unique_ptr<Store> NewRecordStore(std::unique_ptr<Store> base, AccessRecord& record);

}  // namespace quire::kv
