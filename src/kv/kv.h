// SPDX-License-Identifier: Apache-2.0
//
// The storage seam: an ordered, transactional map from bytes to bytes. Everything above it is
// written against these classes only, and every backend passes kv/conformance_test.cc. open.h opens
// one by its address.
//
// Keys compare as unsigned bytes. A transaction reads the snapshot taken by Begin plus its own
// writes. Conflicts between transactions are decided on claimed keys only: Put and Delete check
// nothing by themselves, so a writer claims the keys that stand for the things it changes (a
// document, a unique index key) and then writes those and all that hangs on them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/op_context.h"
#include "quire/status.h"

namespace quire::kv {

// What a successful Commit promises.
enum class Durability {
  kProcess,  // survives the death of this process (kill -9)
  kDisk,     // survives power loss (synced; concurrent commits share a sync)
};

// How a key is mostly read. A backend may keep the values of keys read by key at hand: every write
// of such a key says so, no loader writes it, and a DeleteRange that takes it comes when nobody
// reads it any more. A read that does not say so reads the store itself.
enum class Reads : uint8_t { kByRange, kByKey };

// What a backend may make use of when a key is written.
struct PutHints {
  Reads reads = Reads::kByRange;
  // The key has no value, by the caller's word: it has claimed the key or made it up.
  bool is_new = false;
  // The value's bytes stay where they are until the transaction ends: they need not be copied.
  bool outlives = false;
};

// begin <= key < end; an empty end means "to the last key".
struct Range {
  std::string begin;
  std::string end;
};

// A part of the key space that a backend may keep apart from the others. Nothing else depends on
// it: transactions and ranges know no sections.
struct Section {
  // What is mostly written there.
  enum class Use {
    kAny,
    kAppended,  // large values under ascending keys, read by range
    kSmall,     // small values, the same keys over and over
  };
  std::string name;   // PERSISTED
  std::string begin;  // its first key; it ends where the next section begins
  Use use = Use::kAny;
};

enum class Direction { kForward, kBackward };

// A value read from the store. Holds the bytes in place where the backend can.
class ReadValue {
 public:
  ReadValue() = default;
  ReadValue(ReadValue&&) = default;
  ReadValue& operator=(ReadValue&&) = default;

  // Valid until this object is reused, moved or destroyed.
  std::string_view view() const& { return view_; }
  std::string_view view() && = delete;  // would dangle

  // Shows a part of what `whole` shows, which it keeps as long.
  void ShowPart(const ReadValue& whole, std::string_view part) { Set(part, whole.owner_); }

  // For backends: shows `bytes`, which `owner` (may be null) keeps alive. `kind` names the type
  // of the owner for ReusableOwner (null: not reusable).
  void Set(std::string_view bytes, std::shared_ptr<void> owner, const void* kind = nullptr) {
    view_ = bytes;
    owner_ = std::move(owner);
    kind_ = kind;
  }
  // For backends: owns a copy.
  void SetCopy(std::string_view bytes);
  // For backends: the owner of the last Set when it was of `kind` and nobody else holds it, so
  // that a value read over and over allocates once; else null. The caller calls Show next.
  void* ReusableOwner(const void* kind) const {
    return kind == kind_ && owner_.use_count() == 1 ? owner_.get() : nullptr;
  }
  void Show(std::string_view bytes) { view_ = bytes; }

 private:
  std::string_view view_;
  std::shared_ptr<void> owner_;
  const void* kind_ = nullptr;
};

// Walks a range in one direction. Not safe for concurrent use; must not outlive its Txn. Writes of
// the transaction made after the cursor was opened may or may not be seen by it.
class Cursor {
 public:
  virtual ~Cursor() = default;

  // Moves to the next entry (the first one after opening). False at the end of the range.
  virtual Result<bool> Next() = 0;
  // Moves to the first entry at or past `target` in the cursor's direction, without leaving the
  // range. False when there is none.
  virtual Result<bool> Seek(std::string_view target) = 0;

  // The current entry; valid until the next call on the cursor. REQUIRES: the last move was true.
  std::string_view key() const { return key_; }
  std::string_view value() const { return value_; }

 protected:
  std::string_view key_;
  std::string_view value_;
};

// One transaction. Destroying it without Commit rolls it back. Not safe for concurrent use, but
// may move between threads.
class Txn {
 public:
  virtual ~Txn() = default;

