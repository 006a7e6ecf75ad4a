// SPDX-License-Identifier: Apache-2.0
//
// A running pipeline: the engine's side of plan/pipeline_environment.h.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "engine/read/planned_query.h"
#include "engine/read/shard_rows.h"
#include "engine/read/view.h"
#include "engine/stream/change_stream.h"
#include "engine/stream/oplog.h"
#include "engine/stream/split_event.h"
#include "js/script.h"
#include "pipeline/stage.h"
#include "plan/pipeline_environment.h"

namespace quire::engine {

class Sharding;

class PipelineRun : public run::RowSource, public plan::PipelineEnvironment {
 public:
  // `pipeline` is copied.
  PipelineRun(const Operation& operation, pipeline::Namespace ns, bson::View pipeline,
              bool allow_disk_use, bool bypass_validation = false);
  ~PipelineRun() override;

  // Makes it a command's own pipeline, whose scripts share `scope`. Before Open.
  void UseScripts(js::ScopePtr scope) {
    context_.script_scope = std::move(scope);
    internal_ = true;
  }
  // For a router. Before Open.
  void MakeRowsFor(const ShardRowsWish& wish) { wish_ = wish; }
  // Parses, plans and builds. Nothing is read yet. On a shard, for a router:
  // CommandOnShardedViewNotSupportedOnMongod with {resolvedView: {ns, pipeline, collation}} as
  // extra() when it reads, behind views or in its stages, what lies on several shards.
  Status Open(const Operation& operation, bson::View collation, bson::View let,
              const bson::Value& hint);

  // run::RowSource
  Result<bool> Next(OpContext& op, exec::Row* row) override;
  Status Refresh(OpContext& op) override;
  Bell* News() override;
  bool HasNews() const override;
  Status Check() const override;
  std::string PlanSummary() const override;
  exec::Counters Totals() const override;
  bson::Document ResumeToken() const override;
  bool Ended() const override;
  void Returned(bson::View document) override;
  bool HasRead(uint64_t time) const override;
  bson::Document StreamState() const override;

  // PipelineEnvironment
  bool allow_disk_use() const override { return allow_disk_use_; }
  const std::set<std::string>& rewrites_off() const override { return rewrites_off_; }
  Result<std::unique_ptr<exec::Operator>> OpenPipeline(OpContext& op, const pipeline::Namespace& ns,
                                                       pipeline::Stages stages,
                                                       const expr::Context& context) override;
  bool HasIndexOn(const pipeline::Namespace& ns, std::string_view path) override;
  Result<std::unique_ptr<exec::Operator>> OpenSource(OpContext& op, std::string_view stage,
                                                     const bson::Value& spec) override;
  Result<std::unique_ptr<plan::DocumentSink>> OpenSink(
      OpContext& op, const pipeline::SinkOptions& options) override;

  // To be called before Open when the run is to be explained; with the operators, when it is to be
  // run for that.
  void Explain(bool with_operators) {
    explained_ = true;
    keep_operators_ = with_operators;
  }
  const std::vector<const exec::Operator*>& operators() const { return operators_; }

  // For a pipeline on the oplog: newest first. Before Open.
  void ReadBackwards() { backwards_ = true; }
  // Whether it is a change stream.
  bool is_stream() const { return stream_ != nullptr; }
  bool writes() const { return pipeline::EndsWithSink(stages_); }
  const pipeline::Stages& stages() const { return stages_; }
  const PlannedQuery* query() const { return query_.get(); }
  const expr::Context& context() const { return context_; }
  const pipeline::Namespace& ns() const { return ns_; }
  Engine& engine() { return engine_; }
  kv::Durability durability() const { return durability_; }
  bool bypass_validation() const { return bypass_validation_; }

 private:
  // Views that other stages read ($lookup, $unionWith...) have the collation of the pipeline.
  Status CheckOtherViews(const Operation& operation) const;
  // Whether the collection, which is not the one that the request names, lies on several shards.
  bool IsElsewhere(const store::CollectionInfo* other) const;
  // Lets a $group at the end give partial states.
  Status DivideGroup();
  Operation MakeOperation(OpContext& op) const;
  Status CheckStream(const Operation& operation, const ResolvedView& resolved);
  Result<bool> NextEvent(OpContext& op, exec::Row* row);
  Result<std::unique_ptr<PlannedQuery>> PlanLeading(const Operation& operation,
                                                    const store::CollectionPtr& collection,
                                                    pipeline::Stages* stages,
                                                    const expr::Context& context,
                                                    const bson::Value& hint, bool without_table);

  Engine& engine_;
  Session* session_;  // of the transaction it runs in; null outside one
  const std::optional<request::Identity> caller_;
  const kv::Durability durability_;
  const pipeline::Namespace ns_;
  bson::Document pipeline_;
  const bool allow_disk_use_;
  const bool bypass_validation_;
  const Sharding* const sharding_;  // null but for routers
  ShardRowsWish wish_;
  std::shared_ptr<const exec::Ownership> ownership_;  // of its collection
  Status elsewhere_;                                  // the error of what cannot be read here
  std::set<std::string> rewrites_off_;
  bool internal_ = false;
  std::shared_ptr<const expr::Collator> collator_;
  expr::Context context_;
  bson::OwnedValue hint_;
  store::CollectionPtr collection_;
  pipeline::Stages stages_;
  std::unique_ptr<store::Transaction> own_txn_;
  store::Transaction* txn_ = nullptr;
  std::unique_ptr<PlannedQuery> query_;
  bool explained_ = false;
  bool keep_operators_ = false;
  std::vector<const exec::Operator*> operators_;  // of the stages, when explained
  std::unique_ptr<exec::Operator> root_;
  OplogRows* oplog_ = nullptr;  // at the bottom of root_ when that is what it reads
  bool backwards_ = false;
  ChangeStream* stream_ = nullptr;  // at the bottom of root_; null when it is none
  std::unique_ptr<EventSplitter> splitter_;
};

// Appends the fields of explain's reply of an open run.
Status ExplainRun(const Operation& operation, PipelineRun& run, std::string_view verbosity,
                  bson::Builder* reply);

// The documents of a stage that only the engine knows ($indexStats, $collStats...).
Result<std::vector<bson::Document>> SourceDocuments(const Operation& operation,
                                                    const pipeline::Namespace& ns,
                                                    std::string_view stage,
                                                    const bson::Value& spec);

// The errors that a $merge has before it writes.
Status CheckSink(PipelineRun& run, const pipeline::SinkOptions& options);
Result<std::unique_ptr<plan::DocumentSink>> MakeSink(OpContext& op, PipelineRun& run,
                                                     const pipeline::SinkOptions& options);

}  // namespace quire::engine
