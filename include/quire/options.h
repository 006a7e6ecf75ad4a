// SPDX-License-Identifier: Apache-2.0
//
// What the calls of the library take besides their operands. Every struct is usable as it is;
// designated initialisers name what differs:
//
//   auto oldest = people.FindOne(
//       {}, {.projection = Doc("_id", 0, "name", 1), .sort = Doc("age", -1)});
//   std::cout << quire::bson::ToJson(**oldest) << "\n";  // {"name":"Edsger"}
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "quire/bson.h"

namespace quire {

class Session;

struct OpenOptions {
  // The folder that holds the data, made when it is missing (its parent must exist). Empty: the
  // data lives in memory and is gone when the last handle is.
  std::string path;
  // Memory for caches and write buffers together. 0: a share of the machine's memory.
  uint64_t cache_bytes = 0;
  // Bound of the change log that Watch reads. 0: 1 GB in a folder, 64 MB in memory.
  uint64_t change_log_bytes = 0;
};

// When a write is acknowledged. What was acknowledged survives a kill of the process in any case.
enum class Durability {
  kProcess,  // once the operating system has it; a power failure may lose the last writes
  kDisk,     // once the log is synced to disk
};

// In every struct below:
// - `session`, when not null, is the session (and its transaction) the call belongs to. It is
//   borrowed for the call, and by a Cursor the call returns until that ends.
// - an empty document, and a missing value, stand for "not given".
// - `extra` holds further fields of MongoDB's command (collation, let, comment, maxTimeMS,
//   readConcern...), sent as they are. It does not repeat a field that a member sets.

struct FindOptions {
  bson::Document projection{};
  bson::Document sort{};
  bson::OwnedValue hint{};  // an index's name or key pattern
  int64_t skip = 0;
  int64_t limit = 0;       // 0: no limit
  int32_t batch_size = 0;  // documents fetched at a time; 0: as many as MongoDB would
  Session* session = nullptr;
  bson::Document extra{};
};

struct DistinctOptions {
  Session* session = nullptr;
  bson::Document extra{};
};

struct AggregateOptions {
  bool allow_disk_use = false;
  bson::OwnedValue hint{};
  int32_t batch_size = 0;
  Session* session = nullptr;
  bson::Document extra{};
};

// What a change stream shows and where it begins (at most one of the last three; none: now).
struct WatchOptions {
  std::string full_document{};      // of updates: "updateLookup", "whenAvailable", "required"
  std::string document_before{};    // "whenAvailable", "required"
  bool expanded_events = false;     // also created collections, indexes...
  bson::Document resume_after{};    // a token: Cursor::resume_token()
  bson::Document start_after{};     // the same, also that of an invalidate event
  bson::Timestamp start_at_time{};  // an operationTime
  int32_t batch_size = 0;
  bson::Document extra{};
};

struct CountOptions {
  int64_t skip = 0;
  int64_t limit = 0;
  bson::OwnedValue hint{};
  Session* session = nullptr;
  bson::Document extra{};
};

// What one message carries of the documents of an insert: more are sent in several messages.
inline constexpr size_t kMaxInsertDocuments = 100'000;
inline constexpr size_t kMaxInsertBytes = 48'000'000 - (16 << 10);

struct InsertOptions {
  bool ordered = true;  // stop at the first document that fails
  Durability durability = Durability::kProcess;
  Session* session = nullptr;
  bson::Document extra{};
};

struct UpdateOptions {
  bool upsert = false;                          // insert a document when none matches
  std::vector<bson::Document> array_filters{};  // which elements $[name] means
  bson::OwnedValue hint{};
  Durability durability = Durability::kProcess;
  Session* session = nullptr;
  bson::Document extra{};
};

struct DeleteOptions {
  bson::OwnedValue hint{};
  Durability durability = Durability::kProcess;
  Session* session = nullptr;
  bson::Document extra{};
};

struct FindAndModifyOptions {
  bson::Document projection{};
  bson::Document sort{};  // which of several matches is taken: the first
  bool upsert = false;
  bool return_new = false;  // the document after the change, not before
  std::vector<bson::Document> array_filters{};
  bson::OwnedValue hint{};
  Durability durability = Durability::kProcess;
  Session* session = nullptr;
  bson::Document extra{};
};

// An index: the fields of MongoDB's index specification, `extra` for the others (collation,
// weights, wildcardProjection...).
struct IndexOptions {
  std::string name{};  // empty: made of the keys, "a_1_b_-1"
  bool unique = false;
  bool sparse = false;
  bool hidden = false;
  std::optional<std::chrono::seconds> expire_after{};  // the age at which documents are removed
  bson::Document partial_filter{};                     // which documents it holds
  bson::Document extra{};
};

// A collection: the fields of MongoDB's create command, `extra` for the others (viewOn, timeseries,
// collation, changeStreamPreAndPostImages...).
struct CollectionOptions {
  bool capped = false;        // keeps the last `size` bytes in the order of insertion
  int64_t size = 0;           // of a capped collection
  int64_t max_documents = 0;  // of a capped collection; 0: no bound but the size
  bson::Document validator{};
  bson::Document extra{};
};

struct CommandOptions {
  Session* session = nullptr;
};

// What a transaction reads and when its commit is acknowledged, as MongoDB has them: {level:
// "snapshot"}, {w: "majority"}.
struct TransactionOptions {
  bson::Document read_concern{};
  bson::Document write_concern{};
};

struct InsertResult {
  int64_t inserted = 0;
};

struct UpdateResult {
  int64_t matched = 0;           // without an upserted document
  int64_t modified = 0;          // of those, how many changed
  bson::OwnedValue upserted_id;  // missing when nothing was inserted
};

}  // namespace quire
