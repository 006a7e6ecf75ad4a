// SPDX-License-Identifier: Apache-2.0
//
// createIndexes on all shards, and commands that are simply run on all of them (dropIndexes,
// collMod). Arguments: {ns, uuid, command, description}.
#include <map>
#include <set>
#include <utility>

#include "base/error_codes.h"
#include "base/try.h"
#include "request/reply.h"
#include "request/reply_part.h"
#include "shard/change/change.h"

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
  void Prepared(const std::string& shard, bson::View reply) override { Keep(shard, reply); }
};

std::set<std::string> IndexNames(const store::CollectionInfo& collection) {
  std::set<std::string> names;
  for (const auto& index : collection.indexes) {
    names.insert(index->name);
  }
  return names;
}

class CreateIndexesHere final : public Part {
 public:
  Status Prepare(Context& context, const StepRequest& step, bson::Builder* kept,
                 bson::Builder* reply) const override {
    const std::string_view ns = step.Text("ns");
    RETURN_IF_ERROR(MakeEqual(context, ns, step.arguments["description"].AsDocument()).status());
    const std::set<std::string> before = IndexNames(*context.engine.catalog().Find(ns));
    ASSIGN_OR_RETURN(
        const bson::Document done,
        context.local(DatabaseOf(ns), bson::Document(step.arguments["command"].AsDocument()), {}));
    const store::CollectionPtr after = context.engine.catalog().Find(ns);
    kept->BeginArray("made");
    if (after != nullptr) {
      for (const std::string& name : IndexNames(*after)) {
        if (!before.contains(name)) {
          kept->Push(name);
        }
      }
    }
    kept->End();
    reply->Append("reply", done);
    return Status::Ok();
  }

  Status Undo(Context& context, const StepRequest& step, bson::View kept) const override {
    const std::string_view ns = step.Text("ns");
    const bson::Value made = kept["made"];
    if (FindLocal(context, ns, step.arguments["uuid"].AsBinary()) == nullptr || !made.is_array() ||
        made.AsArray().empty()) {
      return Status::Ok();
    }
    bson::Builder drop;
    drop.Append("dropIndexes", CollectionOf(ns)).Append("index", made);
    const Status dropped = context.local(DatabaseOf(ns), drop.Finish(), {}).status();
    return dropped.code() == kIndexNotFound ? Status::Ok() : dropped;
  }
};

class ApplyToAll final : public WithReplies {
 public:
  using WithReplies::WithReplies;
  std::string_view kind() const override { return "applyToAll"; }
  void Finished(const std::string& shard, bson::View reply) override { Keep(shard, reply); }
};

class ApplyHere final : public Part {
 public:
  // All shards have the same collection: what one refuses, all do. The error is their answer, and
  // nothing has changed anywhere.
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
    } else if (done.status().code() == kNotWritablePrimary ||
               done.status().code() == kInterruptedDueToReplStateChange ||
               done.status().code() == kInterruptedAtShutdown) {
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
