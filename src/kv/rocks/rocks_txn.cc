// SPDX-License-Identifier: Apache-2.0
#include "kv/rocks/rocks_txn.h"

#include <rocksdb/snapshot.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <cassert>
#include <utility>
#include <vector>

#include "base/try.h"
#include "kv/counter.h"
#include "kv/merged_cursor.h"
#include "kv/read_only_txn.h"
#include "kv/rocks/batch_builder.h"
#include "kv/rocks/counter_stripes.h"
#include "kv/rocks/rocks_cursor.h"
#include "kv/rocks/rocks_status.h"
#include "kv/rocks/value_cache.h"
#include "kv/write_set.h"
#include "kv/writing_txn.h"

namespace quire::kv {
namespace {

rocksdb::Slice ToSlice(std::string_view bytes) { return {bytes.data(), bytes.size()}; }

// The kind of ReadValue owners that are one PinnableSlice.
constexpr char kPinKind = 0;

// An empty PinnableSlice owned by `value`: the one of its last read when it can be used again.
rocksdb::PinnableSlice* PinOf(ReadValue* value) {
  if (void* kept = value->ReusableOwner(&kPinKind)) {
    auto* pin = static_cast<rocksdb::PinnableSlice*>(kept);
    pin->Reset();
    return pin;
  }
  auto pin = std::make_shared<rocksdb::PinnableSlice>();
  rocksdb::PinnableSlice* raw = pin.get();
  value->Set({}, std::move(pin), &kPinKind);
  return raw;
}

// Reads of the database as it was when the object was made, or when another was.
class View {
 public:
  // `reads_once`: caches do not keep what it reads.
  View(RocksDatabase& database, bool reads_once)
      : View(database, reads_once, database.db()->GetSnapshot()) {
    owned_ = true;
  }
  // REQUIRES: `other` outlives it.
  View(RocksDatabase& database, bool reads_once, const View& other)
      : View(database, reads_once, other.read_.snapshot) {}
  ~View() {
    if (owned_) {
      db_->ReleaseSnapshot(read_.snapshot);
    }
  }
  View(const View&) = delete;
  View& operator=(const View&) = delete;

  Result<bool> Get(std::string_view key, ReadValue* value, Reads reads) const {
    const bool by_key = reads == Reads::kByKey;
    if (by_key && cache_.Get(key, sequence(), value)) {
      return true;
    }
    rocksdb::PinnableSlice* pin = PinOf(value);
    rocksdb::Status status = db_->Get(read_, database_.sections().Of(key), ToSlice(key), pin);
    if (status.ok()) {
      value->Show(pin->ToStringView());
      if (by_key && read_.fill_cache) {
        cache_.Offer(key, sequence(), value->view());
      }
      return true;
    }
    if (status.IsNotFound()) {
      return false;
    }
    return FromRocks(status);
  }

  Status MultiGet(std::span<const std::string_view> keys, std::vector<ReadValue>* values,
                  std::vector<bool>* found, Reads reads) const {
    values->resize(keys.size());
    found->assign(keys.size(), false);
    std::vector<rocksdb::Slice> missing;
    std::vector<Sections::Handle> sections;
    std::vector<size_t> places;
    missing.reserve(keys.size());
    sections.reserve(keys.size());
    places.reserve(keys.size());
    for (size_t i = 0; i < keys.size(); ++i) {
      if (reads == Reads::kByKey && cache_.Get(keys[i], sequence(), &(*values)[i])) {
        (*found)[i] = true;
      } else {
        missing.push_back(ToSlice(keys[i]));
        sections.push_back(database_.sections().Of(keys[i]));
        places.push_back(i);
      }
    }
    if (missing.empty()) {
      return Status::Ok();
    }
    std::shared_ptr<rocksdb::PinnableSlice[]> pins(new rocksdb::PinnableSlice[missing.size()]);
    std::vector<rocksdb::Status> statuses(missing.size());
    db_->MultiGet(read_, missing.size(), sections.data(), missing.data(), pins.get(),
                  statuses.data());
    for (size_t i = 0; i < missing.size(); ++i) {
      if (statuses[i].ok()) {
        (*values)[places[i]].Set(pins[i].ToStringView(), pins);
        (*found)[places[i]] = true;
        if (reads == Reads::kByKey && read_.fill_cache) {
          cache_.Offer(keys[places[i]], sequence(), (*values)[places[i]].view());
        }
      } else if (!statuses[i].IsNotFound()) {
        return FromRocks(statuses[i]);
      }
    }
    return Status::Ok();
  }

