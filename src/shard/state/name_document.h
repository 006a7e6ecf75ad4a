// SPDX-License-Identifier: Apache-2.0
//
// What a shard's log keeps of a name, as a document of engine::Sharding::kNamespace:
//   {_id: "c:db.coll" or "d:db", number, attempt, phase, blocked, version: {e, t, v}, last: {e, t,
//   v},
//    key: {...}, owned: [{min, max}], kept: {...}, begun}
// and {_id: "cluster", clusterId, shard} of the cluster that the node belongs to.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "engine/sharding.h"
#include "placement/records.h"
#include "quire/bson.h"
#include "quire/status.h"
#include "shard/core/ledger.h"

namespace quire::shard {

// The id of a collection's name, and of a database's, whose case does not matter.
std::string CollectionId(std::string_view ns);
std::string DatabaseId(std::string_view database);
// The namespace or database of an id.
std::string_view NameOfId(std::string_view id);
std::string_view DatabaseOf(std::string_view ns);

// A database is judged as collections are: on its primary shard it has a version.
placement::ShardVersion AsVersion(const placement::DatabaseVersion& version);

struct NameRecord {
  std::string id;
  Known known;
  bson::Document key;   // of a sharded collection
  bson::Document kept;  // what a change has made, or was about to make: for whoever undoes it
  uint64_t begun = 0;   // the number of that change, from before it makes anything until its end

  // Null unless it is a sharded collection.
  std::shared_ptr<const engine::OwnedPlacement> placement() const;
};

bson::Document Encode(const NameRecord& record);
// Error: FailedToParse.
Result<NameRecord> DecodeName(bson::View document);

// {version, key, owned}, as steps carry it.
void AppendPlaced(std::string_view name, const Placed& placed, bson::View key, bson::Builder* out);
Result<Placed> ReadPlaced(bson::View document);

}  // namespace quire::shard
