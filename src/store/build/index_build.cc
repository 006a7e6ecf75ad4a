// SPDX-License-Identifier: Apache-2.0
#include "store/build/index_build.h"

#include <algorithm>

#include "base/error_codes.h"
#include "base/interruptible_sort.h"
#include "base/try.h"
#include "store/collection.h"
#include "store/keys/index_keys.h"
#include "store/records/record_cursor.h"

namespace quire::store {

namespace {

// Shared by the indexes of a build, but no index has runs of less than the second.
constexpr size_t kMemory = size_t{128} << 20;
constexpr size_t kLeastRun = size_t{4} << 20;

// Keys of one index, kept together in one buffer until a run is full.
class Runs {
 public:
  Runs(kv::Store& store, const CollectionInfo& info, const IndexInfo& index, size_t memory)
      : store_(store), info_(info), index_(index), memory_(memory) {}

  Status Add(RecordId id, bson::View document) {
    ASSIGN_OR_RETURN(bool indexed, IsIndexed(index_, document));
    if (!indexed) {
      return Status::Ok();
    }
    RETURN_IF_ERROR(IndexKeys(index_.keys, document, &keys_));
    index_.state->multikey_steps |= keys_.multikey_steps;
    for (const std::string& path : keys_.array_paths) {
      index_.state->array_paths.Add(path);
    }
    for (const IndexKey& key : keys_.keys) {
      key_.clear();
      value_.clear();
      IndexEntry(index_, key, id, &key_, &value_);
      entries_.push_back({Head(key_), bytes_.size(), static_cast<uint32_t>(key_.size()),
                          static_cast<uint32_t>(value_.size())});
      bytes_ += key_;
      bytes_ += value_;
    }
    return bytes_.size() + entries_.size() * sizeof(Entry) >= memory_ ? Flush() : Status::Ok();
  }

  Status Flush() {
    if (entries_.empty()) {
      return Status::Ok();
    }
    RETURN_IF_ERROR(
        InterruptibleSort(entries_.begin(), entries_.end(), [&](const Entry& a, const Entry& b) {
          return a.head != b.head ? a.head < b.head : KeyOf(a) < KeyOf(b);
        }));
    if (!index_.keys_have_ids) {
      RETURN_IF_ERROR(CheckUnique());
    }
    ASSIGN_OR_RETURN(auto loader, store_.Load());
    for (const Entry& entry : entries_) {
      RETURN_IF_ERROR(CheckCurrentOp());
      RETURN_IF_ERROR(loader->Add(KeyOf(entry), ValueOf(entry)));
    }
    RETURN_IF_ERROR(loader->Finish());
    entries_.clear();
    bytes_.clear();
    ++runs_;
    return Status::Ok();
  }

 private:
  struct Entry {
    uint64_t head;  // the first bytes of the key after its table, as a number
    size_t offset;
    uint32_t key_size;
    uint32_t value_size;
  };

  static uint64_t Head(std::string_view key) {
    uint64_t head = 0;
    for (size_t i = 0; i < 8; ++i) {
      head = head << 8 | (4 + i < key.size() ? static_cast<unsigned char>(key[4 + i]) : 0);
    }
    return head;
  }
  std::string_view KeyOf(const Entry& e) const {
    return std::string_view(bytes_).substr(e.offset, e.key_size);
  }
  std::string_view ValueOf(const Entry& e) const {
    return std::string_view(bytes_).substr(e.offset + e.key_size, e.value_size);
  }

  Status CheckUnique() {
    for (size_t i = 1; i < entries_.size(); ++i) {
      RETURN_IF_ERROR(CheckCurrentOp());
      if (KeyOf(entries_[i]) == KeyOf(entries_[i - 1])) {
        return Duplicate(entries_[i]);
      }
    }
    if (runs_ == 0) {
      return Status::Ok();
    }
    ASSIGN_OR_RETURN(auto txn, store_.Begin({.read_only = true}));
    kv::ReadValue value;
    for (const Entry& entry : entries_) {
      RETURN_IF_ERROR(CheckCurrentOp());
      ASSIGN_OR_RETURN(bool found, txn->Get(KeyOf(entry), &value));
      if (found) {
        return Duplicate(entry);
      }
    }
    return Status::Ok();
  }

  Status Duplicate(const Entry& entry) {
    return DuplicateKeyError(info_, index_, KeyOf(entry).substr(4), ValueOf(entry).substr(8));
  }