  RocksDatabase& database() const { return database_; }
  const rocksdb::ReadOptions& read() const { return read_; }

 private:
  View(RocksDatabase& database, bool reads_once, const rocksdb::Snapshot* snapshot)
      : database_(database), db_(database.db()), cache_(database.values()) {
    read_.snapshot = snapshot;
    read_.fill_cache = !reads_once;
  }
  uint64_t sequence() const { return read_.snapshot->GetSequenceNumber(); }

  RocksDatabase& database_;
  rocksdb::DB* const db_;
  ValueCache& cache_;
  rocksdb::ReadOptions read_;
  bool owned_ = false;  // the snapshot
};

// The value of a counter: the sum of what its stripes hold.
Result<int64_t> SumOfStripes(const View& view, std::string_view counter) {
  RocksCursor stripes(view.database(), view.read(), {std::string(counter), PrefixEnd(counter)},
                      Direction::kForward);
  int64_t sum = 0;
  while (true) {
    ASSIGN_OR_RETURN(bool more, stripes.Next());
    if (!more) {
      return sum;
    }
    ASSIGN_OR_RETURN(int64_t part, DecodeStripe(stripes.value()));
    sum = AddCounters(sum, part);
  }
}

class ReadTxn final : public ReadOnlyTxn {
 public:
  ReadTxn(RocksDatabase& database, bool reads_once) : view_(database, reads_once) {}
  ReadTxn(RocksDatabase& database, bool reads_once, std::shared_ptr<Txn> as_of)
      : as_of_(std::move(as_of)),
        view_(database, reads_once, static_cast<ReadTxn&>(*as_of_).view_) {}

  Result<bool> Get(std::string_view key, ReadValue* value, Reads reads) override {
    return view_.Get(key, value, reads);
  }
  Status MultiGet(std::span<const std::string_view> keys, std::vector<ReadValue>* values,
                  std::vector<bool>* found, Reads reads) override {
    return view_.MultiGet(keys, values, found, reads);
  }
  Result<std::unique_ptr<Cursor>> Scan(Range range, Direction direction) override {
    return std::unique_ptr<Cursor>(
        new RocksCursor(view_.database(), view_.read(), std::move(range), direction));
  }
  Result<int64_t> ReadCounter(std::string_view counter) override {
    return SumOfStripes(view_, counter);
  }

 private:
  std::shared_ptr<Txn> as_of_;  // whose snapshot it is; null: its own
  View view_;
};

class WriteTxn final : public WritingTxn {
 public:
  WriteTxn(RocksDatabase& database, bool reads_once)
      : WritingTxn(database.claims()), database_(database), view_(database, reads_once) {}

  Result<bool> Get(std::string_view key, ReadValue* value, Reads reads) override;
  Status MultiGet(std::span<const std::string_view> keys, std::vector<ReadValue>* values,
                  std::vector<bool>* found, Reads reads) override;
  Result<std::unique_ptr<Cursor>> Scan(Range range, Direction direction) override;
  Result<int64_t> ReadCounter(std::string_view counter) override;
  Status Commit(Durability durability) override;

 private:
  void Fill(BatchBuilder* batch) const;
  // Whether the transaction deletes and writes next to nothing.
  Purpose purpose() const;
  // Takes the keys read by key out of the cache's sight, with what they will be.
  void Hide(ValueCache::Changes* changes) const;
  Status Write(BatchBuilder& batch, Durability durability);
  // Adds the new values of a stripe's counters to the batch and writes it.
  Status WriteWithCounters(BatchBuilder& batch, Durability durability);