  // The value of `key`; false when there is none (then *value is unspecified).
  virtual Result<bool> Get(std::string_view key, ReadValue* value, Reads reads) = 0;
  Result<bool> Get(std::string_view key, ReadValue* value) {
    return Get(key, value, Reads::kByRange);
  }
  // As Get for each key; (*found)[i] tells whether keys[i] has a value. Resizes both vectors.
  virtual Status MultiGet(std::span<const std::string_view> keys, std::vector<ReadValue>* values,
                          std::vector<bool>* found, Reads reads) = 0;
  virtual Result<std::unique_ptr<Cursor>> Scan(Range range, Direction direction) = 0;

  // Takes `key` for writing until the transaction ends. WriteConflict (112) at once, without
  // waiting, when another open transaction holds it or one committed a claim of it after this
  // transaction's snapshot. A key need not exist to be claimed.
  virtual Status Claim(std::string_view key) = 0;
  // REQUIRES of all writes: the transaction is not read-only.
  virtual Status Put(std::string_view key, std::string_view value, const PutHints& hints) = 0;
  virtual Status Delete(std::string_view key, Reads reads) = 0;
  Status Put(std::string_view key, std::string_view value) { return Put(key, value, PutHints()); }
  Status Delete(std::string_view key) { return Delete(key, Reads::kByRange); }
  // Adds to the counter of this name (0 at first) without ever conflicting. Every key that starts
  // with the name belongs to the counter and is used for nothing else; a DeleteRange of them makes
  // it 0 again.
  virtual Status Add(std::string_view counter, int64_t delta) = 0;
  // The counter as of the snapshot, plus own additions.
  virtual Result<int64_t> ReadCounter(std::string_view counter) = 0;

  // Marks a point in the transaction's writes. Nests.
  virtual void SetSavepoint() = 0;
  // Undoes the writes made since the newest savepoint (claims stay) and forgets it.
  // REQUIRES: there is one.
  virtual Status RollbackToSavepoint() = 0;
  // Forgets the newest savepoint, keeping its writes. REQUIRES: there is one.
  virtual void ReleaseSavepoint() = 0;

  // Makes all writes visible at once, durable as asked. After it, ok or not, the transaction is
  // over. Errors: OutOfDiskSpace, InternalError (I/O); nothing was written then.
  virtual Status Commit(Durability durability) = 0;
};

struct TxnOptions {
  bool read_only = false;
  // Reads the snapshot of this transaction instead of one of its own. REQUIRES: both are read-only
  // ones of the same store.
  std::shared_ptr<Txn> as_of = nullptr;
  // What it reads is not read again soon: caches do not keep it.
  bool reads_once = false;
};

// Writes many entries in ascending key order past the transactions, at less cost than theirs.
class SortedLoader {
 public:
  virtual ~SortedLoader() = default;
  // REQUIRES: key is greater than every key given before.
  virtual Status Add(std::string_view key, std::string_view value) = 0;
  // Makes all entries visible at once and durable. Destroying without Finish leaves nothing.
  virtual Status Finish() = 0;
};

struct StoreStats {
  uint64_t disk_bytes = 0;    // files of the store; 0: it has none
  uint64_t memory_bytes = 0;  // caches and write buffers in use; without files, all that is stored
  uint64_t cache_bytes = 0;   // caches in use
  uint64_t cache_capacity = 0;
};

// Safe for concurrent use. Transactions and cursors end before the store does.
class Store {
 public:
  virtual ~Store() = default;

  virtual Result<std::unique_ptr<Txn>> Begin(TxnOptions options) = 0;

  // Removes every key of the range, by parts where the backend likes. Not part of any transaction
  // and durable only with the next commit or Sync; idempotent, for reclaiming what nothing refers
  // to any more.
  virtual Status DeleteRange(const Range& range) = 0;
  // REQUIRES: nobody else writes keys of the range it loads.
  virtual Result<std::unique_ptr<SortedLoader>> Load() = 0;
  // Everything committed so far survives power loss when it returns.
  virtual Status Sync() = 0;
  // The same, where the backend can without holding up writers.
  virtual Status SyncBehind() { return Sync(); }
  // Makes a consistent copy of the store's files, as of some moment between call and return, in
  // `folder`, which is new and on the same file system. It can be opened as the store's own folder.
  // IllegalOperation without files.
  virtual Status Checkpoint(const std::string& folder);
  // Rewrites the range compactly, giving back space where deleted keys still take some.
  virtual Status Compact(const Range& range) = 0;
  // Estimated bytes the range takes where it is stored.
  virtual uint64_t ApproximateSize(const Range& range) = 0;
  virtual StoreStats Stats() = 0;
  // Ok, or why the store takes no writes though the disk has room. It tries to recover by itself,
  // with every write and with every call of this; to be called every second or so.
  virtual Status Health() { return Status::Ok(); }
};

// The smallest key greater than every key with this prefix ("" when there is none).
std::string PrefixEnd(std::string_view prefix);

}  // namespace quire::kv
