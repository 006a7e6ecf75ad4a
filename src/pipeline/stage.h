// SPDX-License-Identifier: Apache-2.0
//
// One stage of a pipeline: parsed, immutable but for rewrites, and able to answer what rewrites,
// splitting and lowering ask about it.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/op_context.h"
#include "exec/operator.h"
#include "expr/context.h"
#include "quire/bson.h"
#include "quire/status.h"

namespace quire::pipeline {

class Stage;
using StagePtr = std::unique_ptr<Stage>;
using Stages = std::vector<StagePtr>;
using OperatorPtr = std::unique_ptr<exec::Operator>;

struct Namespace {
  std::string database;
  std::string collection;  // empty: the database itself ({aggregate: 1})
};

// Where a pipeline stands: some stages are refused in some places.
enum class PipelinePlace { kTop, kFacet, kLookup, kUnionWith, kView };

struct PipelineOptions {
  Namespace ns;
  PipelinePlace place = PipelinePlace::kTop;
  int depth = 0;                   // of nested pipelines; at most 20
  bool in_facet = false;           // somewhere inside $facet
  bool internal = false;           // written by a command: kInternal stages and $where are allowed
  size_t view_stages = 0;          // how many at the beginning are a view's own
  bool bypass_validation = false;  // what it writes is not validated
};

// What stages are parsed with; `context` outlives them.
struct StageContext {
  const expr::Context* context = nullptr;
  PipelineOptions options;
};

// What a stage does. Several names of the language share a kind ($set and $addFields), and one name
// may become stages of several kinds ($bucket is a kGroup and a kSort).
enum class StageKind {
  kAddFields,
  kBucketAuto,
  kCount,
  kCut,  // $skip, $limit
  kDensify,
  kDocuments,
  kFacet,
  kGraphLookup,
  kGroup,
  kLookup,
  kMapReduce,
  kMatch,
  kNearFields,  // what $geoNear writes into the documents that its $match finds
  kProject,     // $project, $unset
  kRankFusion,
  kRedact,
  kReplaceRoot,
  kSample,
  kSink,  // $out, $merge
  kSort,
  kSource,  // $indexStats, $changeStream...: rows that only the engine has
  kSplitLargeEvent,
  kUnionWith,
  kUnwind,
  kWindow,
};

// Whether a run of the stage opens something beside its input: rows of another collection, rows of
// the engine, a sink. Who can open those lowers the stage (plan); all other stages make their
// operator themselves.
constexpr bool OpensOthers(StageKind kind) {
  switch (kind) {
    case StageKind::kFacet:  // through the stages of its branches
    case StageKind::kGraphLookup:
    case StageKind::kLookup:
    case StageKind::kRankFusion:
    case StageKind::kSink:
    case StageKind::kSource:
    case StageKind::kUnionWith:
      return true;
    default:
      return false;
  }
}

// How a stage runs when its input lies on several shards.
enum class Spread {
  kEach,    // on each shard by itself: the rows of all shards together are its result
  kMerged,  // on each shard, and what they give is merged ($sort by its key, $group by its states)
  kOnce,    // once, over the rows of all shards
};

class Stage {
 public:
  virtual ~Stage() = default;
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  StageKind kind() const { return kind_; }
  std::string_view name() const { return source_.view().front().name(); }
  // The argument as it was written.
  bson::Value spec() const { return source_.view().front().value(); }
  // What its expressions were parsed with.
  const expr::Context* context() const { return context_; }

  // Appends the field {$name: ...} as explain shows it.
  virtual void Explain(bson::Builder* out) const;

  // Adds the top-level fields of its input the stage reads; false when it may read any.
  virtual bool AddDependencies(std::set<std::string>*) const { return false; }
  // Whether its output holds nothing of the input but what AddDependencies names.
  virtual bool Narrows() const { return false; }
  // Whether a filter that reads only `fields` gives the same before the stage as after it.
  virtual bool LetsFilterPass(const std::set<std::string>& /*fields*/) const { return false; }
  // Whether $skip and $limit give the same before the stage as after it.
  virtual bool LetsCutPass() const { return false; }
  virtual Spread spread() const = 0;
  // Adds the other collections it reads.
  virtual void AddNamespaces(std::vector<Namespace>*) const {}

 protected:
  // Copies `spec`: the field {$name: argument}.
  Stage(StageKind kind, const bson::Element& spec, const StageContext& context);

 private:
  const StageKind kind_;
  bson::Document source_;
  const expr::Context* context_;
};

struct BuildOptions {
  bool allow_disk_use = false;
};

// A stage whose work needs nothing but its input.
class OperatorStage : public Stage {
 public:
  // The operator that does the stage's work on `input` (null for stages that begin a pipeline).
  // This outlives it.
  virtual Result<OperatorPtr> Build(OpContext& op, OperatorPtr input,
                                    const BuildOptions& options) const = 0;

 protected:
  using Stage::Stage;
};

// The base of the stages of one kind.
template <StageKind kOwn>
class StageOf : public std::conditional_t<OpensOthers(kOwn), Stage, OperatorStage> {
  using Base = std::conditional_t<OpensOthers(kOwn), Stage, OperatorStage>;

 public:
  static constexpr StageKind kKind = kOwn;
  StageOf(const bson::Element& spec, const StageContext& context) : Base(kOwn, spec, context) {}
};

// `stage` as an S when it is one; null when it is null or of another kind.
template <typename S>
S* As(Stage* stage) {
  return stage != nullptr && stage->kind() == S::kKind ? static_cast<S*>(stage) : nullptr;
}
template <typename S>
const S* As(const Stage* stage) {
  return stage != nullptr && stage->kind() == S::kKind ? static_cast<const S*>(stage) : nullptr;
}

// Whether the first stage has no input.
bool StartsWithSource(const Stages& stages);
// Whether the last stage is $out or $merge.
bool EndsWithSink(const Stages& stages);

// Adds every other collection the stages read, sub-pipelines included.
void AddNamespaces(const Stages& stages, std::vector<Namespace>* namespaces);

}  // namespace quire::pipeline