  kv::Store& store_;
  const CollectionInfo& info_;
  const IndexInfo& index_;
  size_t memory_;
  IndexKeySet keys_;
  std::string key_;
  std::string value_;
  std::string bytes_;
  std::vector<Entry> entries_;
  size_t runs_ = 0;
};

// One note, applied to the index's table.
Status Apply(kv::Txn& txn, const CollectionInfo& info, const IndexInfo& index, const Note& note) {
  const auto& [there, key, value] = note;
  if (!index.keys_have_ids) {
    kv::ReadValue present;
    ASSIGN_OR_RETURN(bool found, txn.Get(key, &present));
    bool other = found && ReadRecordId(present.view()) != ReadRecordId(value);
    if (other && there) {
      return DuplicateKeyError(info, index, key.substr(4), present.view().substr(8));
    }
    if (other) {
      return Status::Ok();
    }
  }
  return there ? txn.Put(key, value) : txn.Delete(key);
}

}  // namespace

Result<int64_t> ApplyNotes(kv::Store& store, const CollectionInfo& info, const IndexInfo& index,
                           const std::function<Status()>& check) {
  constexpr int64_t kBatch = 1000;
  int64_t applied = 0;
  // Not past what was written by now: whoever writes faster than this would keep it going for ever.
  kv::Range range = NotesSoFar(*index.build);
  while (true) {
    RETURN_IF_ERROR(check());
    ASSIGN_OR_RETURN(auto txn, store.Begin({}));
    ASSIGN_OR_RETURN(auto notes, txn->Scan(range, kv::Direction::kForward));
    int64_t count = 0;
    bool more = true;
    while (count < kBatch) {
      ASSIGN_OR_RETURN(more, notes->Next());
      if (!more) {
        break;
      }
      std::string key(notes->key());
      std::string note(notes->value());
      RETURN_IF_ERROR(Apply(*txn, info, index, ReadNote(note)));
      RETURN_IF_ERROR(txn->Delete(key));
      range.begin = key + '\0';  // past the deleted ones
      ++count;
    }
    notes.reset();
    if (count > 0) {
      RETURN_IF_ERROR(txn->Commit(kv::Durability::kProcess));
    }
    applied += count;
    if (!more) {
      return applied;
    }
  }
}

Status CheckAborted(const CollectionInfo& info,
                    const std::vector<std::shared_ptr<IndexInfo>>& indexes) {
  if (info.state->dropped) {
    return {kIndexBuildAborted, "Index build aborted: collection dropped: " + info.ns()};
  }
  for (const auto& index : indexes) {
    const char* why = index->build != nullptr ? index->build->aborted.load() : nullptr;
    if (why != nullptr) {
      return {kIndexBuildAborted, "Index build aborted: " + std::string(why) + ": " + index->name};
    }
  }
  return Status::Ok();
}

Status CheckBuild(OpContext& op, const CollectionInfo& info,
                  const std::vector<std::shared_ptr<IndexInfo>>& indexes) {
  RETURN_IF_ERROR(op.CheckInterruptNow());
  return CheckAborted(info, indexes);
}

Status LoadKeys(OpContext& op, kv::Store& store, kv::Txn& snapshot, const CollectionInfo& info,
                const std::vector<std::shared_ptr<IndexInfo>>& indexes, BuildTable* progress) {
  constexpr int64_t kReport = 1024;
  std::vector<Runs> all;
  all.reserve(indexes.size());
  for (const auto& index : indexes) {
    all.emplace_back(store, info, *index, std::max(kLeastRun, kMemory / indexes.size()));
  }
  int64_t total = info.state->documents;
  ASSIGN_OR_RETURN(auto records,
                   RecordCursor::Open(snapshot, *info.state, kv::Direction::kForward));
  for (int64_t done = 0;; ++done) {
    RETURN_IF_ERROR(op.CheckInterrupt());
    if (done % kReport == 0) {
      RETURN_IF_ERROR(CheckAborted(info, indexes));
      progress->Set(op, {"scanning collection", done, total});
    }
    ASSIGN_OR_RETURN(bool more, records->Next());
    if (!more) {
      break;
    }
    for (Runs& runs : all) {
      RETURN_IF_ERROR(runs.Add(records->id(), bson::View(records->document().data())));
    }
  }
  progress->Set(op, {"inserting keys from external sorter into index", total, total});
  for (Runs& runs : all) {
    RETURN_IF_ERROR(CheckBuild(op, info, indexes));
    RETURN_IF_ERROR(runs.Flush());
  }
  return Status::Ok();
}

}  // namespace quire::store
