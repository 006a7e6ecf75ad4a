// SPDX-License-Identifier: Apache-2.0
//
// shardCollection. Arguments: {ns, primary, key, unique, simple (collation given), chunks?,
// presplit, generation: {e, t, v}, description? {uuid, options, indexes}, empty?}; the last two are
// known when the primary shard is prepared.
#include <algorithm>
#include <utility>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/json/value_text.h"
#include "bson/number.h"
#include "placement/layout.h"
#include "placement/version_fields.h"
#include "quire/doc.h"
#include "shard/change/answers.h"
#include "shard/change/change.h"
#include "shard/change/journal.h"
#include "shard/change/traces.h"
#include "store/log/note.h"

namespace quire::shard {

namespace {

using placement::ShardKeyPattern;

class ShardCollection final : public Change {
 public:
  using Change::Change;

  std::string_view kind() const override { return "shardCollection"; }
  std::vector<std::string> names() const override { return {CollectionId(Text("ns"))}; }
  bool Blocks(const std::string& shard, const std::string&) const override {
    return shard == Text("primary");
  }

  Status Check(Context& context, const std::vector<placement::ShardRecord>& shards) override {
    for (const placement::ShardRecord& shard : shards) {
      shards_.push_back(shard.shard());
    }
    if (context.names.Get(names().front()).known.placed.version.sharded) {
      return {kAlreadyInitialized, "sharding already enabled for collection " + Text("ns")};
    }
    return Status::Ok();
  }

  void Prepared(const std::string& shard, bson::View reply) override {
    if (shard == Text("primary")) {
      Set("description", reply["description"]);
      Set("empty", reply["empty"]);
    }
  }

  Status Decide(Context& context, coord::Transaction* decision) override {
    const std::string ns = Text("ns");
    ASSIGN_OR_RETURN(const ShardKeyPattern pattern, Pattern());
    ASSIGN_OR_RETURN(const ZoneFacts zones, context.store.ReadZones(ns));
    const placement::Generation generation = GenerationOf();
    placement::LayoutWish wish;
    wish.primary = Text("primary");
    wish.shards = shards_;
    wish.zones = zones.zones;
    wish.empty = args()["empty"].AsBool();
    wish.now = generation.timestamp;
    if (const bson::Value chunks = args()["chunks"]; chunks.is_number()) {
      wish.initial_chunks = bson::ClampedInt64(chunks);
    }
    wish.presplit_hashed_zones = args()["presplit"].AsBool();
    ASSIGN_OR_RETURN(const placement::Chunks layout, placement::InitialLayout(pattern, wish));
    placement::CollectionRecord record;
    record.ns = ns;
    const bson::View description = args()["description"].AsDocument();
    const std::string_view uuid = description["uuid"].AsBinary();
    std::copy(uuid.begin(), uuid.end(), record.uuid.begin());
    record.key = pattern.document();
    record.unique = args()["unique"].AsBool();
    record.generation = generation;
    for (const placement::ChunkPtr& chunk : layout) {
      record.version = std::max(record.version, chunk->version);
      uint32_t& major = record.majors[chunk->shard];
      major = std::max(major, chunk->version.major);
    }
    if (const bson::Value options = description["options"]; options.is_document()) {
      if (const bson::Value collation = options.AsDocument()["collation"];
          collation.is_document()) {
        record.default_collation = bson::Document(collation.AsDocument());
      }
    }
    RETURN_IF_ERROR(WriteBlocks(context, generation, layout, decision));
    decision->compares.push_back({placement::KeyOfCollection(ns), 0});
    decision->writes.push_back(
        coord::Put(placement::KeyOfCollection(ns), placement::Encode(record)));
    for (const coord::Compare& compare : zones.compares) {
      if (decision->compares.size() < 40) {
        decision->compares.push_back(compare);
      }
    }
    return Status::Ok();
  }

  Status Decided(Context& context) override {
    ASSIGN_OR_RETURN(map_, ReadMap(context, Text("ns")));
    return Status::Ok();
  }

  std::optional<NameOutcome> Outcome(const std::string& shard, const std::string&) const override {
    return OutcomeOn(*map_, shard);
  }

  Status Clean(Context& context, bool committed, coord::Transaction* end) override {
    return committed ? Status::Ok()
                     : DeleteAll(context, placement::PrefixOfChunks(GenerationOf()), end);
  }