  RocksDatabase& database_;
  View view_;
};

Result<bool> WriteTxn::Get(std::string_view key, ReadValue* value, Reads reads) {
  const WriteSet::Write* write = writes_.Find(key);
  return write == nullptr ? view_.Get(key, value, reads) : Show(*write, value);
}

Status WriteTxn::MultiGet(std::span<const std::string_view> keys, std::vector<ReadValue>* values,
                          std::vector<bool>* found, Reads reads) {
  RETURN_IF_ERROR(view_.MultiGet(keys, values, found, reads));
  ShowOver(keys, values, found);
  return Status::Ok();
}

Result<int64_t> WriteTxn::ReadCounter(std::string_view counter) {
  ASSIGN_OR_RETURN(int64_t sum, SumOfStripes(view_, counter));
  return AddCounters(sum, writes_.Added(counter));
}

Result<std::unique_ptr<Cursor>> WriteTxn::Scan(Range range, Direction direction) {
  std::unique_ptr<Cursor> stored(new RocksCursor(view_.database(), view_.read(), range, direction));
  if (writes_.empty()) {
    return stored;
  }
  return std::unique_ptr<Cursor>(
      new MergedCursor(std::move(stored), std::move(range), direction, writes_));
}

void WriteTxn::Fill(BatchBuilder* batch) const {
  for (const WriteSet::Write& write : writes_.writes()) {
    if (!writes_.IsLast(write)) {
      continue;
    }
    const Sections::Numbered section = database_.sections().NumberedOf(write.key);
    if (write.kind == WriteSet::Kind::kPut) {
      batch->Put(section, write.key, write.value);
    } else {
      batch->Delete(section, write.key);
    }
  }
}

void WriteTxn::Hide(ValueCache::Changes* changes) const {
  // Of a load nobody knows what will be read; it would push out what is.
  constexpr size_t kLoad = 32;
  const bool keeps_new = writes_.writes().size() < kLoad;
  for (const WriteSet::Write& write : writes_.writes()) {
    if (write.reads != Reads::kByKey) {
      assert(!database_.values().Holds(write.key));
    } else if (write.kind == WriteSet::Kind::kDelete) {
      changes->Delete(write.key);
    } else if (write.is_new) {
      if (keeps_new) {
        changes->PutNew(write.key, write.value);
      }
    } else {
      changes->Put(write.key, write.value);
    }
  }
  changes->Hide();
}

Purpose WriteTxn::purpose() const {
  constexpr size_t kNextToNothing = 16 << 10;
  if (writes_.bytes() > kNextToNothing) {
    return Purpose::kKeep;
  }
  const std::span<const WriteSet::Write> writes = writes_.writes();
  const bool deletes = std::any_of(writes.begin(), writes.end(), [](const WriteSet::Write& write) {
    return write.kind == WriteSet::Kind::kDelete;
  });
  return deletes ? Purpose::kFree : Purpose::kKeep;
}

Status WriteTxn::Write(BatchBuilder& batch, Durability durability) {
  rocksdb::WriteBatch finished = batch.Finish();
  return database_.Write(&finished, durability, purpose());
}

Status WriteTxn::WriteWithCounters(BatchBuilder& batch, Durability durability) {
  CounterStripes::Lease stripe(database_.counters());
  RETURN_IF_ERROR(stripe.Apply(database_.db(), database_.sections(), writes_.additions(), &batch));
  Status written = Write(batch, durability);
  stripe.Finish(written.ok());
  return written;
}

Status WriteTxn::Commit(Durability durability) {
  if (!writes_.empty() || !writes_.additions().empty()) {
    constexpr size_t kPerCounter = 48;
    const size_t counters = writes_.additions().size();
    BatchBuilder batch(database_.plain(), writes_.writes().size(),
                       writes_.bytes() + kPerCounter * counters);
    Fill(&batch);
    ValueCache::Changes changes(database_.values(), database_.db()->GetLatestSequenceNumber());
    Hide(&changes);
    Status written =
        counters == 0 ? Write(batch, durability) : WriteWithCounters(batch, durability);
    changes.Finish(written.ok(), database_.db()->GetLatestSequenceNumber());
    RETURN_IF_ERROR(written);
  }
  claims_.Commit();
  return Status::Ok();
}

}  // namespace

std::unique_ptr<Txn> NewTxn(RocksDatabase& database, TxnOptions options) {
  if (!options.read_only) {
    return std::make_unique<WriteTxn>(database, options.reads_once);
  }
  if (options.as_of == nullptr) {
    return std::make_unique<ReadTxn>(database, options.reads_once);
  }
  return std::make_unique<ReadTxn>(database, options.reads_once, std::move(options.as_of));
}

}  // namespace quire::kv
