// SPDX-License-Identifier: Apache-2.0
//
// moveRange and moveChunk of a range without documents. Arguments: {ns, from, to, min, max, now,
// description}.
#include <utility>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/number.h"
#include "placement/chunk_changes.h"
#include "request/cursor_reply.h"
#include "shard/change/answers.h"
#include "shard/change/change.h"
#include "shard/change/chunk_writes.h"
#include "shard/change/journal.h"
#include "shard/change/keys_in_range.h"

namespace quire::shard {

namespace {

placement::KeyRange RangeOf(bson::View arguments) {
  return {placement::ShardKey::Of(arguments["min"].AsDocument()),
          placement::ShardKey::Of(arguments["max"].AsDocument())};
}

class MoveRange final : public Change {
 public:
  using Change::Change;
  std::string_view kind() const override { return "moveRange"; }
  std::vector<std::string> names() const override { return {CollectionId(Text("ns"))}; }
  bool Blocks(const std::string& shard, const std::string&) const override {
    return shard == Text("from") || shard == Text("to");
  }

  Status Decide(Context& context, coord::Transaction* decision) override {
    ASSIGN_OR_RETURN(const auto facts, context.store.ReadCollection(Text("ns")));
    if (!facts || facts->map == nullptr) {
      return {kNamespaceNotSharded, "Collection " + Text("ns") + " is not sharded."};
    }
    const placement::KeyRange range = RangeOf(args());
    if (facts->map->Find(range.min).shard != Text("from")) {
      return {kConflictingOperationInProgress, "the range has moved meanwhile"};
    }
    // What the zones say was looked at before.
    ASSIGN_OR_RETURN(const placement::ChunkChange change,
                     placement::MoveRange(*facts->map, range, {Text("to"), {}, false}, {},
                                          args()["now"].AsTimestamp()));
    return AddChunkWrites(*facts, change, decision);
  }

  Status Decided(Context& context) override {
    ASSIGN_OR_RETURN(map_, ReadMap(context, Text("ns")));
    return Status::Ok();
  }

  std::optional<NameOutcome> Outcome(const std::string& shard, const std::string&) const override {
    return OutcomeOn(*map_, shard);
  }

  void AddToJournal(Context& context, coord::Transaction* end) const override {
    bson::Builder details;
    details.Append("min", args()["min"])
        .Append("max", args()["max"])
        .Append("from", Text("from"))
        .Append("to", Text("to"))
        .Append("note", "success");
    const bson::Document moved = details.Finish();
    shard::AddToJournal(context, "moveChunk.from", Text("ns"), moved, end);
    shard::AddToJournal(context, "moveChunk.commit", Text("ns"), moved, end);
  }

 private:
  placement::ChunkMapPtr map_;
};

// Whether a document of the collection lies in the range: by the index that carries the key.
Result<bool> HoldsDocuments(Context& context, const store::CollectionInfo& collection,
                            const placement::ShardKeyPattern& pattern,
                            const placement::KeyRange& range) {
  if (collection.state->documents.load() == 0) {
    return false;
  }
  if (pattern.is_hashed()) {  // an index of hashes has no ranges to be asked for
    bool found = false;
    RETURN_IF_ERROR(
        ReadKeysInRange(context, collection.ns(), pattern, range, [&](const placement::ShardKey&) {
          found = true;
          return false;
        }));
    return found;
  }
  for (const auto& index : collection.indexes) {
    if (!SupportsKey(*index, pattern)) {
      continue;
    }
    auto bound = [&](const placement::ShardKey& key) {
      bson::Builder out;
      out.AppendFields(key.values);
      size_t i = 0;
      for (const bson::Element& e : index->key_pattern.view()) {
        if (i++ >= pattern.parts().size()) {
          // Before all entries with this key.
          const bool down = e.value().is_number() && bson::ToDouble(e.value()) < 0;
          out.Append(e.name(), down ? bson::Value::MaxKey() : bson::Value::MinKey());
        }
      }
      return out.Finish();
    };
    bson::Builder find;
    find.Append("find", collection.name).Append("hint", index->key_pattern).Append("limit", 1);
    find.Append("singleBatch", true).Append("min", bound(range.min));
    if (range.max != pattern.Highest()) {
      find.Append("max", bound(range.max));
    }
    ASSIGN_OR_RETURN(const bson::Document reply,
                     context.local(collection.database, find.Finish(), {}));
    ASSIGN_OR_RETURN(const auto cursor, request::CursorReply::Read(reply));
    return !cursor.batch.empty();
  }
  return Status(kIndexNotFound, "no index of " + collection.ns() + " carries its shard key");
}

class MovePart final : public Part {
 public:
  Status Prepare(Context& context, const StepRequest& step, Traces&,
                 bson::Builder*) const override {
    const std::string ns(step.Text("ns"));
    if (context.shard != step.Text("from") && context.shard != step.Text("to")) {
      return Status::Ok();
    }
    const bson::View description = step.arguments["description"].AsDocument();
    RETURN_IF_ERROR(MakeEqual(context, ns, description));
    const store::CollectionPtr collection = context.engine.catalog().Find(ns);
    ASSIGN_OR_RETURN(const auto pattern,
                     placement::ShardKeyPattern::Parse(step.arguments["key"].AsDocument()));
    ASSIGN_OR_RETURN(const bool holds,
                     HoldsDocuments(context, *collection, pattern, RangeOf(step.arguments.view())));
    if (holds) {
      return {kOperationFailed, "the range " + RangeOf(step.arguments.view()).ToString() +
                                    " has documents on shard " + context.shard +
                                    ": only ranges without documents can be moved"};
    }
    // A write that was done here and is sent again comes to the recipient.
    return context.shard == step.Text("from") ? SendAnswers(context, ns, step.Text("to"))
                                              : Status::Ok();
  }
};

}  // namespace

std::unique_ptr<Change> MakeMoveRange(bson::Document arguments) {
  return std::make_unique<MoveRange>(std::move(arguments));
}
const Part& MoveRangePart() {
  static const MovePart kPart;
  return kPart;
}

}  // namespace quire::shard