  void AddToJournal(Context& context, coord::Transaction* end) const override {
    bson::Builder details;
    details.Append("shardKey", args()["key"]).Append("unique", args()["unique"]);
    shard::AddToJournal(context, "shardCollection.end", Text("ns"), details.Finish(), end);
  }

  Result<bson::Document> Reply() const override {
    return bson::Builder().Append("collectionsharded", Text("ns")).Finish();
  }

 private:
  Result<ShardKeyPattern> Pattern() const {
    return ShardKeyPattern::Parse(args()["key"].AsDocument());
  }
  placement::Generation GenerationOf() const {
    return placement::ReadShardVersion(args()["generation"])->generation;
  }

  // Many chunks are written ahead: nobody looks at a generation that no record names.
  static Status WriteBlocks(Context& context, const placement::Generation& generation,
                            const placement::Chunks& layout, coord::Transaction* decision) {
    constexpr size_t kWithDecision = 8;
    constexpr size_t kPerTransaction = 10;
    const auto blocks = placement::DivideIntoBlocks(layout);
    coord::Transaction part;
    for (size_t i = 0; i < blocks.size(); ++i) {
      coord::Write write = coord::Put(placement::KeyOfBlock(generation, blocks[i].min()),
                                      placement::Encode(blocks[i]));
      if (blocks.size() <= kWithDecision) {
        decision->writes.push_back(std::move(write));
        continue;
      }
      part.writes.push_back(std::move(write));
      if (part.writes.size() == kPerTransaction || i + 1 == blocks.size()) {
        RETURN_IF_ERROR(context.store.Transact(std::move(part)).status());
        part = {};
      }
    }
    return Status::Ok();
  }

  std::vector<placement::Shard> shards_;
  placement::ChunkMapPtr map_;
};

// An index on exactly the key.
const store::IndexInfo* FindExact(const store::CollectionInfo& collection,
                                  const ShardKeyPattern& pattern) {
  for (const auto& index : collection.indexes) {
    if (SupportsKey(*index, pattern) &&
        index->key_pattern.view().Count() == pattern.parts().size()) {
      return index.get();
    }
  }
  return nullptr;
}

Status CheckUnique(const store::CollectionInfo& collection, const ShardKeyPattern& pattern,
                   bool unique) {
  for (const auto& index : collection.indexes) {
    if (index->unique && !index->is_id && !pattern.AllowsUnique(index->key_pattern)) {
      return {kInvalidOptions, "can't shard collection '" + collection.ns() +
                                   "' with unique index on " +
                                   bson::DocumentText(index->key_pattern) +
                                   " and proposed shard key " + pattern.ToString() +
                                   ". Uniqueness can't be maintained unless shard key is a prefix"};
    }
  }
  const store::IndexInfo* exact = FindExact(collection, pattern);
  if (unique && exact != nullptr && !exact->unique && !exact->is_id) {
    return {kInvalidOptions, "can't shard collection " + collection.ns() + ", " +
                                 pattern.ToString() +
                                 " index not unique, and unique index explicitly specified"};
  }
  return Status::Ok();
}

Status CheckKind(const store::CollectionInfo& collection, bool simple) {
  if (collection.is_view()) {
    return {kCommandNotSupportedOnView, "Views cannot be sharded."};
  }
  if (collection.capped) {
    return {kInvalidOptions, "can't shard a capped collection"};
  }
  if (collection.collator != nullptr && !simple) {
    return {kBadValue, "Collection has default collation: " +
                           bson::DocumentText(collection.options["collation"].AsDocument()) +
                           ". Must specify collation {locale: 'simple'}"};
  }
  return Status::Ok();
}

class ShardedPart final : public Part {
 public:
  Status Prepare(Context& context, const StepRequest& step, Traces& traces,
                 bson::Builder* reply) const override {
    const std::string ns(step.Text("ns"));
    if (step.Text("primary") != context.shard) {
      return MakeHere(context, step, traces);
    }
    ASSIGN_OR_RETURN(const ShardKeyPattern pattern,
                     ShardKeyPattern::Parse(step.arguments["key"].AsDocument()));
    const bool unique = step.arguments["unique"].AsBool();
    store::CollectionPtr collection = context.engine.catalog().Find(ns);
    if (collection == nullptr) {
      bson::Builder create;
      create.Append("create", CollectionOf(ns));
      RETURN_IF_ERROR(context.local(DatabaseOf(ns), create.Finish(), {}).status());
      collection = context.engine.catalog().Find(ns);
      if (collection == nullptr) {
        return {kNamespaceNotFound, "ns does not exist: " + ns};
      }
    }
    RETURN_IF_ERROR(CheckKind(*collection, step.arguments["simple"].AsBool()));
    RETURN_IF_ERROR(CheckUnique(*collection, pattern, unique));
    const bool empty = collection->state->documents.load() == 0;
    const bool supported =
        unique ? FindExact(*collection, pattern) != nullptr
               : std::any_of(collection->indexes.begin(), collection->indexes.end(),
                             [&](const auto& index) { return SupportsKey(*index, pattern); });
    if (!supported && !empty) {
      return {kInvalidOptions,
              "Please create an index that starts with the proposed shard key before sharding the "
              "collection"};
    }
    if (!supported) {
      RETURN_IF_ERROR(MakeIndex(context, ns, pattern, unique, collection->collator != nullptr));
      collection = context.engine.catalog().Find(ns);
    }
    if (empty) {  // its ranges may come to lie on any shard
      RETURN_IF_ERROR(SendAnswers(context, ns, ""));
    }
    reply->Append("description", Describe(*collection)).Append("empty", empty);
    return Status::Ok();
  }

