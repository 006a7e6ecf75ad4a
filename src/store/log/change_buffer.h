// SPDX-License-Identifier: Apache-2.0
//
// The changes of one storage transaction in the form the log keeps them. PERSISTED: see
// docs/architecture.md.
//
// A group is: version (1), flags (1), number of operations (4), wall time in ms (8), in version 2
// the epoch (8) and the time of the slot before (8), with flag kInTransaction the session id (16)
// and transaction number (8), then operations:
//   'C' uuid (16), length (4), namespace      the operations that follow are on this collection
//   'K' {field: ...}                          behind 'C': it is sharded by these fields
//   'i' document
//   'I' table (4), record id (8), documents (1)   inserted; they lie in a group (records/group.h)
//   of
//                                            that table, under this id and those that follow
//   'u' images, key, diff [, before] [, after]
//   'r' images, document [, before]
//   'd' images, key [, before]
//   'c' {o: <command>, o2: ..., fromMigrate}
//   'n' {o: <object>, o2: ...}
//   'S' length (4), key, length (4), value    what a session keeps (layout.h); no value: it goes
//   'v'                                       the commit that had this slot failed
// A key names a document: {_id}, in a sharded collection with the fields of its shard key before
// it. fromMigrate: true tells that change streams do not show the command: another shard's log has
// it, too. Numbers are little-endian; images is a byte of flags that tells which images follow. A
// large commit is several groups. Those of version 2 are of members of a replica set: all groups of
// one commit name the same slot before them, the one that was handed out last before theirs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "quire/bson.h"
#include "store/layout.h"
#include "store/log/undo_buffer.h"
#include "store/records/record_keys.h"

namespace quire::store {

struct CollectionInfo;
class DocumentKey;
struct Touched;

// Which leader's slot a group is, and the time of the slot handed out before it. Epoch 0: none, the
// group is of version 1.
struct SlotLink {
  uint64_t epoch = 0;
  uint64_t previous = 0;
};

class ChangeBuffer {
 public:
  enum Flag : uint8_t { kInTransaction = 1 };
  // kNoEvent: change streams do not show it.
  enum Image : uint8_t { kBefore = 1, kAfter = 2, kNoEvent = 4 };
  static constexpr char kVersion = 1;
  static constexpr char kLinkedVersion = 2;
  static constexpr size_t kHeaderSize = 14;
  static constexpr size_t kLinkSize = 16;
  static constexpr size_t kSessionIdSize = 16;

  bool empty() const { return count_ == 0; }
  // Operations noted.
  uint32_t count() const { return count_; }

  // In place of a record id: what undoes the change is noted otherwise.
  static constexpr RecordId kNoRecord = INT64_MIN;
  void Insert(const CollectionInfo& info, bson::View document, RecordId id = kNoRecord);
  // The same of a document that the transaction puts into a group: where nobody needs the log
  // without the store, the log refers to it.
  void InsertGrouped(const CollectionInfo& info, bson::View document, RecordId id);
  // An update, or a replacement, by what `touched` says.
  void Update(const CollectionInfo& info, bson::View before, bson::View after,
              const Touched& touched, RecordId id = kNoRecord);
  void Delete(const CollectionInfo& info, bson::View document, RecordId id = kNoRecord);
  // The document leaves a capped collection because there is no room for it. Told to the log of a
  // replica set alone.
  void Trim(const CollectionInfo& info, bson::View document, RecordId id);
  // The session's record `key` (of the meta table) gets this value; "": it goes.
  void Session(std::string_view key, std::string_view value);
  // `o` is the command as oplog entries show it, `o2` what goes with it (may be empty).
  void Command(std::string_view ns, std::string_view uuid, bson::View o, bson::View o2);
  void Noop(bson::View o);
  // A no-op about a collection, which change streams show as what `o2` says.
  void NoopOn(std::string_view ns, std::string_view uuid, bson::View o, bson::View o2);

