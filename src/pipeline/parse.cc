// SPDX-License-Identifier: Apache-2.0
#include "pipeline/parse.h"

#include <algorithm>
#include <span>

#include "base/error_codes.h"
#include "base/try.h"
#include "expr/asks_for_meta.h"
#include "pipeline/stage_table.h"
#include "pipeline/stages/match.h"
#include "pipeline/stages/order.h"

namespace quire::pipeline {

namespace {

constexpr size_t kMaxStages = 1000;

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

// The pipeline shows a text score in a stage of its own, not in a pipeline within one.
bool AsksForTextScore(bson::View pipeline) {
  return std::any_of(pipeline.begin(), pipeline.end(), [](const bson::Element& element) {
    const bson::View stage = element.value().AsDocument();
    const std::string_view name = stage.front().name();
    const bool shows = name == "$project" || name == "$addFields" || name == "$set";
    return shows && expr::AsksForMeta(bson::Value(stage), "textScore");
  });
}

// A sort by a score or a distance needs the first stage to give one, and so does what shows a
// score.
Status CheckMeta(bson::View pipeline, const Stages& stages) {
  const auto* first = stages.empty() ? nullptr : As<MatchStage>(stages[0].get());
  bool text = first && FilterUses(first->filter(), {"$text"});
  if (!text && AsksForTextScore(pipeline)) {
    return {40218, "query requires text score metadata, but it is not available"};
  }
  bool distance = stages.size() > 1 && stages[1]->kind() == StageKind::kNearFields;
  bool score = std::any_of(stages.begin(), stages.end(), [](const StagePtr& stage) {
    return stage->kind() == StageKind::kRankFusion;
  });
  for (const StagePtr& stage : stages) {
    const auto* sort = As<SortStage>(stage.get());
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
    if (!given && expr::AsksForMeta(bson::Value::Array(pipeline), "scoreDetails")) {
      return Status(40218, "query requires scoreDetails metadata, but it is not available");
    }
  }
  return Status::Ok();
}

Status CheckText(const Stages& stages) {
  for (size_t i = 1; i < stages.size(); ++i) {
    const auto* match = As<MatchStage>(stages[i].get());
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
    const auto* match = As<MatchStage>(stage.get());
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
  RETURN_IF_ERROR(CheckDepth(options));
  expr::ConstantErrors constant_errors(context);
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
    if (options.place == PipelinePlace::kFacet && row->name != "$querySettings") {
      RETURN_IF_ERROR(CheckNamespace(*row, options));
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
  RETURN_IF_ERROR(constant_errors.first());
  return stages;
}

}  // namespace quire::pipeline
