// SPDX-License-Identifier: Apache-2.0
//
// $rankFusion: the stages of its first pipeline, and a stage that reads the others and ranks.
#include "pipeline/stages/rank_fusion.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "bson/number.h"
#include "pipeline/needs.h"
#include "pipeline/parse.h"
#include "pipeline/stage_table.h"
#include "pipeline/stages/order.h"
#include "pipeline/stages/parsing.h"

namespace quire::pipeline {

namespace {

constexpr std::string_view kRanked =
    " All subpipelines to the $rankFusion stage must begin with one of $search, $vectorSearch, "
    "$geoNear, or have a custom $sort in the pipeline.";

template <size_t N>
bool OneOf(std::string_view name, const std::string_view (&names)[N]) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

bool IsHybrid(std::string_view stage) { return stage == "$rankFusion" || stage == "$scoreFusion"; }

// Stages that give documents as they are.
bool Selects(const bson::Element& stage) {
  static constexpr std::string_view kSelecting[] = {
      "$match", "$sort", "$limit", "$skip", "$sample", "$geoNear", "$search", "$vectorSearch"};
  if (!OneOf(stage.name(), kSelecting)) {
    return false;
  }
  bson::Value spec = stage.value();
  return stage.name() != "$geoNear" || !spec.is_document() ||
         (!spec.AsDocument().Has("distanceField") && !spec.AsDocument().Has("includeLocs"));
}

bool Ranks(const bson::Element& stage, bool first) {
  static constexpr std::string_view kRanking[] = {"$geoNear", "$search", "$vectorSearch"};
  return stage.name() == "$sort" || (first && OneOf(stage.name(), kRanking));
}

// Each stage one field with a known name, and no $rankFusion but at the beginning.
Status CheckStages(bson::View pipeline) {
  bool first = true;
  for (const bson::Element& element : pipeline) {
    if (element.type() != bson::Type::kDocument) {
      return WrongType("$rankFusion.input.pipelines", element.value(), "object");
    }
    bson::View stage = element.value().AsDocument();
    if (stage.Count() != 1) {
      return Status(40323, "A pipeline stage specification object must contain exactly one field.");
    }
    if (IsHybrid(stage.front().name()) && !first) {
      return Status(10170100, std::string(stage.front().name()) +
                                  " is only valid as the first stage in an aggregation pipeline.");
    }
    if (FindStage(stage.front().name()) == nullptr) {
      return Status(
          40324, "Unrecognized pipeline stage name: '" + std::string(stage.front().name()) + "'");
    }
    first = false;
  }
  return Status::Ok();
}

// Whether the pipeline gives documents as they are, in an order.
Status CheckRanked(bson::View pipeline) {
  if (pipeline.empty()) {
    return Status(9834300, "$rankFusion input pipeline cannot be empty." + std::string(kRanked));
  }
  if (IsHybrid(pipeline.front().value().AsDocument().front().name())) {
    return Status(10473002, "$rankFusion input pipeline has a nested hybrid search stage." +
                                std::string(kRanked));
  }
  std::vector<bson::Element> stages;
  for (const bson::Element& element : pipeline) {
    stages.push_back(*element.value().AsDocument().begin());
  }
  bool ranked = false;
  for (const bson::Element& stage : stages) {
    ranked = ranked || Ranks(stage, &stage == &stages.front());
  }
  if (!ranked) {
    return Status(9191100, "Input pipeline is not ranked." + std::string(kRanked));
  }
  for (const bson::Element& stage : stages) {
    if (!Selects(stage)) {
      return Status(9191103, std::string(stage.name()) +
                                 " is not allowed in an input pipeline of $rankFusion. Only stages "
                                 "that retrieve, limit, or order documents are allowed.");
    }
  }
  return Status::Ok();
}

Status CheckName(std::string_view name) {
  if (name.empty()) {
    return Status(15998, "FieldPath field names may not be empty strings.");
  }
  if (name.front() == '$') {
    return Status(16410, "FieldPath field names may not start with '$'.");
  }
  if (name.find('.') != std::string_view::npos) {
    return Status(16412, "FieldPath field names may not contain '.'.");
  }
  return Status::Ok();
}

// A field that is there and not null, of an object's type.
Result<bson::View> ObjectField(bson::View spec, const std::string& where, std::string_view name) {
  bson::Value value = spec[name];
  if (value.nullish()) {
    return Status(40414, "BSON field '" + where + "." + std::string(name) +
                             "' is missing but a required field");
  }
  if (!value.is_document()) {
    return WrongType(where + "." + std::string(name), value, "object");
  }
  return value.AsDocument();
}

template <size_t N>
Status CheckFields(bson::View spec, const std::string& where, const std::string_view (&known)[N]) {
  for (const bson::Element& field : spec) {
    if (!OneOf(field.name(), known)) {
      return Status(40415, "BSON field '" + where + "." + std::string(field.name()) +
                               "' is an unknown field.");
    }
  }
  return Status::Ok();
}

}  // namespace

Status RankFusionStage::ParseInput(const bson::Element& field, const StageContext& context) {
  if (field.type() != bson::Type::kArray) {
    return WrongType("$rankFusion.input.pipelines." + std::string(field.name()), field.value(),
                     "array");
  }
  bson::View pipeline = field.value().AsArray();
  RETURN_IF_ERROR(CheckStages(pipeline));
  RETURN_IF_ERROR(CheckRanked(pipeline));
  ASSIGN_OR_RETURN(Stages stages, ParsePipeline(pipeline, options_, context.context));
  RETURN_IF_ERROR(CheckName(field.name()));
  Input input;
  input.pipeline = bson::Document(pipeline);
  for (const StagePtr& stage : stages) {
    if (const auto* sort = As<SortStage>(stage.get())) {
      input.sort = bson::Document(sort->document());
    }
  }
  ASSIGN_OR_RETURN(input.order, expr::SortPattern::Parse(input.sort));
  if (!inputs_.emplace(std::string(field.name()), std::move(input)).second) {
    return Status(9921000, "$rankFusion pipeline names must be unique, but found duplicate name '" +
                               std::string(field.name()) + "'.");
  }
  return Status::Ok();
}

Status RankFusionStage::ParseWeights(bson::View combination) {
  static constexpr std::string_view kFields[] = {"weights"};
  RETURN_IF_ERROR(CheckFields(combination, "$rankFusion.combination", kFields));
  ASSIGN_OR_RETURN(bson::View weights,
                   ObjectField(combination, "$rankFusion.combination", "weights"));
  if (weights.Count() > inputs_.size()) {
    return Status(9460301, "$rankFusion input has more weights than pipelines");
  }
  for (const bson::Element& weight : weights) {
    auto input = inputs_.find(weight.name());
    if (input == inputs_.end()) {
      return Status(9967500, "$rankFusion has a weight for '" + std::string(weight.name()) +
                                 "', which is the name of no input pipeline");
    }
    if (!weight.value().is_number()) {
      return Status(13118, "$rankFusion pipeline weight must be numeric, but found: " +
                               bson::ToJson(weight.value()));
    }
    double number = bson::ToDouble(weight.value());
    if (!(number >= 0)) {
      return Status(9460300, "$rankFusion pipeline weight must be non-negative, but found: " +
                                 bson::ToJson(weight.value()));
    }
    input->second.weight = number;
  }
  return Status::Ok();
}

Status RankFusionStage::Parse(const StageContext& context, Stages* first) {
  if (!spec().is_document()) {
    return Status(kFailedToParse, "The $rankFusion stage specification must be an object, found " +
                                      std::string(bson::TypeName(spec().type())));
  }
  static constexpr std::string_view kFields[] = {"input", "combination", "scoreDetails"};
  static constexpr std::string_view kInputFields[] = {"pipelines"};
  bson::View fields = spec().AsDocument();
  RETURN_IF_ERROR(CheckFields(fields, "$rankFusion", kFields));
  ASSIGN_OR_RETURN(bson::View input, ObjectField(fields, "$rankFusion", "input"));
  RETURN_IF_ERROR(CheckFields(input, "$rankFusion.input", kInputFields));
  ASSIGN_OR_RETURN(bson::View pipelines, ObjectField(input, "$rankFusion.input", "pipelines"));
  std::optional<bson::View> combination;
  if (!fields["combination"].nullish()) {
    ASSIGN_OR_RETURN(combination, ObjectField(fields, "$rankFusion", "combination"));
  }
  if (bson::Value details = fields["scoreDetails"]; !details.nullish()) {
    if (details.type() != bson::Type::kBool) {
      return WrongType("$rankFusion.scoreDetails", details, "bool");
    }
    details_ = details.AsBool();
  }
  if (pipelines.empty()) {
    return Status(kBadValue, "$rankFusion needs at least one input pipeline");
  }
  options_ = context.options;
  options_.place = PipelinePlace::kUnionWith;
  ++options_.depth;
  for (const bson::Element& field : pipelines) {
    RETURN_IF_ERROR(ParseInput(field, context));
  }
  if (combination) {
    RETURN_IF_ERROR(ParseWeights(*combination));
  }
  ASSIGN_OR_RETURN(
      *first, ParsePipeline(inputs_.begin()->second.pipeline, context.options, context.context));
  return Status::Ok();
}

Status RankFusionNeeds(const bson::Element& spec, const PipelineOptions& options,
                       auth::Needs* needs) {
  bson::Value input =
      spec.value().is_document() ? spec.value().AsDocument()["input"] : bson::Value();
  bson::Value pipelines = input.is_document() ? input.AsDocument()["pipelines"] : bson::Value();
  if (!pipelines.is_document()) {
    return Status::Ok();
  }
  PipelineOptions inner = options;
  ++inner.depth;
  for (const bson::Element& pipeline : pipelines.AsDocument()) {
    if (pipeline.type() == bson::Type::kArray) {
      RETURN_IF_ERROR(AddPipelineNeeds(pipeline.value().AsArray(), inner, needs));
    }
  }
  return Status::Ok();
}

Result<Stages> ParseRankFusion(const bson::Element& spec, const StageContext& context) {
  auto stage = std::make_unique<RankFusionStage>(spec, context);
  Stages stages;
  RETURN_IF_ERROR(stage->Parse(context, &stages));
  stages.push_back(std::move(stage));
  return stages;
}

}  // namespace quire::pipeline
