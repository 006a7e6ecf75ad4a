// SPDX-License-Identifier: Apache-2.0
//
// createIndexes on all shards, and commands that are simply run on all of them (dropIndexes,
// collMod). Arguments: {ns, uuid, command, description}.
#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "base/error_codes.h"
#include "base/try.h"
#include "engine/schema/schema.h"
#include "quire/doc.h"
#include "request/fields.h"
#include "request/reply.h"
#include "request/reply_part.h"
#include "shard/change/change.h"
#include "shard/change/traces.h"
#include "store/log/change_buffer.h"
#include "store/log/note.h"

namespace quire::shard {

namespace {

// The replies of all shards by their addresses, as a router shows them.
class WithReplies : public Change {
 public:
  using Change::Change;
  std::vector<std::string> names() const override { return {CollectionId(Text("ns"))}; }
  Status Check(Context&, const std::vector<placement::ShardRecord>& shards) override {
    for (const placement::ShardRecord& shard : shards) {
      hosts_[shard.name] = shard.host;
    }
    return Status::Ok();
  }
  Result<bson::Document> Reply() const override {
    RETURN_IF_ERROR(failed_);
    bson::Builder out;
    out.BeginDocument("raw");
    for (const auto& [shard, reply] : replies_) {
      const auto host = hosts_.find(shard);
      out.Append(host == hosts_.end() ? shard : host->second, reply);
    }
    out.End();
    return out.Finish();
  }

 protected:
  void Keep(const std::string& shard, bson::View reply) {
    if (reply["reply"].is_document()) {
      replies_[shard] = request::AsPart(reply["reply"].AsDocument());
    }
    if (reply["failed"].is_document()) {
      failed_ = request::ErrorIn(reply["failed"].AsDocument(), {"ok", "codeName"});
    }
  }

 private:
  std::map<std::string, std::string> hosts_;
  std::map<std::string, bson::Document> replies_;
  Status failed_ = Status::Ok();
};

class CreateIndexes final : public WithReplies {
 public:
  using WithReplies::WithReplies;
  std::string_view kind() const override { return "createIndexes"; }
  bool Builds() const override { return true; }
  void Prepared(const std::string& shard, bson::View reply) override { Keep(shard, reply); }
};

std::set<std::string> IndexNames(const store::CollectionInfo& collection) {
  std::set<std::string> names;
  for (const auto& index : collection.indexes) {
    names.insert(index->name);
  }
  return names;
}

// The indexes that the command will make, and those that it has made when it came before.
bson::Document ToBeMade(const store::CollectionInfo& collection, bson::View command,
                        bson::View kept) {
  const std::set<std::string> there = IndexNames(collection);
  std::set<std::string> made;
  if (const bson::Value before = kept["made"]; before.is_array()) {
    for (const bson::Element& e : before.AsArray()) {
      made.emplace(e.value().AsString());
    }
  }
  if (const bson::Value indexes = command["indexes"]; indexes.is_array()) {
    for (const bson::Element& e : indexes.AsArray()) {
      const bson::Value name =
          e.value().is_document() ? e.value().AsDocument()["name"] : bson::Value();
      if (name.is_string() && !there.contains(std::string(name.AsString()))) {
        made.emplace(name.AsString());
      }
    }
  }
  bson::Builder out;
  out.BeginArray("made");
  for (const std::string& name : made) {
    out.Push(name);
  }
  out.End();
  return out.Finish();
}

// The command as this shard runs it, within the time that the client has left.
bson::Document WithLimit(bson::View command, std::chrono::milliseconds limit) {
  bson::Builder out;
  out.AppendFields(command);
  if (limit.count() > 0) {
    out.Append("maxTimeMS", static_cast<int64_t>(limit.count()));
  }
  return out.Finish();
}

class CreateIndexesHere final : public Part {
 public:
  Status Prepare(Context& context, const StepRequest& step, Traces& traces,
                 bson::Builder* reply) const override {
    const std::string_view ns = step.Text("ns");
    const bson::View command = step.arguments["command"].AsDocument();
    const store::NoEventScope silent;  // it may be undone
    RETURN_IF_ERROR(MakeEqual(context, ns, step.arguments["description"].AsDocument()));
    const bson::Document kept = traces.kept();
    const store::CollectionPtr collection = context.engine.catalog().Find(ns);
    RETURN_IF_ERROR(traces.Keep(ToBeMade(*collection, command, kept)));
    ASSIGN_OR_RETURN(const bson::Document done,
                     context.local(DatabaseOf(ns), WithLimit(command, step.limit), {}));
    Reach(context, step.kind, "built");
    reply->Append("reply", done);
    return Status::Ok();
  }

  Status Commit(Context& context, const StepRequest& step, bson::Builder*) const override {
    const NameRecord record = context.names.Get(step.names.front().id);
    const store::CollectionPtr collection = context.engine.catalog().Find(step.Text("ns"));
    const bson::Value made = record.kept["made"];
    if (!step.tells || collection == nullptr || !made.is_array()) {
      return Status::Ok();
    }
    bson::Builder told;
    told.Append("commitIndexBuild", collection->name).BeginArray("indexes");
    int count = 0;
    for (const bson::Element& e : made.AsArray()) {
      if (const store::IndexInfo* index = collection->FindIndex(e.value().AsString())) {
        told.Push(index->spec.view());
        ++count;
      }
    }
    told.End();
    const bson::Document done = told.Finish();
    const bson::Document said = Doc("msg", "createIndexes");
    return count == 0 ? Status::Ok()
                      : store::WriteNoteOn(context.engine.store(), context.engine.log(),
                                           *collection, said, done, kv::Durability::kProcess);
  }

