// SPDX-License-Identifier: Apache-2.0
//
// Changing the shape of a collection's documents in the background, batch by batch.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "quire/patterns/error.h"
#include "quire/patterns/store.h"

namespace quire::patterns {

struct Migration {
  std::string collection;
  // What a document that is still to be changed looks like: {short: {$exists: false}}. A changed
  // one does not look like that any more.
  bson::Document pending;
  bson::Document apply;  // update operators
  int32_t batch = 100;
};

struct MigrationState {
  std::string state;  // pending, running, complete
  int64_t done = 0;
};

// Documents: migrations {_id: name, state, batch, last_id, done, started, finished}. Walks in the
// order of _id: needs no index on the field. Any number of workers may run one migration at once.
// Define everything first; then safe for concurrent use.
class Migrations {
 public:
  Migrations(const Client& client, std::string_view database, const Seams& seams = {});

  void Define(std::string_view name, Migration migration);

  // Changes the next batch; how many documents that were. A value written meanwhile is not
  // overwritten. After the last batch the collection is looked through once more for what old
  // writers inserted behind the walk; when there is nothing the migration is complete.
  // Error: UnknownMigration.
  Result<int64_t> Step(std::string_view name) const;
  // Error: UnknownMigration.
  Result<MigrationState> GetState(std::string_view name) const;

  // What is wrong, a line each: migrations that are complete though documents still look as before,
  // which an old writer has inserted since.
  Result<std::vector<std::string>> CheckInvariants() const;

 private:
  Result<const Migration*> Defined(std::string_view name) const;
  Result<std::vector<bson::Document>> NextIds(const Migration& migration,
                                              const bson::Value& after) const;

  Store store_;
  std::map<std::string, Migration, std::less<>> defined_;
};

}  // namespace quire::patterns
