// SPDX-License-Identifier: Apache-2.0
//
// $group and $sortByCount.
#include "pipeline/stages/group.h"

#include <algorithm>

#include "pipeline/desugar.h"
#include "pipeline/stages/parsing.h"

namespace quire::pipeline {

Status AccumulatedFields::Add(const bson::Element& field, expr::agg::ParseScope& scope) {
  std::string name(field.name());
  if (name.find('.') != std::string::npos) {
    return Status(40235, "The field name '" + name + "' cannot contain '.'");
  }
  if (!name.empty() && name[0] == '$') {
    return Status(40236, "The field name '" + name + "' cannot be an operator name");
  }
  if (field.type() != bson::Type::kDocument || field.value().AsDocument().empty() ||
      field.value().AsDocument().front().name().substr(0, 1) != "$") {
    return Status(40234, "The field '" + name + "' must be an accumulator object");
  }
  bson::View spec = field.value().AsDocument();
  if (spec.Count() != 1) {
    return Status(40238, "The field '" + name + "' must specify one accumulator");
  }
  if (spec.front().type() == bson::Type::kArray) {
    return Status(40237,
                  "The " + std::string(spec.front().name()) + " accumulator is a unary operator");
  }
  ASSIGN_OR_RETURN(auto accumulator, expr::Accumulator::Parse(spec.front(), scope));
  names.push_back(std::move(name));
  accumulators.push_back(std::move(accumulator));
  return Status::Ok();
}

std::vector<exec::GroupOptions::Field> AccumulatedFields::Fields() const {
  std::vector<exec::GroupOptions::Field> fields;
  for (size_t i = 0; i < names.size(); ++i) {
    fields.push_back({names[i], accumulators[i].get()});
  }
  return fields;
}

bool AccumulatedFields::AddDependencies(std::set<std::string>* fields) const {
  for (const auto& accumulator : accumulators) {
    if (!accumulator->AddDependencies(fields)) {
      return false;
    }
  }
  return true;
}

void AccumulatedFields::Serialize(bson::Builder* out) const {
  for (size_t i = 0; i < names.size(); ++i) {
    accumulators[i]->Serialize(names[i], out);
  }
}

namespace {

// {_id: {a: 1}}: looks like an inclusion, which $group does not have.
bool LooksLikeInclusion(const bson::Value& id) {
  if (!id.is_document() || id.AsDocument().empty() ||
      (!id.AsDocument().front().name().empty() && id.AsDocument().front().name()[0] == '$')) {
    return false;
  }
  for (const bson::Element& field : id.AsDocument()) {
    if (field.value().is_number() || field.type() == bson::Type::kBool) {
      return true;
    }
  }
  return false;
}

}  // namespace

Status GroupStage::Parse(const StageContext&) {
  if (!spec().is_document()) {
    return Status(15947, "a group's fields must be specified in an object");
  }
  expr::agg::ParseScope scope;
  scope.context = context();
  for (const bson::Element& field : spec().AsDocument()) {
    if (field.name() != "_id") {
      RETURN_IF_ERROR(fields_.Add(field, scope));
      continue;
    }
    if (id_) {
      return Status(15948, "a group's _id may only be specified once");
    }
    if (LooksLikeInclusion(field.value())) {
      return Status(17390, "$group does not support inclusion-style expressions");
    }
    ASSIGN_OR_RETURN(id_, expr::agg::ParseExpression(field.value(), scope));
    bson::Value id = field.value();
    if (id.is_document() && id.AsDocument().Count() == 1 &&
        !id.AsDocument().front().name().starts_with('$')) {
      empty_key_ =
          bson::Builder().Append(id.AsDocument().front().name(), bson::Value::Null()).Finish();
    }
  }
  if (!id_) {
    return Status(15955, "a group specification must include an _id");
  }
  return Status::Ok();
}

namespace {

// The name in "$name"; empty for everything else.
std::string PlainField(const bson::Value& spec) {
  if (!spec.is_string()) {
    return "";
  }
  std::string_view text = spec.AsString();
  bool plain = text.size() > 1 && text[0] == '$' && text[1] != '$' &&
               text.find('.') == std::string_view::npos;
  return plain ? std::string(text.substr(1)) : "";
}

}  // namespace

std::string GroupStage::FieldOfKey(std::string_view path) const {
  bson::Value id = spec().AsDocument()["_id"];
  if (path == "_id") {
    return PlainField(id);
  }
  constexpr std::string_view kPrefix = "_id.";
  if (!path.starts_with(kPrefix) || !id.is_document()) {
    return "";
  }
  for (const bson::Element& field : id.AsDocument()) {
    if (field.name().starts_with('$')) {
      return "";
    }
  }
  return PlainField(id.AsDocument()[path.substr(kPrefix.size())]);
}

namespace {

// Values that compare alike whether a field is missing or null.
bool IsPlainOperand(const bson::Value& value) {
  switch (value.type()) {
    case bson::Type::kInt32:
    case bson::Type::kInt64:
    case bson::Type::kDouble:
    case bson::Type::kDecimal128:
    case bson::Type::kString:
    case bson::Type::kBool:
    case bson::Type::kDate:
    case bson::Type::kObjectId:
      return true;
    default:
      return false;
  }
}

// Whether the condition says the same of a $group's key and of the field the key was taken from.
bool HoldsForKeys(const bson::Value& condition) {
  if (!condition.is_document()) {
    return IsPlainOperand(condition) || condition.type() == bson::Type::kNull;
  }
  constexpr std::string_view kComparisons[] = {"$eq", "$ne", "$gt", "$gte", "$lt", "$lte"};
  for (const bson::Element& element : condition.AsDocument()) {
    bool list = element.name() == "$in" || element.name() == "$nin";
    if (list && element.type() == bson::Type::kArray) {
      for (const bson::Element& item : element.value().AsArray()) {
        if (!IsPlainOperand(item.value())) {
          return false;
        }
      }
    } else if (std::find(std::begin(kComparisons), std::end(kComparisons), element.name()) ==
                   std::end(kComparisons) ||
               !IsPlainOperand(element.value())) {
      return false;
    }
  }
  return !condition.AsDocument().empty();
}

}  // namespace

std::optional<bson::Document> GroupStage::FilterOnInput(bson::View condition) const {
  bson::Element only = condition.front();
  std::string field = FieldOfKey(only.name());
  if (condition.Count() != 1 || field.empty() || !HoldsForKeys(only.value())) {
    return std::nullopt;
  }
  return bson::Builder().Append(field, only.value()).Finish();
}

Result<OperatorPtr> GroupStage::Build(OpContext&, OperatorPtr input,
                                      const BuildOptions& build) const {
  exec::GroupOptions options;
  options.gives_partials = part_ == Part::kGivesPartials;
  options.merges_partials = part_ == Part::kMergesPartials;
  options.id = id_.get();
  options.fields = fields_.Fields();
  options.context = context();
  options.allow_disk = build.allow_disk_use;
  options.empty_key = empty_key_;
  return OperatorPtr(std::make_unique<exec::Group>(std::move(input), std::move(options)));
}

void GroupStage::Explain(bson::Builder* out) const {
  out->BeginDocument("$group");
  id_->Serialize("_id", out);
  fields_.Serialize(out);
  out->End();
}

bool GroupStage::AddDependencies(std::set<std::string>* fields) const {
  return id_->AddDependencies(fields) && fields_.AddDependencies(fields);
}

Result<Stages> ParseGroup(const bson::Element& spec, const StageContext& context) {
  return MakeStage<GroupStage>(spec, context);
}

Result<Stages> ParseSortByCount(const bson::Element& spec, const StageContext& context) {
  bson::Value by = spec.value();
  if (by.is_document()) {
    bson::View fields = by.AsDocument();
    if (fields.empty() || fields.front().name().empty() || fields.front().name()[0] != '$') {
      return Status(40147,
                    "the sortByCount field must be defined as a $-prefixed path or an "
                    "expression inside an object");
    }
  } else if (by.is_string()) {
    if (by.AsString().empty() || by.AsString()[0] != '$') {
      return Status(40148,
                    "the sortByCount field must be defined as a $-prefixed path or an "
                    "expression inside an object");
    }
  } else {
    return Status(40149, "the sortByCount field must be specified as a string or as an object");
  }
  bson::Builder stages;
  stages.PushDocument()
      .BeginDocument("$group")
      .Append("_id", by)
      .BeginDocument("count")
      .Append("$sum", int32_t{1})
      .End()
      .End()
      .End();
  stages.PushDocument().BeginDocument("$sort").Append("count", int32_t{-1}).End().End();
  return ParseDesugared(stages.Finish(), context);
}

}  // namespace quire::pipeline
