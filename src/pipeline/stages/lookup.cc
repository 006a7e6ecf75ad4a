// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/lookup.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "expr/projection/add_fields.h"
#include "pipeline/parse.h"
#include "pipeline/stages/foreign.h"
#include "pipeline/stages/parsing.h"

namespace quire::pipeline {

namespace {

bool IsVariableName(std::string_view name) {
  if (name.empty()) {
    return false;
  }
  auto first = static_cast<unsigned char>(name[0]);
  bool starts = (first >= 'a' && first <= 'z') || first >= 0x80;
  return starts && std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return std::isalnum(c) || c == '_' || c >= 0x80;
         });
}

}  // namespace

void BindVariables(const std::vector<LookupStage::Variable>& variables,
                   const std::vector<bson::OwnedValue>& values, expr::Context* context) {
  auto& let = context->let;
  std::map<std::string, size_t, std::less<>> places;
  for (size_t i = 0; i < let.size(); ++i) {
    places.emplace(let[i].first, i);
  }
  for (size_t i = 0; i < variables.size(); ++i) {
    const auto [place, is_new] = places.emplace(variables[i].name, let.size());
    if (is_new) {
      let.emplace_back(variables[i].name, values[i]);
    } else {
      let[place->second].second = values[i];
    }
  }
}

Status LookupStage::ParseField(const bson::Element& field) {
  std::string_view name = field.name();
  bson::Value value = field.value();
  if (value.type() == bson::Type::kNull && name != "pipeline") {
    return Status::Ok();
  }
  if (name == "from") {
    from_ = value;
  } else if (name == "let") {
    if (!value.is_document()) {
      return WrongType("$lookup.let", value, "object");
    }
    let_ = value;
  } else if (name == "pipeline") {
    if (!value.is_array()) {
      return WrongType("$lookup.pipeline", value, "array");
    }
    pipeline_value_ = value;
  } else if (name == "localField" || name == "foreignField" || name == "as") {
    if (!value.is_string()) {
      return WrongType("$lookup." + std::string(name), value, "string");
    }
    if (name != "as" && value.AsString().empty()) {
      return Status::Ok();
    }
    (name == "as"           ? as_field_
     : name == "localField" ? local_field_
                            : foreign_field_) = std::string(value.AsString());
  } else {
    return Status(40415, "BSON field '$lookup." + std::string(name) + "' is an unknown field.");
  }
  return Status::Ok();
}

Status LookupStage::Parse(const StageContext& context) {
  if (!spec().is_document()) {
    return Status(kFailedToParse, "the $lookup stage specification must be an object, but found " +
                                      std::string(bson::TypeName(spec().type())));
  }
  bson::View fields = spec().AsDocument();
  if (!fields.Has("from") && !StartsWithDocuments(fields["pipeline"])) {
    return Status(kFailedToParse,
                  "missing 'from' option to $lookup stage specification: " + bson::ToJson(fields));
  }
  for (const bson::Element& field : fields) {
    RETURN_IF_ERROR(ParseField(field));
  }
  RETURN_IF_ERROR(CheckFields(context));
  if (!let_.missing()) {
    RETURN_IF_ERROR(ParseLet(let_.AsDocument()));
  }
  return has_pipeline_ ? CheckPipeline() : Status::Ok();
}

Status LookupStage::CheckFields(const StageContext& context) {
  if (!as_field_) {
    return Status(40414, "BSON field '$lookup.as' is missing but a required field");
  }
  RETURN_IF_ERROR(expr::CheckFieldPath(*as_field_));
  as_ = exec::SplitFieldPath(*as_field_);
  has_pipeline_ = !pipeline_value_.missing();
  if (from_.missing() && !StartsWithDocuments(pipeline_value_)) {
    return Status(kFailedToParse, "$lookup argument 'from' must be a string");
  }
  if (!from_.missing()) {
    if (StartsWithDocuments(pipeline_value_)) {
      return Status(kInvalidNamespace,
                    "$documents is not allowed in a $lookup that names a collection");
    }
    ASSIGN_OR_RETURN(ns_, ParseFrom(from_, "$lookup", context.options.ns));
  }
  options_ = context.options;
  options_.place = PipelinePlace::kLookup;
  options_.ns = ns_;
  ++options_.depth;
  if (local_field_.has_value() != foreign_field_.has_value()) {
    return Status(kFailedToParse,
                  "$lookup requires both or neither of 'localField' and 'foreignField' to be "
                  "specified");
  }
  if (!has_pipeline_ && !local_field_) {
    return Status(kFailedToParse,
                  "$lookup requires either 'pipeline' or both 'localField' and "
                  "'foreignField' to be specified");
  }
  if (!has_pipeline_ && !let_.missing()) {
    return Status(kFailedToParse, "$lookup with a 'let' argument must also specify 'pipeline'");
  }
  if (local_field_) {
    RETURN_IF_ERROR(expr::CheckFieldPath(*local_field_));
    RETURN_IF_ERROR(expr::CheckFieldPath(*foreign_field_));
    local_ = exec::SplitFieldPath(*local_field_);
    foreign_ = *foreign_field_;
  }
  return Status::Ok();
}

