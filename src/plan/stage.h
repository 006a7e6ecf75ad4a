// SPDX-License-Identifier: Apache-2.0
//
// One stage of a pipeline: parsed, immutable, able to lower itself onto an input.
#pragma once

#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "auth/needs.h"
#include "base/op_context.h"
#include "exec/operator.h"
#include "expr/context.h"
#include "quire/bson.h"
#include "quire/status.h"

namespace quire::plan {

class PipelineEnvironment;
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

class Stage {
 public:
  // Copies `spec`: the field {$name: argument}.
  Stage(const bson::Element& spec, const StageContext& context);
  virtual ~Stage() = default;
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  std::string_view name() const { return source_.view().front().name(); }
  // The argument as it was written.
  bson::Value spec() const { return source_.view().front().value(); }

  // The operator that does the stage's work on `input` (null for stages that begin a pipeline).
  // This and `env` outlive it.
  virtual Result<OperatorPtr> Build(OpContext& op, OperatorPtr input,
                                    PipelineEnvironment& env) const = 0;
  // Appends the field {$name: ...} as explain shows it.
  virtual void Explain(bson::Builder* out) const;

  // Adds the top-level fields of its input the stage reads; false when it may read any.
  virtual bool AddDependencies(std::set<std::string>*) const { return false; }
  // Whether its output holds nothing of the input but what AddDependencies names.
  virtual bool Narrows() const { return false; }
  // Other collections it reads.
  virtual void AddNamespaces(std::vector<Namespace>*) const {}

 protected:
  const expr::Context* context() const { return context_; }

 private:
  bson::Document source_;
  const expr::Context* context_;
};

enum StageFlags : uint32_t {
  kFirst = 1,           // must begin its pipeline and has no input
  kLast = 2,            // must end its pipeline
  kNotInFacet = 4,      // refused in $facet (40600)
  kNotInLookup = 8,     // refused in $lookup (51047)
  kNotInUnion = 16,     // refused in $unionWith (31441)
  kDatabase = 32,       // needs {aggregate: 1}
  kNotInView = 64,      // refused in a view's definition
  kAdmin = 128,         // needs the database admin
  kTopOnly = 512,       // refused in every sub-pipeline (InvalidNamespace)
  kNoCollection = 256,  // may begin a pipeline of {aggregate: 1}
  kInternal = 1024,     // unknown to users
  kInStream = 2048,     // may be part of a $changeStream pipeline
  kLeads = 4096,        // must begin its pipeline, and reads its collection
  kOptions = 8192,      // its argument is a list of named options, none of them twice (40413)
};

struct StageRow {
  std::string_view name;
  // One stage of the language may become several here.
  Result<Stages> (*parse)(const bson::Element& spec, const StageContext& context);
  // States what the stage does beside reading the pipeline's input; of a kFirst stage, which has
  // none, all that it does. Reads what it names by the same functions as `parse`.
  Status (*needs)(const bson::Element& spec, const PipelineOptions& options, auth::Needs* out);
  uint32_t flags;
  int not_first = 40602;  // the error of a kFirst or kLeads stage behind another
  int wrong_place = 73;   // the error of a kDatabase stage on a collection: InvalidNamespace
};

// Null when there is no such stage.
const StageRow* FindStage(std::string_view name);
std::span<const StageRow> AllStages();

}  // namespace quire::plan