  // Change streams are told by the primary shard.
  Status Commit(Context& context, const StepRequest& step, bson::Builder*) const override {
    const store::CollectionPtr collection = context.engine.catalog().Find(step.Text("ns"));
    if (step.Text("primary") != context.shard || collection == nullptr) {
      return Status::Ok();
    }
    const bson::Value chunks = step.arguments["chunks"];
    const bson::Document said = Doc("msg", Doc("shardCollection", step.Text("ns")));
    const bson::Document told =
        Doc("shardCollection", step.Text("ns"), "shardKey", step.arguments["key"].AsDocument(),
            "unique", step.arguments["unique"].AsBool(), "numInitialChunks",
            chunks.is_number() ? bson::ClampedInt64(chunks) : int64_t{0}, "presplitHashedZones",
            step.arguments["presplit"].AsBool());
    return store::WriteNoteOn(context.engine.store(), context.engine.log(), *collection, said, told,
                              kv::Durability::kProcess);
  }

  // On the primary shard the collection stays, as an unsharded one.
  Status Undo(Context& context, const StepRequest& step, bson::View kept) const override {
    const bson::Value made = kept["made"];
    const bson::Value uuid = kept["uuid"];
    if (made.type() != bson::Type::kBool || !made.AsBool() || uuid.type() != bson::Type::kBinary) {
      return Status::Ok();
    }
    return DropLocal(context, step.Text("ns"), uuid.AsBinary());
  }

 private:
  static Status MakeHere(Context& context, const StepRequest& step, Traces& traces) {
    const std::string_view ns = step.Text("ns");
    const bson::View description = step.arguments["description"].AsDocument();
    if (FindLocal(context, ns, description["uuid"].AsBinary()) == nullptr) {
      bson::Builder made;
      made.Append("made", true).Append("uuid", description["uuid"]);
      RETURN_IF_ERROR(traces.Keep(made.Finish()));
    }
    RETURN_IF_ERROR(MakeEqual(context, ns, description));
    Reach(context, step.kind, "built");
    return Status::Ok();
  }

  static Status MakeIndex(Context& context, const std::string& ns, const ShardKeyPattern& pattern,
                          bool unique, bool collated) {
    std::string name;
    for (const ShardKeyPattern::Part& part : pattern.parts()) {
      name += (name.empty() ? "" : "_") + part.name() + (part.hashed ? "_hashed" : "_1");
    }
    bson::Builder command;
    command.Append("createIndexes", CollectionOf(ns)).BeginArray("indexes").PushDocument();
    command.Append("key", pattern.document()).Append("name", name);
    if (unique) {
      command.Append("unique", true);
    }
    if (collated) {
      command.BeginDocument("collation").Append("locale", "simple").End();
    }
    command.End().End();
    return context.local(DatabaseOf(ns), command.Finish(), {}).status();
  }
};

}  // namespace

std::unique_ptr<Change> MakeShardCollection(bson::Document arguments) {
  return std::make_unique<ShardCollection>(std::move(arguments));
}

const Part& ShardCollectionPart() {
  static const ShardedPart kPart;
  return kPart;
}

}  // namespace quire::shard
