// SPDX-License-Identifier: Apache-2.0
//
// Documents of several types in one collection: a registry checks them on the way in and fills in
// defaults on the way out.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "quire/patterns/error.h"
#include "quire/patterns/idempotency.h"
#include "quire/patterns/store.h"

namespace quire::patterns {

struct NodeType {
  // Fields every node of the type has, with their types. Whole numbers of either size are one type.
  std::map<std::string, bson::Type> required = {};
  // Values of fields that a stored node may lack, for readers; nothing writes them.
  bson::Document defaults = {};
  // What else must hold; null: nothing.
  std::function<Status(bson::View node)> validate = nullptr;
  int32_t schema_version = 1;
};

// Documents: nodes {_id, url (unique), type, schema_version, title, ...}; idempotency; jobs.
// Register everything first; then safe for concurrent use.
class Nodes {
 public:
  Nodes(const Client& client, std::string_view database, const Seams& seams = {});

  static const std::vector<IndexSpec>& Indexes();
  static const std::vector<ShardKeySpec>& ShardKeys();
  Status CreateIndexes() const { return store_.CreateIndexes(Indexes()); }
  Result<std::vector<std::string>> MissingIndexes() const {
    return store_.MissingIndexes(Indexes());
  }

  void Register(std::string_view type, NodeType definition);

  // Stores the node with its type's schema_version; its _id. Errors: UnknownType, MissingField
  // (also url and title), WrongType, what `validate` says, DuplicateKey (the url).
  Result<bson::OwnedValue> Insert(const bson::Document& node,
                                  const CallKey& key = std::nullopt) const;
  // Nodes of any types, with defaults filled in. `filter` is over common fields.
  Result<std::vector<bson::Document>> Find(const bson::Document& filter,
                                           FindOptions options = {}) const;
  // The node with defaults filled in, in memory only. Errors: NotFound, UnknownType.
  Result<bson::Document> Load(const bson::Value& id) const;

  // Forgets keys first used `options.retention` ago. skipped is 1 while another worker does.
  Result<JobReport> PurgeKeys(const PurgeOptions& options = {}) const {
    return calls_.Purge(options);
  }

  // What is wrong, a line each: nodes of unknown types, or of their type's schema_version without
  // what it requires.
  Result<std::vector<std::string>> CheckInvariants() const;

 private:
  Result<const NodeType*> TypeOf(bson::View node) const;
  Result<bson::Document> InsertChecked(const bson::Document& node, const NodeType& type,
                                       const Claim& claim) const;

  Store store_;
  Idempotency calls_;
  std::map<std::string, NodeType, std::less<>> types_;
};

}  // namespace quire::patterns
