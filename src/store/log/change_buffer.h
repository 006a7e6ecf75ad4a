// SPDX-License-Identifier: Apache-2.0
//
// The changes of one storage transaction in the form the log keeps them. PERSISTED: see
// docs/architecture.md.
//
// A group is: version (1), flags (1), number of operations (4), wall time in ms (8), with flag
// kInTransaction the session id (16) and transaction number (8), then operations:
//   'C' uuid (16), length (4), namespace      the operations that follow are on this collection
//   'i' document
//   'u' images, {_id}, diff [, before] [, after]
//   'r' images, document [, before]
//   'd' images, {_id} [, before]
//   'c' {o: <command>, o2: ...}
//   'n' {o: <object>}
// Numbers are little-endian; images is a byte of flags that tells which images follow. A large
// transaction is several groups.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "quire/bson.h"

namespace quire::store {

struct CollectionInfo;
struct Touched;

class ChangeBuffer {
 public:
  enum Flag : uint8_t { kInTransaction = 1 };
  enum Image : uint8_t { kBefore = 1, kAfter = 2 };
  static constexpr char kVersion = 1;
  static constexpr size_t kHeaderSize = 14;
  static constexpr size_t kSessionIdSize = 16;

  bool empty() const { return count_ == 0; }
  // Operations noted.
  uint32_t count() const { return count_; }

  void Insert(const CollectionInfo& info, bson::View document);
  // An update, or a replacement, by what `touched` says.
  void Update(const CollectionInfo& info, bson::View before, bson::View after,
              const Touched& touched);
  void Delete(const CollectionInfo& info, bson::View document);
  // `o` is the command as oplog entries show it, `o2` what goes with it (may be empty).
  void Command(std::string_view ns, std::string_view uuid, bson::View o, bson::View o2);
  void Noop(bson::View o);

  // All changes belong to this multi-document transaction and share one time.
  void SetTransaction(std::string_view lsid, int64_t txn_number);
  bool in_transaction() const { return in_transaction_; }

  // Makes room for inserts of so many bytes.
  void Reserve(size_t inserts, size_t bytes);

  struct Mark {
    size_t bytes = 0;
    uint32_t count = 0;
    size_t groups = 0;
  };
  Mark mark() const { return {ops_.size(), count_, groups_.size()}; }
  // Forgets what was noted since.
  void RollBack(const Mark& mark);

  // Calls write(index of the first operation, bytes) for each group. The bytes are this object's.
  template <typename F>
  auto ForEachGroup(int64_t wall_millis, F write) -> decltype(write(0, std::string_view())) {
    for (size_t i = 0; i < groups_.size(); ++i) {
      auto status = write(groups_[i].first, GroupBytes(i, wall_millis));
      if (!status.ok()) {
        return status;
      }
    }
    return {};
  }

 private:
  struct Group {
    uint32_t first;  // operation
    size_t start;    // in ops_, where its operations are; room for the header is before them
  };
  void Begin();
  void BeginOn(char kind, const CollectionInfo& info);
  void Collection(std::string_view ns, std::string_view uuid);
  void Bytes(bson::View document) { ops_.append(document.bytes()); }
  std::string_view GroupBytes(size_t i, int64_t wall_millis);

  std::string ops_;
  std::vector<Group> groups_;
  uint32_t count_ = 0;
  std::string uuid_;  // of the collection the next operation is on; empty: not told yet
  std::string lsid_;
  int64_t txn_number_ = 0;
  bool in_transaction_ = false;
};

}  // namespace quire::store
