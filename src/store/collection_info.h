// SPDX-License-Identifier: Apache-2.0
//
// Collections and indexes as the catalog describes them. Descriptions are immutable and outlive the
// catalog snapshot they came from.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "expr/collation/collator.h"
#include "expr/context.h"
#include "expr/match/match.h"
#include "quire/bson.h"
#include "store/collection_state.h"
#include "store/definition_memory.h"
#include "store/keys/array_paths.h"
#include "store/keys/index_key.h"
#include "store/layout.h"
#include "store/recent_keys.h"

namespace quire::store {

class Catalog;
class ChangeLog;
struct IndexBuild;

using Uuid = std::array<uint8_t, 16>;
Uuid GenerateUuid();

// Owns a table's place in the store: reclaims it once dropped and no longer shown by any snapshot.
class TableGuard {
 public:
  TableGuard(Catalog* catalog, TableId table_id) : id(table_id), catalog_(catalog) {}
  ~TableGuard();
  TableGuard(const TableGuard&) = delete;
  TableGuard& operator=(const TableGuard&) = delete;

  const TableId id;
  std::atomic<bool> dropped{false};

 private:
  Catalog* catalog_;
};

// Run-time facts of an index; shared by every catalog version of it. Safe for concurrent use.
struct IndexState {
  std::atomic<uint64_t> multikey_steps{0};   // where the key has met arrays (see multikey.h)
  std::atomic<uint64_t> persisted_steps{0};  // those of them that the store knows
  ArrayPaths array_paths;                    // the same for a wildcard index
  RecentKeys recent_keys;                    // of the index on _id
  std::atomic<int64_t> accesses{0};          // for $indexStats
  int64_t since_millis = 0;
};

// One index. Immutable.
struct IndexInfo {
  bson::Document spec;  // as listIndexes shows it
  std::string name;
  bson::Document key_pattern;
  IndexKeySpec keys;
  bool unique = false;
  // Each entry's key ends with its record id. Not so in an index created unique, whose entries
  // hold it in their value.
  bool keys_have_ids = true;
  bool refuses_duplicates = false;  // unique, or about to become so (prepareUnique)
  bool sparse = false;
  bool hidden = false;
  bool is_id = false;
  std::optional<int64_t> expire_after_seconds;
  expr::Context context;  // the collation its partial filter runs under
  std::shared_ptr<const expr::match::Filter> partial_filter;
  std::shared_ptr<const expr::Collator> collator;
  std::shared_ptr<TableGuard> table;
  std::shared_ptr<IndexState> state;
  std::shared_ptr<IndexBuild> build;  // while it is being built (index_build.h), else null
  DefinitionCharge charge;            // of the spec

  bool multikey() const {
    return state->multikey_steps.load(std::memory_order_relaxed) != 0 ||
           (keys.wildcard != nullptr && !state->array_paths.empty());
  }
};

// One collection or view at one moment. Immutable.
struct CollectionInfo {
  std::string database;
  std::string name;
  Uuid uuid{};
  bson::Document options;                                 // as listCollections shows them
  std::vector<std::shared_ptr<const IndexInfo>> indexes;  // _id first; none for a view
  // Being built: writers leave notes for them, nobody reads them.
  std::vector<std::shared_ptr<const IndexInfo>> building;
  std::shared_ptr<TableGuard> table;       // null for a view
  std::shared_ptr<CollectionState> state;  // null for a view, not for the oplog
  uint64_t version = 0;                    // catalog version that published it

  // Read from options:
  bool clustered = false;  // natural order is the order of _id
  bool capped = false;
  int64_t capped_size = 0;
  int64_t capped_max = 0;
  std::string view_on;
  std::shared_ptr<const expr::Collator> collator;
  expr::Context context;  // the collation the validator runs under
  std::unique_ptr<expr::match::Filter> validator;
  bool validator_names_clock = false;            // so it is parsed anew for each operation
  bool validate_existing_only_if_valid = false;  // validationLevel: moderate
  bool validate_warn = false;                    // validationAction: warn
  bool keep_images = false;                      // changeStreamPreAndPostImages

  ChangeLog* log = nullptr;  // told of every change; null for collections the log leaves out
  bool is_oplog = false;     // local.oplog.rs: the change log seen as a view
  DefinitionCharge charge;   // of the options

  std::string ns() const { return database + "." + name; }
  bool is_view() const { return table == nullptr; }
  const IndexInfo* FindIndex(std::string_view index_name) const;
};

using CollectionPtr = std::shared_ptr<const CollectionInfo>;

}  // namespace quire::store
