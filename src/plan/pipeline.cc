// SPDX-License-Identifier: Apache-2.0
#include "plan/pipeline.h"

#include <algorithm>
#include <span>

#include "exec/timed.h"
#include "plan/lower.h"
#include "plan/stages/order_internal.h"
#include "plan/stages/reshape_internal.h"
#include "plan/stages/stage_internal.h"

namespace quire::plan {

namespace {

constexpr size_t kMaxStages = 1000;
constexpr int kMaxDepth = 20;

Status CheckPlace(const StageRow& row, const PipelineOptions& options) {
  std::string name(row.name);
  switch (options.place) {
    case PipelinePlace::kFacet:
      if (row.flags & kNotInFacet) {
        return Status(40600, name + " is not allowed to be used within a $facet stage");
      }
      break;
    case PipelinePlace::kLookup:
      if (row.flags & kNotInLookup) {
        return Status(51047, name + " is not allowed within a $lookup's sub-pipeline");
      }
      break;
    case PipelinePlace::kUnionWith:
      if (row.flags & kNotInUnion) {
        return Status(31441, name + " is not allowed within a $unionWith's sub-pipeline");
      }
      break;
    case PipelinePlace::kView:
      if (row.flags & kNotInView) {
        return Status(kOptionNotSupportedOnView, name + " is not allowed in a view's pipeline");
      }
      break;
    case PipelinePlace::kTop:
      break;
  }
  bool top = options.place == PipelinePlace::kTop || options.place == PipelinePlace::kView;
  if ((row.flags & kTopOnly) && !top) {
    return Status(kInvalidNamespace, name + " must not be used in a sub-pipeline");
  }
  if ((row.flags & kNotInFacet) && options.in_facet) {
    return Status(40600, name + " is not allowed to be used within a $facet stage");
  }
  return Status::Ok();
}

Status CheckNamespace(const StageRow& row, const PipelineOptions& options) {
  bool on_database = options.ns.collection.empty();
  if (options.place == PipelinePlace::kView && row.name == "$listSessions") {
    return Status(kInvalidNamespace, "$listSessions must be run on config.system.sessions");
  }
  if ((row.flags & kDatabase) &&
      (!on_database || ((row.flags & kAdmin) && options.ns.database != "admin"))) {
    return Status(
        row.wrong_place,
        std::string(row.name) +
            ((row.flags & kAdmin) ? " must be run against the 'admin' database with {aggregate: 1}"
                                  : " must be run against the database with {aggregate: 1}, not a "
                                    "collection"));
  }
  return Status::Ok();
}

Result<const StageRow*> RowOf(const bson::Element& element, bool internal) {
  if (element.type() != bson::Type::kDocument) {
    return Status(kTypeMismatch, "Each element of the 'pipeline' array must be an object");
  }
  bson::View spec = element.value().AsDocument();
  if (spec.Count() != 1) {
    return Status(40323, "A pipeline stage specification object must contain exactly one field.");
  }
  std::string name(spec.front().name());
  const StageRow* row = FindStage(name);
  if (!row || ((row->flags & kInternal) && !internal)) {
    return Status(40324, "Unrecognized pipeline stage name: '" + name + "'");
  }
  if ((row->flags & kOptions) && spec.front().value().is_document()) {
    RETURN_IF_ERROR(CheckNotRepeated(spec.front().value().AsDocument(), name));
  }
  return row;
}

// The pipeline shows a text score in a stage of its own, not in a pipeline within one.
bool AsksForTextScore(bson::View pipeline) {
  return std::any_of(pipeline.begin(), pipeline.end(), [](const bson::Element& element) {
    const bson::View stage = element.value().AsDocument();
    const std::string_view name = stage.front().name();
    const bool shows = name == "$project" || name == "$addFields" || name == "$set";
    return shows && AsksForMeta(bson::Value(stage), "textScore");
  });
}

// A sort by a score or a distance needs the first stage to give one, and so does what shows a
// score.
Status CheckMeta(bson::View pipeline, const Stages& stages) {
  const auto* first = stages.empty() ? nullptr : dynamic_cast<const MatchStage*>(stages[0].get());
  bool text = first && FilterUses(first->filter(), {"$text"});
  if (!text && AsksForTextScore(pipeline)) {
    return {40218, "query requires text score metadata, but it is not available"};
  }
  bool distance = stages.size() > 1 && stages[1]->name() == "$geoNear";
  bool score = std::any_of(stages.begin(), stages.end(),
                           [](const StagePtr& stage) { return stage->name() == "$rankFusion"; });
  for (const StagePtr& stage : stages) {
    const auto* sort = dynamic_cast<const SortStage*>(stage.get());
    if (!sort) {
      continue;
    }
    for (const expr::SortPattern::Part& part : sort->pattern().parts()) {
      if ((part.meta == "textScore" && !text) || (part.meta == "geoNearDistance" && !distance) ||
          (part.meta == "score" && !score)) {
        const std::string what = part.meta == "textScore" ? "text score" : part.meta;
        return Status(40218, "query requires " + what + " metadata, but it is not available");
      }
    }
  }
  return Status::Ok();
}

// The details of a score are there when $rankFusion was told to give them.
Status CheckScoreDetails(bson::View pipeline) {
  for (const bson::Element& element : pipeline) {
    bson::Value fusion = element.value().AsDocument()["$rankFusion"];
    if (!fusion.is_document()) {
      continue;
    }
    bson::Value details = fusion.AsDocument()["scoreDetails"];
    bool given = details.type() == bson::Type::kBool && details.AsBool();
    if (!given && AsksForMeta(bson::Value::Array(pipeline), "scoreDetails")) {
      return Status(40218, "query requires scoreDetails metadata, but it is not available");
    }
  }
  return Status::Ok();
}

Status CheckText(const Stages& stages) {
  for (size_t i = 1; i < stages.size(); ++i) {
    const auto* match = dynamic_cast<const MatchStage*>(stages[i].get());
    if (match && FilterUses(match->filter(), {"$text"})) {
      return Status(17313, "$match with $text is only allowed as the first pipeline stage");
    }
  }
  return Status::Ok();
}

// $geoNear comes first once every $match before it that says nothing is gone: drops those, and
// gives their number.
size_t DropEmptyMatches(std::span<const StageRow* const> rows, Stages* stages) {
  auto is_empty_match = [](const StagePtr& stage) {
    const auto* match = dynamic_cast<const MatchStage*>(stage.get());
    return match != nullptr && match->filter().empty();
  };
  size_t empty = 0;
  while (empty < stages->size() && is_empty_match((*stages)[empty])) {
    ++empty;
  }
  if (empty == rows.size() || rows[empty]->name != "$geoNear") {
    return 0;
  }
  stages->erase(stages->begin(), stages->begin() + static_cast<ptrdiff_t>(empty));
  return empty;
}

// {aggregate: 1} needs a stage that makes its own documents.
Status CheckCollectionless(const std::vector<const StageRow*>& rows,
                           const PipelineOptions& options) {
  std::string first = rows.empty() ? "" : std::string(rows[0]->name);
  bool on_collection = !options.ns.collection.empty();
  bool top = options.place == PipelinePlace::kTop || options.place == PipelinePlace::kView;
  if (top && on_collection && first == "$documents") {
    return Status(kInvalidNamespace,
                  "$documents must be run against the database with {aggregate: 1}, not a "
                  "collection");
  }
  if (options.place != PipelinePlace::kTop || on_collection ||
      (!rows.empty() && (rows[0]->flags & kNoCollection))) {
    return Status::Ok();
  }
  return Status(kInvalidNamespace,
                "{aggregate: 1} is not valid for '" + first + "'; a collection is required.");
}

Status CheckPosition(std::span<const StageRow* const> rows, size_t view_stages) {
  for (size_t i = 0; i < rows.size(); ++i) {
    if (((rows[i]->flags & kFirst) && i > 0) || ((rows[i]->flags & kLeads) && i > view_stages)) {
      return Status(rows[i]->not_first,
                    std::string(rows[i]->name) + " is only valid as the first stage in a pipeline");
    }
    if ((rows[i]->flags & kLast) && i + 1 < rows.size()) {
      return Status(40601, std::string(rows[i]->name) +
                               " can only be the final stage in the "
                               "pipeline");
    }
  }
  return Status::Ok();
}

// What may follow $changeStream: stages that look at one event at a time.
Status CheckChangeStream(const std::vector<const StageRow*>& rows, bson::View pipeline) {
  constexpr std::string_view kSplit = "$changeStreamSplitLargeEvent";
  bool stream = !rows.empty() && rows[0]->name == "$changeStream";
  size_t i = 0;
  for (const bson::Element& element : pipeline) {
    const StageRow& row = *rows[i++];
    if (row.name == kSplit && !stream) {
      return Status(kIllegalOperation,
                    std::string(kSplit) + " can only be used in a $changeStream pipeline");
    }
    if (row.name == kSplit && i < rows.size()) {
      return Status(7182802, std::string(kSplit) + " must be the last stage in the pipeline");
    }
    bson::Value spec = element.value().AsDocument().front().value();
    bool sorts = row.name == "$fill" && spec.is_document() && spec.AsDocument().Has("sortBy");
    if (stream && (!(row.flags & kInStream) || sorts)) {
      return Status(kIllegalOperation,
                    std::string(row.name) + " is not permitted in a $changeStream pipeline");
    }
  }
  return Status::Ok();
}

}  // namespace

Result<Stages> ParsePipeline(bson::View pipeline, const PipelineOptions& options,
                             const expr::Context* context) {
  if (options.depth > kMaxDepth) {
    return Status(232, "Maximum number of nested sub-pipelines exceeded. Limit is 20");
  }
  StageContext stage_context{context, options};
  stage_context.options.view_stages = 0;
  Stages stages;
  std::vector<const StageRow*> rows;
  for (const bson::Element& element : pipeline) {
    ASSIGN_OR_RETURN(const StageRow* row, RowOf(element, options.internal));
    rows.push_back(row);
    if (rows.size() > kMaxStages) {
      return Status(7749501, "Pipeline length must be no longer than 1000 stages");
    }
    RETURN_IF_ERROR(CheckPlace(*row, options));
    ASSIGN_OR_RETURN(Stages parsed,
                     row->parse(element.value().AsDocument().front(), stage_context));
    RETURN_IF_ERROR(CheckNamespace(*row, options));
    for (StagePtr& stage : parsed) {
      stages.push_back(std::move(stage));
    }
  }
  RETURN_IF_ERROR(CheckCollectionless(rows, options));
  size_t dropped = DropEmptyMatches(rows, &stages);
  RETURN_IF_ERROR(CheckPosition(std::span(rows).subspan(dropped), options.view_stages));
  RETURN_IF_ERROR(CheckChangeStream(rows, pipeline));
  RETURN_IF_ERROR(CheckScoreDetails(pipeline));
  RETURN_IF_ERROR(CheckText(stages));
  if (options.place == PipelinePlace::kTop) {
    RETURN_IF_ERROR(CheckMeta(pipeline, stages));
  }
  return stages;
}

Status AddPipelineNeeds(bson::View pipeline, const PipelineOptions& options, auth::Needs* needs) {
  if (options.depth > kMaxDepth) {
    return Status(232, "Maximum number of nested sub-pipelines exceeded. Limit is 20");
  }
  // A branch of $facet reads what comes to it.
  bool reads_input = options.place != PipelinePlace::kFacet;
  bool first = true;
  for (const bson::Element& element : pipeline) {
    ASSIGN_OR_RETURN(const StageRow* row, RowOf(element, options.internal));
    reads_input = reads_input && !(first && (row->flags & kFirst));
    first = false;
    RETURN_IF_ERROR(row->needs(element.value().AsDocument().front(), options, needs));
  }
  if (reads_input) {
    needs->Add(auth::Action::find, auth::Collection(options.ns.database, options.ns.collection));
  }
  return Status::Ok();
}

Result<Stages> ParseDesugared(const bson::Document& pipeline, const StageContext& context) {
  Stages stages;
  for (const bson::Element& element : pipeline.view()) {
    bson::Element spec = element.value().AsDocument().front();
    ASSIGN_OR_RETURN(Stages parsed, FindStage(spec.name())->parse(spec, context));
    for (StagePtr& stage : parsed) {
      stages.push_back(std::move(stage));
    }
  }
  return stages;
}

bool StartsWithSource(const Stages& stages) {
  return !stages.empty() && (FindStage(stages[0]->name())->flags & kFirst) != 0;
}

bool EndsWithSink(const Stages& stages) {
  return !stages.empty() && (FindStage(stages.back()->name())->flags & kLast) != 0;
}

void AddNamespaces(const Stages& stages, std::vector<Namespace>* namespaces) {
  for (const StagePtr& stage : stages) {
    stage->AddNamespaces(namespaces);
  }
}

Result<OperatorPtr> BuildStages(OpContext& op, const Stages& stages, OperatorPtr input,
                                PipelineEnvironment& env,
                                std::vector<const exec::Operator*>* built) {
  for (const StagePtr& stage : stages) {
    ASSIGN_OR_RETURN(input, stage->Build(op, std::move(input), env));
    if (built != nullptr) {
      input = std::make_unique<exec::Timed>(std::move(input));
      built->push_back(input.get());
    }
  }
  return input;
}

void ExplainRun(const exec::Counters& counters, bson::Builder* out) {
  out->Append("nReturned", static_cast<int64_t>(counters.returned));
  out->Append("executionTimeMillisEstimate", static_cast<int64_t>(counters.micros / 1000));
}

void ExplainStages(const Stages& stages, const std::vector<const exec::Operator*>& built,
                   bson::Builder* out) {
  for (size_t i = 0; i < stages.size(); ++i) {
    out->PushDocument();
    stages[i]->Explain(out);
    if (i < built.size()) {
      const exec::Counters& counters = built[i]->counters();
      if (counters.memory > 0 || counters.spills > 0) {
        out->Append("maxMemoryUsageBytes", static_cast<int64_t>(counters.memory));
        out->Append("usedDisk", counters.spills > 0);
        out->Append("spills", static_cast<int64_t>(counters.spills));
      }
      ExplainRun(counters, out);
    }
    out->End();
  }
}

}  // namespace quire::plan