Status LookupStage::ParseLet(bson::View let) {
  for (const bson::Element& field : let) {
    if (!IsVariableName(field.name())) {
      return Status(kFailedToParse, "'" + std::string(field.name()) +
                                        "' starts with an invalid character for a user variable "
                                        "name");
    }
    Variable variable;
    variable.name = field.name();
    ASSIGN_OR_RETURN(variable.value, ParseExpression(field.value(), context()));
    variables_.push_back(std::move(variable));
  }
  return Status::Ok();
}

expr::Context LookupStage::WithStandIns() const {
  expr::Context stand_in = *context();
  BindVariables(
      variables_,
      std::vector<bson::OwnedValue>(variables_.size(), bson::OwnedValue(bson::Value::Null())),
      &stand_in);
  if (!variables_.empty()) {
    stand_in.constant_errors = nullptr;  // errors of values that only stand in concern nobody
  }
  return stand_in;
}

// Parses the pipeline once to find its errors. With variables, whose values are only known per
// document, an error may come from the stand-in value: then only those of the text count.
Status LookupStage::CheckPipeline() {
  pipeline_ = bson::Document(pipeline_value_.AsArray());
  const expr::Context stand_in = WithStandIns();
  Result<Stages> parsed = ParsePipeline(pipeline_, options_, &stand_in);
  if (parsed.ok() || variables_.empty()) {
    return parsed.status();
  }
  constexpr int kTextErrors[] = {40323, 40324, 40600, 40602, 51047, 17276,
                                 168,   232,   9,     40415, 40414, 7749501};
  for (int code : kTextErrors) {
    if (parsed.status().code() == code) {
      return parsed.status();
    }
  }
  return Status::Ok();
}

bool LookupStage::AddDependencies(std::set<std::string>* fields) const {
  if (joins_fields()) {
    fields->insert(local_[0]);
  }
  for (const Variable& variable : variables_) {
    if (!variable.value->AddDependencies(fields)) {
      return false;
    }
  }
  return true;
}

void LookupStage::AddNamespaces(std::vector<Namespace>* namespaces) const {
  if (!ns_.collection.empty()) {
    namespaces->push_back(ns_);
  }
  if (has_pipeline_) {
    const expr::Context stand_in = WithStandIns();
    Result<Stages> parsed = ParsePipeline(pipeline_, options_, &stand_in);
    if (parsed.ok()) {
      pipeline::AddNamespaces(*parsed, namespaces);
    }
  }
}

std::optional<bson::Document> LookupStage::FilterOnJoined(bson::View condition) const {
  bson::Element only = condition.front();
  const std::string prefix = as_[0] + ".";
  bool joined = condition.Count() == 1 && as_.size() == 1 && only.name().size() > prefix.size() &&
                only.name().starts_with(prefix);
  if (!joined) {
    return std::nullopt;
  }
  return bson::Builder().Append(only.name().substr(prefix.size()), only.value()).Finish();
}

void LookupStage::TakeFilter(bson::View filter) {
  if (has_pipeline_) {
    bson::Builder longer;
    for (const bson::Element& stage : pipeline_.view()) {
      longer.Push(stage.value());
    }
    longer.PushDocument().Append("$match", filter).End();
    pipeline_ = longer.Finish();
    return;
  }
  bson::Builder both;
  both.BeginArray("$and");
  for (bson::View part : {inner_filter_.view(), filter}) {
    if (!part.empty()) {
      both.Push(part);
    }
  }
  both.End();
  inner_filter_ = both.Finish();
}

void LookupStage::Explain(bson::Builder* out) const {
  out->BeginDocument(name()).AppendFields(spec().AsDocument());
  if (unwind_) {
    out->BeginDocument("unwinding").Append("preserveNullAndEmptyArrays", unwind_->preserve);
    if (!unwind_->index_path.empty()) {
      out->Append("includeArrayIndex", exec::JoinFieldPath(unwind_->index_path));
    }
    out->End();
  }
  if (!inner_filter_.view().empty()) {
    out->Append("matching", inner_filter_);
  }
  out->End();
}

Status LookupNeeds(const bson::Element& spec, const PipelineOptions& options, auth::Needs* needs) {
  if (!spec.value().is_document()) {
    return Status::Ok();
  }
  bson::View fields = spec.value().AsDocument();
  return AddInnerNeeds(fields["from"], fields["pipeline"], "$lookup", options, needs);
}

Result<Stages> ParseLookup(const bson::Element& spec, const StageContext& context) {
  return MakeStage<LookupStage>(spec, context);
}

}  // namespace quire::pipeline
