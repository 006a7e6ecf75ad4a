// SPDX-License-Identifier: Apache-2.0
#include "store/collection.h"

#include <algorithm>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/json/value_text.h"
#include "bson/number.h"
#include "bson/walk/field_index.h"
#include "store/build/notes.h"
#include "store/keys/index_keys.h"
#include "store/keys/index_kind.h"
#include "store/keys/multikey.h"
#include "store/keys/wildcard.h"
#include "store/records/record_cursor.h"
#include "store/records/records.h"

namespace quire::store {

namespace {

// Remembers, in the store and in memory, that parts of the index's key have met arrays.
Status NoteMultikey(Transaction& txn, const IndexInfo& index, const IndexKeySet& keys) {
  uint64_t fresh =
      keys.multikey_steps & ~index.state->persisted_steps.load(std::memory_order_relaxed);
  std::set<std::string, std::less<>> paths;
  for (const std::string& path : keys.array_paths) {
    if (!index.state->array_paths.IsKept(path)) {
      paths.insert(path);
    }
  }
  if (fresh == 0 && paths.empty()) {
    return Status::Ok();
  }
  RETURN_IF_ERROR(PutMultikeyMarks(txn.kv(), index, fresh, paths));
  // A reader that sees the entries must know, so memory learns it before the commit.
  index.state->multikey_steps.fetch_or(fresh);
  for (const std::string& path : paths) {
    index.state->array_paths.Add(path);
  }
  txn.OnCommit([state = index.state, fresh, paths = std::move(paths)] {
    state->persisted_steps.fetch_or(fresh);
    for (const std::string& path : paths) {
      state->array_paths.Keep(path);
    }
  });
  return Status::Ok();
}

// Of an entry's key in the store, what the index makes of the document.
std::string_view KeyBytes(std::string_view store_key) { return store_key.substr(sizeof(TableId)); }

// The key of a clustered collection's document is its record id, and those have a limit.
Status CheckClusterKeySize(const bson::Value& id, size_t key_size) {
  constexpr size_t kMostBytes = size_t{8} << 20;
  constexpr size_t kBinaryOverhead =
      7;  // as MongoDB writes it: type, five bytes of length, subtype
  size_t size =
      id.type() == bson::Type::kBinary ? id.AsBinary().size() + kBinaryOverhead : key_size;
  if (size > kMostBytes) {
    return {5894900, "A record id of " + std::to_string(size) +
                         " bytes is larger than the most that is allowed, " +
                         std::to_string(kMostBytes)};
  }
  return Status::Ok();
}

// A clustered collection's key leaves out the type of its value, and without it MongoDB cannot tell
// of NaN and the infinities that they are there already.
Status CheckTellable(const bson::Value& id) {
  if (id.is_number() && bson::IsNan(id)) {
    return {50819, "The type of a duplicate NaN is not known"};
  }
  if (id.is_number() && bson::IsInfinite(id)) {
    return {50826, "The type of a duplicate infinity is not known"};
  }
  return Status::Ok();
}

// DuplicateKey when another record has the key, in an index whose keys end with record ids.
// `prefix` is the entry's key in the store up to its record id.
Status CheckNoOther(Transaction& txn, const CollectionInfo& info, const IndexInfo& index,
                    const std::string& prefix, RecordId id) {
  RETURN_IF_ERROR(txn.kv().Claim(prefix));
  ASSIGN_OR_RETURN(auto entries,
                   txn.kv().Scan({prefix, kv::PrefixEnd(prefix)}, kv::Direction::kForward));
  while (true) {
    ASSIGN_OR_RETURN(bool more, entries->Next());
    if (!more) {
      return Status::Ok();
    }
    std::string_view suffix = entries->key().substr(prefix.size());
    if (suffix.size() == 8 && ReadRecordId(suffix) != id) {
      return DuplicateKeyError(info, index, KeyBytes(prefix), entries->value());
    }
  }
}

// The entry of a key in the index of _id is looked up by that key; other indexes are scanned.
kv::Reads ReadsOf(const IndexInfo& index) {
  return index.is_id ? kv::Reads::kByKey : kv::Reads::kByRange;
}

// Whether an entry of a unique index is known to be a new one without a look at the store.
Result<bool> IsKnownNew(Transaction& txn, const IndexInfo& index, std::string_view store_key) {
  if (!index.is_id) {
    return false;
  }
  return index.state->recent_keys.IsNew(store_key, [&]() -> Result<std::string> {
    ASSIGN_OR_RETURN(auto cursor,
                     txn.kv().Scan(TableRange(index.table->id), kv::Direction::kBackward));
    ASSIGN_OR_RETURN(bool any, cursor->Next());
    return any ? std::string(cursor->key()) : std::string();
  });
}

// An entry as the store has it; kept from index to index, so that its memory is.
struct StoredEntry {
  std::string key;
  std::string value;
  std::string type_bits;
  IndexKeySet all;  // of a document that has several
};

// The fields of the document whose entries this thread puts: its form is most likely that of the
// one before.
bson::FieldIndex& StartFields(bson::View document) {
  static thread_local bson::FieldIndex fields;
  fields.Start(document);
  return fields;
}

Status PutStored(Transaction& txn, const CollectionInfo& info, const IndexInfo& index,
                 const std::string& store_key, const std::string& store_value, RecordId id) {
  if (!index.keys_have_ids) {
    RETURN_IF_ERROR(txn.kv().Claim(store_key));
  }
  if (index.build != nullptr) {
    return PutNote(txn, index, {true, store_key, store_value});
  }
  bool is_new = false;
  if (!index.keys_have_ids) {
    ASSIGN_OR_RETURN(is_new, IsKnownNew(txn, index, store_key));
    if (!is_new) {
      kv::ReadValue present;
      ASSIGN_OR_RETURN(bool found, txn.kv().Get(store_key, &present, ReadsOf(index)));
      if (found && ReadRecordId(present.view()) != id) {
        return DuplicateKeyError(info, index, KeyBytes(store_key), present.view().substr(8));
      }
      is_new = !found;
    }
  } else if (index.refuses_duplicates) {
    const std::string prefix = store_key.substr(0, store_key.size() - sizeof(RecordId));
    RETURN_IF_ERROR(CheckNoOther(txn, info, index, prefix, id));
  }
  return txn.kv().Put(store_key, store_value, {.reads = ReadsOf(index), .is_new = is_new});
}

Status PutEntry(Transaction& txn, const CollectionInfo& info, const IndexInfo& index,
                const IndexKey& key, RecordId id) {
  std::string store_key;
  std::string store_value;
  IndexEntry(index, key, id, &store_key, &store_value);
  return PutStored(txn, info, index, store_key, store_value, id);
}

Status DeleteEntry(Transaction& txn, const IndexInfo& index, const IndexKey& key, RecordId id) {
  std::string store_key;
  std::string store_value;
  IndexEntry(index, key, id, &store_key, &store_value);
  if (index.build != nullptr) {
    return PutNote(txn, index, {false, store_key, store_value});
  }
  return txn.kv().Delete(store_key, ReadsOf(index));
}

Status KeysOf(const IndexInfo& index, bson::View document, IndexKeySet* keys) {
  keys->Clear();
  ASSIGN_OR_RETURN(bool indexed, IsIndexed(index, document));
  return indexed ? IndexKeys(index.keys, document, keys) : Status::Ok();
}

// Leaves the entry's key in entry->key when there was one alone.
Status PutEntries(Transaction& txn, const CollectionInfo& info, const IndexInfo& index, RecordId id,
                  bson::View document, bson::FieldIndex& fields, StoredEntry* entry) {
  ASSIGN_OR_RETURN(const bool indexed, IsIndexed(index, document));
  if (!indexed) {
    return Status::Ok();
  }
  entry->key.clear();
  AppendTableId(index.table->id, &entry->key);
  bool nothing = false;
  if (AppendOnlyKey(index.keys, fields, &entry->key, &entry->type_bits, &nothing)) {
    if (index.keys.sparse && nothing) {
      return Status::Ok();
    }
    entry->value.clear();
    AppendRecordId(id, index.keys_have_ids ? &entry->key : &entry->value);
    entry->value.append(entry->type_bits);
    return PutStored(txn, info, index, entry->key, entry->value, id);
  }
  RETURN_IF_ERROR(IndexKeys(index.keys, document, &entry->all));
  for (const IndexKey& key : entry->all.keys) {
    RETURN_IF_ERROR(PutEntry(txn, info, index, key, id));
  }
  return NoteMultikey(txn, index, entry->all);
}

Status DeleteEntries(Transaction& txn, const IndexInfo& index, RecordId id, bson::View document,
                     IndexKeySet* keys) {
  RETURN_IF_ERROR(KeysOf(index, document, keys));
  for (const IndexKey& key : keys->keys) {
    RETURN_IF_ERROR(DeleteEntry(txn, index, key, id));
  }
  return Status::Ok();
}

// The entries of `before` that `after` has not go, those it has besides come.
Status ChangeEntries(Transaction& txn, const CollectionInfo& info, const IndexInfo& index,
                     RecordId id, bson::View before, bson::View after, IndexKeySet* old_keys,
                     IndexKeySet* new_keys) {
  RETURN_IF_ERROR(KeysOf(index, before, old_keys));
  RETURN_IF_ERROR(KeysOf(index, after, new_keys));
  auto less = [](const IndexKey& a, const IndexKey& b) { return a.bytes < b.bytes; };
  for (const IndexKey& key : old_keys->keys) {
    if (!std::binary_search(new_keys->keys.begin(), new_keys->keys.end(), key, less)) {
      RETURN_IF_ERROR(DeleteEntry(txn, index, key, id));
    }
  }
  for (const IndexKey& key : new_keys->keys) {
    auto same = std::lower_bound(old_keys->keys.begin(), old_keys->keys.end(), key, less);
    if (same == old_keys->keys.end() || *same != key) {
      RETURN_IF_ERROR(PutEntry(txn, info, index, key, id));
    }
  }
  return NoteMultikey(txn, index, *new_keys);
}

// Whether a change at path `a` can change what path `b` reads: one is a prefix of the other.
bool PathsMeet(std::string_view a, std::string_view b) {
  std::string_view shorter = a.size() < b.size() ? a : b;
  std::string_view longer = a.size() < b.size() ? b : a;
  return longer.starts_with(shorter) &&
         (longer.size() == shorter.size() || longer[shorter.size()] == '.');
}

// "a.0.b" touches an index on "a.b": array positions are not part of index paths.
std::string WithoutPositions(std::string_view path) {
  std::string out;
  while (!path.empty()) {
    size_t dot = path.find('.');
    std::string_view part = path.substr(0, dot);
    bool position = part.find_first_not_of("0123456789") == std::string_view::npos;
    if (!position || out.empty()) {
      if (!out.empty()) {
        out.push_back('.');
      }
      out.append(part);
    }
    path = dot == std::string_view::npos ? "" : path.substr(dot + 1);
  }
  return out;
}

bool MayChange(const IndexInfo& index, const Touched& touched) {
  if (touched.all || touched.paths == nullptr || index.partial_filter != nullptr) {
    return true;
  }
  const IndexKindRow* maker = index.keys.special == nullptr ? nullptr : MakerOf(index.keys);
  for (const std::string& path : *touched.paths) {
    if (maker != nullptr && maker->depends_on != nullptr &&
        maker->depends_on(*index.keys.special, path)) {
      return true;
    }
    std::string plain = WithoutPositions(path);
    if (index.keys.wildcard != nullptr &&
        (index.keys.wildcard->Meets(path) || index.keys.wildcard->Meets(plain))) {
      return true;
    }
    for (const auto& part : index.keys.parts) {
      if (PathsMeet(path, part.path) || PathsMeet(plain, part.path) ||
          PathsMeet(plain, WithoutPositions(part.path))) {
        return true;
      }
    }
  }
  return false;
}

// Removes the document and its index entries.
Status Erase(Transaction& txn, const CollectionInfo& info, RecordId id, bson::View document) {
  IndexKeySet keys;
  for (const auto& index : info.indexes) {
    RETURN_IF_ERROR(DeleteEntries(txn, *index, id, document, &keys));
  }
  for (const auto& index : info.building) {
    RETURN_IF_ERROR(DeleteEntries(txn, *index, id, document, &keys));
  }
  RETURN_IF_ERROR(txn.WriteGroups());
  RETURN_IF_ERROR(DeleteRecord(txn.kv(), *info.state, id));
  txn.Count(info.state, -1, -static_cast<int64_t>(document.size()));
  return Status::Ok();
}

}  // namespace

Status PutMultikeyMarks(kv::Txn& txn, const IndexInfo& index, uint64_t steps,
                        const std::set<std::string, std::less<>>& paths) {
  std::string mark = MetaKey('M', index.table->id);
  for (size_t step = 0; step < kMultikeyBits; ++step) {
    if ((steps >> step) & 1) {
      RETURN_IF_ERROR(txn.Put(mark + static_cast<char>(step), ""));
    }
  }
  for (const std::string& path : paths) {
    RETURN_IF_ERROR(txn.Put(mark + kArrayPathMark + path, ""));
  }
  return Status::Ok();
}

Result<bool> IsIndexed(const IndexInfo& index, bson::View document) {
  if (index.partial_filter == nullptr) {
    return true;
  }
  return index.partial_filter->Matches(document);
}

void IndexEntry(const IndexInfo& index, const IndexKey& key, RecordId id, std::string* store_key,
                std::string* store_value) {
  store_key->clear();
  store_key->reserve(key.bytes.size() + 12);
  AppendTableId(index.table->id, store_key);
  store_key->append(key.bytes);
  store_value->clear();
  AppendRecordId(id, index.keys_have_ids ? store_key : store_value);
  store_value->append(key.type_bits);
}

Status DuplicateKeyError(const CollectionInfo& info, const IndexInfo& index,
                         std::string_view key_bytes, std::string_view type_bits) {
  bson::Document value = DecodeKey(index.keys, key_bytes, type_bits);
  if (info.clustered && index.is_id) {
    RETURN_IF_ERROR(CheckTellable(value["_id"]));
  }
  bson::Builder extra;
  extra.Append("keyPattern", index.key_pattern).Append("keyValue", value);
  std::string shown = "{ ";
  for (const bson::Element& e : value.view()) {
    if (shown.size() > 2) {
      shown += ", ";
    }
    shown += std::string(e.name()) + ": " + bson::ValueText(e.value(), bson::Lengths::kShortened);
  }
  shown += " }";
  return Status(kDuplicateKey, "E11000 duplicate key error collection: " + info.ns() +
                                   " index: " + index.name + " dup key: " + shown)
      .WithExtra(extra.Finish().bytes());
}

namespace {

// The index entries of a document under a record id that no document has.
Status PutAllEntries(Transaction& txn, const CollectionInfo& info, RecordId id,
                     bson::View document) {
  StoredEntry entry;
  bson::FieldIndex& fields = StartFields(document);
  for (const auto& index : info.indexes) {
    RETURN_IF_ERROR(PutEntries(txn, info, *index, id, document, fields, &entry));
    if (info.clustered && index->is_id) {
      RETURN_IF_ERROR(CheckClusterKeySize(document["_id"], KeyBytes(entry.key).size()));
    }
  }
  for (const auto& index : info.building) {
    RETURN_IF_ERROR(PutEntries(txn, info, *index, id, document, fields, &entry));
  }
  return Status::Ok();
}

void NoteInsert(Transaction& txn, const CollectionInfo& info, RecordId id, bson::View document,
                bool grouped = false) {
  if (info.log != nullptr) {
    ChangeBuffer& changes = txn.changes(*info.log);
    grouped ? changes.InsertGrouped(info, document, id) : changes.Insert(info, document, id);
  }
  txn.Count(info.state, 1, document.size());
}

// Capped collections lose their oldest documents one at a time, clustered ones are read by _id.
bool GoesIntoGroup(const CollectionInfo& info, bson::View document, const InsertHints& hints) {
  return hints.one_of_many && !info.capped && !info.clustered &&
         static_cast<size_t>(document.size()) <= kLargestGrouped;
}

}  // namespace

Result<RecordId> Insert(Transaction& txn, const CollectionInfo& info, bson::View document,
                        const InsertHints& hints) {
  RecordId id = 0;
  const bool grouped = GoesIntoGroup(info, document, hints);
  if (grouped) {
    id = txn.groups().Append(*info.state, document.bytes());
    RETURN_IF_ERROR(PutAllEntries(txn, info, id, document));
  } else {
    txn.groups().Close();
    id = info.state->next_record_id.fetch_add(1, std::memory_order_relaxed);
    RETURN_IF_ERROR(PutAllEntries(txn, info, id, document));
    RETURN_IF_ERROR(PutRecord(txn.kv(), *info.state, id, document.bytes(), true, hints.outlives));
  }
  NoteInsert(txn, info, id, document, grouped);
  return id;
}

Status Restore(Transaction& txn, const CollectionInfo& info, RecordId id, bson::View document) {
  RecordId next = info.state->next_record_id.load();
  while (next <= id && !info.state->next_record_id.compare_exchange_weak(next, id + 1)) {
  }
  RETURN_IF_ERROR(ClaimRecord(txn, info, id));
  RETURN_IF_ERROR(PutAllEntries(txn, info, id, document));
  RETURN_IF_ERROR(PutRecord(txn.kv(), *info.state, id, document.bytes(), false, false));
  NoteInsert(txn, info, id, document);
  return Status::Ok();
}

Status ClaimRecord(Transaction& txn, const CollectionInfo& info, RecordId id) {
  return txn.kv().Claim(RecordKey(info.table->id, id));
}

Status Replace(Transaction& txn, const CollectionInfo& info, RecordId id, bson::View before,
               bson::View after, const Touched& touched) {
  IndexKeySet old_keys;
  IndexKeySet new_keys;
  auto change = [&](const IndexInfo& index) {
    return index.is_id || !MayChange(index, touched)  // _id never changes
               ? Status::Ok()
               : ChangeEntries(txn, info, index, id, before, after, &old_keys, &new_keys);
  };
  for (const auto& index : info.indexes) {
    RETURN_IF_ERROR(change(*index));
  }
  for (const auto& index : info.building) {
    RETURN_IF_ERROR(change(*index));
  }
  RETURN_IF_ERROR(PutRecord(txn.kv(), *info.state, id, after.bytes(), false, false));
  if (info.log != nullptr) {
    txn.changes(*info.log).Update(info, before, after, touched, id);
  }
  txn.Count(info.state, 0, static_cast<int64_t>(after.size()) - before.size());
  return Status::Ok();
}

Status Remove(Transaction& txn, const CollectionInfo& info, RecordId id, bson::View document) {
  if (info.log != nullptr) {
    txn.changes(*info.log).Delete(info, document, id);
  }
  return Erase(txn, info, id, document);
}

Result<std::optional<RecordId>> FindById(Transaction& txn, const CollectionInfo& info,
                                         const bson::Value& id) {
  const IndexInfo& index = *info.indexes.front();
  std::string key = TablePrefix(index.table->id);
  AppendKeyPart(index.keys, 0, id, &key);
  kv::ReadValue value;
  ASSIGN_OR_RETURN(bool found, txn.kv().Get(key, &value, ReadsOf(index)));
  if (!found) {
    return std::optional<RecordId>();
  }
  return std::optional<RecordId>(ReadRecordId(value.view()));
}

Result<bool> Fetch(Transaction& txn, const CollectionInfo& info, RecordId id,
                   kv::ReadValue* value) {
  RETURN_IF_ERROR(txn.WriteGroups());
  return GetRecord(txn.kv(), *info.state, id, value);
}

Status FetchMany(Transaction& txn, const CollectionInfo& info, const std::vector<RecordId>& ids,
                 std::vector<kv::ReadValue>* values, std::vector<bool>* found) {
  RETURN_IF_ERROR(txn.WriteGroups());
  return GetRecords(txn.kv(), *info.state, ids, values, found);
}

Status TrimCapped(Transaction& txn, const CollectionInfo& info) {
  int64_t documents = info.state->documents + txn.PendingDocuments(*info.state);
  int64_t bytes = info.state->bytes + txn.PendingBytes(*info.state);
  auto over = [&] {
    return (info.capped_max > 0 && documents > info.capped_max) || bytes > info.capped_size;
  };
  if (!over()) {
    return Status::Ok();
  }
  RETURN_IF_ERROR(txn.WriteGroups());
  ASSIGN_OR_RETURN(auto records,
                   RecordCursor::Open(txn.kv(), *info.state, kv::Direction::kForward));
  while (over() && documents > 1) {
    ASSIGN_OR_RETURN(bool more, records->Next());
    if (!more) {
      break;
    }
    const RecordId id = records->id();
    bson::Document oldest{bson::View(records->document().data())};
    RETURN_IF_ERROR(ClaimRecord(txn, info, id));
    if (info.log != nullptr) {
      txn.changes(*info.log).Trim(info, oldest, id);  // not an event
    }
    RETURN_IF_ERROR(Erase(txn, info, id, oldest));
    --documents;
    bytes -= oldest.view().size();
  }
  return Status::Ok();
}

}  // namespace quire::store