  // From here on what undoes the changes is noted, too; `changes`: and they themselves. A buffer
  // notes the changes alone unless told otherwise.
  void NoteUndo(bool changes = true) {
    notes_changes_ = changes;
    notes_undo_ = true;
  }
  // Nothing is noted from here on.
  void NoteNothing() { notes_changes_ = notes_undo_ = false; }
  bool notes_undo() const { return notes_undo_; }
  UndoBuffer& undo() { return undo_; }
  // Where a replica set's log has the changes, once a commit has taken a slot for them.
  struct Place {
    uint64_t epoch = 0;
    uint64_t time = 0;
  };
  const Place& slot() const { return slot_; }
  void SetSlot(const Place& slot) { slot_ = slot; }
  // Forgets all that was noted.
  void Clear() { RollBack({}); }

  // All changes belong to this multi-document transaction and share one time.
  void SetTransaction(std::string_view lsid, int64_t txn_number);
  bool in_transaction() const { return in_transaction_; }

  // Makes room for inserts of so many bytes; `grouped`: by InsertGrouped.
  void Reserve(size_t inserts, size_t bytes, bool grouped);

  struct Mark {
    size_t bytes = 0;
    uint32_t count = 0;
    size_t groups = 0;
    size_t undo = 0;
    size_t references = 0;
    uint8_t referred = 0;  // documents of the last reference
    size_t referred_bytes = 0;
  };
  Mark mark() const {
    return {ops_.size(),        count_,
            groups_.size(),     undo_.size(),
            references_.size(), references_.empty() ? uint8_t{0} : references_.back().documents,
            referred_bytes_};
  }
  // Forgets what was noted since.
  void RollBack(const Mark& mark);

  // The group that takes the slot of a commit that failed.
  static std::string VoidGroup(int64_t wall_millis, const SlotLink& link);

  // A group of documents that the log refers to.
  struct Reference {
    TableId table;
    RecordId first;      // of the documents
    uint32_t operation;  // the first one's
    size_t at;           // in ops_
    uint8_t documents;

    int64_t group() const { return GroupOf(first); }
  };
  bool refers() const { return !references_.empty(); }
  // Calls write(reference, index of the first operation of the log's group that has it) for each.
  template <typename F>
  Status ForEachReference(F write) const {
    size_t group = 0;
    for (const Reference& reference : references_) {
      while (group + 1 < groups_.size() && groups_[group + 1].first <= reference.operation) {
        ++group;
      }
      Status status = write(reference, groups_[group].first);
      if (!status.ok()) {
        return status;
      }
    }
    return Status::Ok();
  }

  // Calls write(index of the first operation, bytes) for each group. The bytes are this object's.
  template <typename F>
  auto ForEachGroup(int64_t wall_millis, const SlotLink& link, F write)
      -> decltype(write(0, std::string_view())) {
    for (size_t i = 0; i < groups_.size(); ++i) {
      auto status = write(groups_[i].first, GroupBytes(i, wall_millis, link));
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
  // Of a document of the collection that was begun last.
  void Key(bson::View document);
  std::string_view GroupBytes(size_t i, int64_t wall_millis, const SlotLink& link);

  std::string ops_;
  std::vector<Group> groups_;
  std::vector<Reference> references_;
  size_t referred_bytes_ = 0;  // of the documents that the last group refers to
  uint32_t count_ = 0;
  std::string uuid_;  // of the collection the next operation is on; empty: not told yet
  std::shared_ptr<const DocumentKey> key_;  // of that collection; null: _id alone
  std::string lsid_;
  int64_t txn_number_ = 0;
  bool in_transaction_ = false;
  bool notes_changes_ = true;
  bool notes_undo_ = false;
  UndoBuffer undo_;
  Place slot_;
};

// While it lives, change streams are shown nothing of the commands that this thread logs: it takes
// part in a change that another shard tells of.
class NoEventScope {
 public:
  NoEventScope();
  ~NoEventScope();
  NoEventScope(const NoEventScope&) = delete;
  NoEventScope& operator=(const NoEventScope&) = delete;
};

}  // namespace quire::store
