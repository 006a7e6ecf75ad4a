// SPDX-License-Identifier: Apache-2.0
//
// Aggregation pipelines: parsed into stages, rewritten by a listed order of named steps, and
// lowered onto an input operator. What a pipeline needs of the world around it (other collections,
// writes, statistics) it asks of a PipelineEnvironment.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/op_context.h"
#include "exec/operator.h"
#include "expr/context.h"
#include "plan/stage.h"
#include "quire/bson.h"
#include "quire/status.h"

namespace quire::plan {

// Takes the documents $out and $merge write.
class DocumentSink {
 public:
  virtual ~DocumentSink() = default;
  virtual Status Write(OpContext& op, bson::View document) = 0;
  // After the last document: makes what was written visible.
  virtual Status Finish(OpContext& op) = 0;
};

// How $merge treats documents; $out is the mode kOut, where `target` and `timeseries` count.
struct SinkOptions {
  enum class Mode { kOut, kMerge };
  enum class Matched { kReplace, kKeepExisting, kMerge, kFail, kPipeline };
  enum class NotMatched { kInsert, kDiscard, kFail };
  Mode mode = Mode::kOut;
  Namespace target;
  std::vector<std::string> on;  // empty: _id (the shard key)
  Matched matched = Matched::kMerge;
  NotMatched not_matched = NotMatched::kInsert;
  bson::Document timeseries;  // options of the new collection; empty: a plain one
  bson::Document pipeline;    // of kPipeline, as an array
  bson::Document let;         // of kPipeline: names to expressions over the new document
};

// The engine's side of a running pipeline. Lives as long as the operators built with it.
class PipelineEnvironment {
 public:
  virtual ~PipelineEnvironment() = default;

  virtual const expr::Context& context() const = 0;
  virtual const Namespace& ns() const = 0;
  virtual bool allow_disk_use() const = 0;
  // Names of the rewrites that are switched off; see RewriteNames.
  virtual const std::set<std::string>& rewrites_off() const {
    static const auto* none = new std::set<std::string>;
    return *none;
  }

  // The documents of `ns` (a collection or a view, empty when there is none) through `stages`. The
  // operator takes the stages over; `context`, with which they were parsed, outlives it. The engine
  // plans the leading stages as a find.
  virtual Result<OperatorPtr> OpenPipeline(OpContext& op, const Namespace& ns, Stages stages,
                                           const expr::Context& context) = 0;
  // Whether an index of `ns` answers equality on `path` (then $lookup asks per document, else it
  // reads the collection once).
  virtual bool HasIndexOn(const Namespace& ns, std::string_view path) = 0;

  // A stage that begins a pipeline and that only the engine can answer: $geoNear, $indexStats,
  // $collStats, $currentOp, $listSessions, $listLocalSessions, $planCacheStats, $changeStream...
  // `spec` is its argument, already checked to be of the right type.
  virtual Result<OperatorPtr> OpenSource(OpContext& op, std::string_view stage,
                                         const bson::Value& spec) = 0;

  virtual Result<std::unique_ptr<DocumentSink>> OpenSink(OpContext& op,
                                                         const SinkOptions& options) = 0;
};

// Parses the array of stages. Errors: 40323, 40324, 40602, those of the stages. `context` outlives
// the stages.
Result<Stages> ParsePipeline(bson::View pipeline, const PipelineOptions& options,
                             const expr::Context* context);

// Adds what running the pipeline needs, sub-pipelines included: a find on each collection it reads,
// the writes of its last stage, and what stages about the server itself ask for. Only names are
// read, no value is evaluated: the answer holds whatever the pipeline's variables will be. Errors:
// those of ParsePipeline about the form of stages and the names of collections.
Status AddPipelineNeeds(bson::View pipeline, const PipelineOptions& options, auth::Needs* needs);

// The named rewrites, in the order in which they run.
struct Rewrite {
  std::string_view name;
  // Changes the list in place.
  Status (*run)(Stages* stages, const expr::Context* context);
};
const std::vector<Rewrite>& Rewrites();
// Runs every rewrite whose name is not in `off`.
Status RewriteStages(Stages* stages, const expr::Context* context,
                     const std::set<std::string>& off = {});

// All that can be switched off: the rewrites, and what is decided later:
//   leading-find   the first stages become a query, which indexes may answer
//   needed-fields  that query reads only the fields the rest needs
//   group-by-index distinct keys of a $group come from an index
//   hash-join      a $lookup without an index reads the other collection once
const std::vector<std::string_view>& RewriteNames();

// What a pipeline asks of its collection, taken off its beginning, for the planner.
struct LeadingFind {
  bson::Document filter;      // {}: all
  bson::Document sort;        // empty: none
  bson::Document projection;  // top-level fields the rest needs, as an inclusion; empty: all
  bool only_needs = false;    // rows may hold more than `projection`: nobody looks at it
  bool no_fields = false;     // the rest reads nothing of the documents
  std::string distinct_path;  // the rest only wants the distinct values of this field; empty: no
  int64_t skip = 0;
  int64_t limit = 0;  // 0: none
};
// Removes the stages whose work is now in the result. Returns nothing when the pipeline begins
// with a source of its own ($documents, $indexStats...), see StartsWithSource.
LeadingFind TakeLeadingFind(Stages* stages, const std::set<std::string>& off = {});
bool StartsWithSource(const Stages& stages);
// Whether the last stage is $out or $merge.
bool EndsWithSink(const Stages& stages);
// Every other collection the pipeline reads, sub-pipelines included.
void AddNamespaces(const Stages& stages, std::vector<Namespace>* namespaces);

// The operators of `stages` on top of `input` (null when StartsWithSource). `stages` and `env`
// outlive the result. `built`, when not null, receives the operator of each stage, which then
// measures its time too.
Result<OperatorPtr> BuildStages(OpContext& op, const Stages& stages, OperatorPtr input,
                                PipelineEnvironment& env,
                                std::vector<const exec::Operator*>* built = nullptr);

// Appends each stage as explain shows it to the innermost open array of `out`; with what its
// operator did when `built` is not empty.
void ExplainStages(const Stages& stages, const std::vector<const exec::Operator*>& built,
                   bson::Builder* out);
// The fields of a stage that tell about its run.
void ExplainRun(const exec::Counters& counters, bson::Builder* out);

}  // namespace quire::plan
