// SPDX-License-Identifier: Apache-2.0
#include "shard/change/shard_collection_command.h"

#include <utility>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/compare.h"
#include "bson/json/value_text.h"
#include "bson/number.h"
#include "placement/shard_key.h"
#include "placement/version_fields.h"
#include "request/crud.h"
#include "request/fields.h"
#include "shard/change/change.h"
#include "shard/change/chunk_commands.h"
#include "shard/change/run_change.h"

namespace quire::shard {

namespace {

using request::Field;
using request::FieldRow;
using request::Ignored;

struct Wanted {
  bson::View key;
  bool unique = false;
  std::optional<int64_t> chunks;
  bool presplit = false;
  std::optional<bson::View> collation;
};
constexpr FieldRow<Wanted> kRows[] = {
    Field<&Wanted::key>("key", request::Need::kRequired),
    Field<&Wanted::unique>("unique"),
    Field<&Wanted::chunks>("numInitialChunks"),
    Field<&Wanted::presplit>("presplitHashedZones"),
    Field<&Wanted::collation>("collation"),
    Ignored<Wanted>("implicitlyCreateIndex"),
    Ignored<Wanted>("enforceUniquenessCheck"),
};

// Whether the collation is given, which has to be the simple one then.
Result<bool> ReadCollation(const Wanted& wanted) {
  if (!wanted.collation) {
    return false;
  }
  const bson::Value locale = (*wanted.collation)["locale"];
  if (!locale.is_string() || locale.AsString() != "simple") {
    return Status(kBadValue,
                  "The collation for shardCollection must be {locale: 'simple'}, but found: " +
                      bson::DocumentText(*wanted.collation));
  }
  return true;
}

Status CheckShardable(std::string_view ns) {
  const std::string_view database = DatabaseOf(ns);
  const std::string_view collection = CollectionOf(ns);
  if (collection.starts_with("system.")) {
    return {kIllegalOperation, "can't shard system namespaces"};
  }
  if (database == "admin" || database == "local" || database == "config") {
    return {kIllegalOperation,
            "can't shard collections of the database '" + std::string(database) + "'"};
  }
  if (collection.starts_with("$")) {
    return {kInvalidNamespace, "Invalid collection name specified '" + std::string(ns) + "'"};
  }
  return Status::Ok();
}

// The answer when it is sharded: Ok with the same key and options.
Status CheckSame(const CollectionFacts& facts, const Wanted& wanted) {
  if (bson::Compare(bson::Value(facts.record.key.view()), bson::Value(wanted.key)) == 0 &&
      facts.record.unique == wanted.unique) {
    return Status::Ok();
  }
  return {kAlreadyInitialized, "sharding already enabled for collection " + facts.record.ns +
                                   " with key " + bson::DocumentText(facts.record.key)};
}

}  // namespace

Result<std::string> ReadWholeNamespace(const bson::Element& field) {
  if (field.type() != bson::Type::kString) {
    return Status(kBadValue,
                  "collection name has invalid type " + std::string(bson::TypeName(field.type())));
  }
  const std::string ns(field.value().AsString());
  const size_t dot = ns.find('.');
  if (dot == std::string::npos || dot == 0 || dot + 1 == ns.size()) {
    return Status(kInvalidNamespace, "Invalid namespace specified '" + ns + "'");
  }
  RETURN_IF_ERROR(request::CheckDatabaseName(DatabaseOf(ns)));
  return ns;
}

Result<bson::Document> ShardCollectionCommand(Context& context, const std::string& ns,
                                              bson::View command) {
  Wanted wanted;
  RETURN_IF_ERROR(request::ReadFields<Wanted>("shardCollection", command, true, kRows, &wanted));
  RETURN_IF_ERROR(CheckShardable(ns));
  ASSIGN_OR_RETURN(const auto pattern, placement::ShardKeyPattern::Parse(wanted.key));
  if (wanted.unique && pattern.is_hashed()) {
    return Status(kInvalidOptions,
                  "Hashed shard keys cannot be declared unique. It's possible to ensure uniqueness "
                  "on the hashed field by declaring an additional (non-hashed) unique index on the "
                  "field.");
  }
  ASSIGN_OR_RETURN(const bool simple, ReadCollation(wanted));
  const bson::Document done = bson::Builder().Append("collectionsharded", ns).Finish();
  const std::string id = CollectionId(ns);
  if (context.names.Get(id).known.placed.version.sharded) {
    ASSIGN_OR_RETURN(const CollectionFacts facts, ShardedFacts(context, ns));
    RETURN_IF_ERROR(CheckSame(facts, wanted));
    return done;
  }
  const bson::Document note =
      bson::Builder().Append("msg", "shardCollection").Append("ns", ns).Finish();
  ASSIGN_OR_RETURN(const bson::Timestamp time, context.log.Note(note));
  placement::ShardVersion version;
  version.sharded = true;
  version.generation = {bson::ObjectId::Generate(), time};
  bson::Builder arguments;
  arguments.Append("ns", ns)
      .Append("primary", context.shard)
      .Append("key", wanted.key)
      .Append("unique", wanted.unique)
      .Append("simple", simple)
      .Append("presplit", wanted.presplit);
  if (wanted.chunks) {
    arguments.Append("chunks", *wanted.chunks);
  }
  placement::AppendVersion("generation", version, &arguments);
  return ChangeRun(context, MakeShardCollection(arguments.Finish())).Run();
}

}  // namespace quire::shard