  Status Undo(Context& context, const StepRequest& step, bson::View kept) const override {
    const std::string_view ns = step.Text("ns");
    const bson::Value made = kept["made"];
    const store::NoEventScope silent;
    const store::CollectionPtr collection =
        FindLocal(context, ns, step.arguments["uuid"].AsBinary());
    if (collection == nullptr || !made.is_array()) {
      return Status::Ok();
    }
    bson::Builder drop;
    drop.Append("dropIndexes", CollectionOf(ns)).BeginArray("index");
    int count = 0;
    for (const bson::Element& e : made.AsArray()) {
      if (collection->FindIndex(e.value().AsString()) != nullptr) {
        drop.Push(e.value());
        ++count;
      }
    }
    drop.End();
    if (count == 0) {
      return Status::Ok();
    }
    const Status dropped = context.local(DatabaseOf(ns), drop.Finish(), {}).status();
    return dropped.code() == kIndexNotFound ? Status::Ok() : dropped;
  }
};

// The index of a collMod that is to become unique.
bool MakesUnique(bson::View command) {
  const bson::Value index = command["index"];
  return command.front().name() == "collMod" && index.is_document() &&
         request::Truthy(index.AsDocument()["unique"]);
}

class ApplyToAll final : public WithReplies {
 public:
  using WithReplies::WithReplies;
  std::string_view kind() const override { return "applyToAll"; }
  bool Builds() const override { return MakesUnique(args()["command"].AsDocument()); }
  void Finished(const std::string& shard, bson::View reply) override { Keep(shard, reply); }
};

// What no repetition changes. It should not be met, as all shards have looked before; if it is, the
// shard's answer is better than a change without end.
bool IsFinal(int code) {
  static constexpr int kFinal[] = {kBadValue,
                                   kFailedToParse,
                                   kTypeMismatch,
                                   kIndexNotFound,
                                   kInvalidOptions,
                                   kInvalidNamespace,
                                   kNamespaceNotFound,
                                   kAmbiguousIndexKeyPattern,
                                   kCannotConvertIndexToUnique};
  return std::find(std::begin(kFinal), std::end(kFinal), code) != std::end(kFinal);
}

class ApplyHere final : public Part {
 public:
  // The same command may be good on one shard and not on another: each looks.
  Status Prepare(Context& context, const StepRequest& step, Traces&,
                 bson::Builder*) const override {
    const std::string_view ns = step.Text("ns");
    const bson::View command = step.arguments["command"].AsDocument();
    if (command.front().name() != "collMod" ||
        FindLocal(context, ns, step.arguments["uuid"].AsBinary()) == nullptr) {
      return Status::Ok();
    }
    OpContext op;
    const engine::Operation operation{context.engine, op};
    RETURN_IF_ERROR(engine::CheckCollMod(operation, std::string(ns), command));
    if (!MakesUnique(command)) {
      return Status::Ok();
    }
    // prepareUnique is on: there are no further duplicates.
    bson::Builder look;
    look.Append("collMod", CollectionOf(ns)).Append("index", command["index"]);
    look.Append("dryRun", true);
    const bson::Document dry_run = look.Finish();
    return context.local(DatabaseOf(ns), WithLimit(dry_run, step.limit), {}).status();
  }

  Status Commit(Context& context, const StepRequest& step, bson::Builder* reply) const override {
    const std::string_view ns = step.Text("ns");
    if (FindLocal(context, ns, step.arguments["uuid"].AsBinary()) == nullptr) {
      return Status::Ok();
    }
    const bson::View command = step.arguments["command"].AsDocument();
    const auto done = context.local(DatabaseOf(ns), bson::Document(command), {});
    // Gone when the step came before: its coordinator has seen what it drops.
    const bool repeated =
        done.status().code() == kIndexNotFound && command.front().name() != "collMod";
    if (done.ok()) {
      reply->Append("reply", *done);
    } else if (!IsFinal(done.status().code())) {
      return done.status();
    } else if (!repeated) {
      bson::Builder failed;
      request::AppendError(done.status(), &failed);
      reply->Append("failed", failed.Finish());
    }
    return Status::Ok();
  }
};

}  // namespace

std::unique_ptr<Change> MakeCreateIndexes(bson::Document arguments) {
  return std::make_unique<CreateIndexes>(std::move(arguments));
}
const Part& CreateIndexesPart() {
  static const CreateIndexesHere kPart;
  return kPart;
}
std::unique_ptr<Change> MakeApplyToAll(bson::Document arguments) {
  return std::make_unique<ApplyToAll>(std::move(arguments));
}
const Part& ApplyToAllPart() {
  static const ApplyHere kPart;
  return kPart;
}

}  // namespace quire::shard
