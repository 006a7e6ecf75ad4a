// SPDX-License-Identifier: Apache-2.0
#include "exec/join/lookup.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "exec/combine/row_spool.h"
#include "exec/documents.h"
#include "exec/evaluation.h"
#include "exec/join/hash_join.h"
#include "exec/join/lookup_unwind.h"
#include "expr/collation/collator.h"
#include "expr/projection/add_fields.h"
#include "plan/stages/lookup_internal.h"
#include "plan/stages/stage_internal.h"
#include "plan/stages/sub_pipeline_internal.h"

namespace quire::plan {

namespace {

// Binds a variable, in place of an outer one of the same name.
void Bind(expr::Context* context, const std::string& name, const bson::Value& value) {
  for (auto& [known, bound] : context->let) {
    if (known == name) {
      bound = bson::OwnedValue(value);
      return;
    }
  }
  context->let.emplace_back(name, bson::OwnedValue(value));
}

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
  return has_pipeline_ ? CheckPipeline(context) : Status::Ok();
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

// Parses the pipeline once to find its errors. With variables, whose values are only known per
// document, an error may come from the stand-in value: then only those of the text count.
Status LookupStage::CheckPipeline(const StageContext& context) {
  pipeline_ = bson::Document(pipeline_value_.AsArray());
  expr::Context stand_in = *context.context;
  for (const Variable& variable : variables_) {
    Bind(&stand_in, variable.name, bson::Value::Null());
  }
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
    expr::Context stand_in = *context();
    for (const Variable& variable : variables_) {
      Bind(&stand_in, variable.name, bson::Value::Null());
    }
    Result<Stages> parsed = ParsePipeline(pipeline_, options_, &stand_in);
    if (parsed.ok()) {
      plan::AddNamespaces(*parsed, namespaces);
    }
  }
}

// One running $lookup: chooses how the other side is read and remembers what can be reused.
class LookupRun {
 public:
  LookupRun(const LookupStage& stage, PipelineEnvironment& env)
      : stage_(stage), env_(env), evaluation_(stage.context()) {}

  Result<OperatorPtr> Open(OpContext& op, const exec::Row& row) {
    if (!stage_.has_pipeline_) {
      return OpenJoin(op, row);
    }
    bson::Document filter = stage_.joins_fields() ? JoinFilter(row) : bson::Document();
    if (!stage_.variables_.empty()) {
      return OpenWithVariables(op, row, filter);
    }
    if (stage_.joins_fields()) {
      return OpenSubPipeline(op, env_, stage_.ns_, filter, stage_.pipeline_, stage_.options_,
                             *stage_.context());
    }
    return OpenUncorrelated(op);
  }

 private:
  // The values the local field has, arrays taken apart; null when it has none.
  std::vector<bson::Value> LocalValues(const exec::Row& row) const {
    std::vector<bson::Value> values;
    auto add = [&](const bson::Value& value) {
      values.push_back(value.nullish() ? bson::Value::Null() : value);
    };
    exec::VisitValues(bson::Value(row.document), stage_.local_, 0, [&](const bson::Value& value) {
      if (!value.is_array()) {
        add(value);
        return;
      }
      for (const bson::Element& element : value.AsArray()) {
        add(element.value());
      }
    });
    if (values.empty()) {
      values.push_back(bson::Value::Null());
    }
    return values;
  }

  bson::Document JoinFilter(const exec::Row& row) const {
    std::vector<bson::Value> values = LocalValues(row);
    bson::Builder filter;
    if (values.size() == 1) {
      filter.BeginDocument(stage_.foreign_).Append("$eq", values[0]).End();
      return filter.Finish();
    }
    filter.BeginArray("$or");
    for (const bson::Value& value : values) {
      filter.PushDocument().BeginDocument(stage_.foreign_).Append("$eq", value).End().End();
    }
    filter.End();
    return filter.Finish();
  }

  Result<OperatorPtr> OpenJoin(OpContext& op, const exec::Row& row) {
    if (!indexed_) {
      indexed_ = env_.HasIndexOn(stage_.ns_, stage_.foreign_) ||
                 env_.rewrites_off().count("hash-join") > 0;
    }
    bson::View inner = stage_.inner_filter_;
    if (*indexed_) {
      bson::Document filter = JoinFilter(row);
      if (!inner.empty()) {
        bson::Builder both;
        both.BeginArray("$and").Push(filter.view()).Push(inner).End();
        filter = both.Finish();
      }
      return OpenSubPipeline(op, env_, stage_.ns_, filter, bson::View(), stage_.options_,
                             *stage_.context());
    }
    if (!table_) {
      table_.emplace(stage_.context()->collator);
      ASSIGN_OR_RETURN(auto all, OpenSubPipeline(op, env_, stage_.ns_, inner, bson::View(),
                                                 stage_.options_, *stage_.context()));
      ASSIGN_OR_RETURN(bool fits, table_->Fill(op, *all, exec::SplitFieldPath(stage_.foreign_)));
      if (!fits) {
        indexed_ = true;
        return OpenJoin(op, row);
      }
    }
    std::set<size_t> positions;
    for (const bson::Value& value : LocalValues(row)) {
      for (size_t at : table_->Find(value)) {
        positions.insert(at);
      }
    }
    exec::Documents::List found;
    for (size_t at : positions) {
      found.push_back(table_->document(at));
    }
    return OperatorPtr(std::make_unique<exec::Documents>(std::move(found)));
  }

  Result<OperatorPtr> OpenWithVariables(OpContext& op, const exec::Row& row,
                                        const bson::Document& filter) {
    auto context = std::make_unique<expr::Context>(*stage_.context());
    expr::agg::EvalContext& eval = evaluation_.Start(row);
    for (const auto& variable : stage_.variables_) {
      ASSIGN_OR_RETURN(bson::Value value, variable.value->Evaluate(eval));
      Bind(context.get(), variable.name, value);
    }
    ASSIGN_OR_RETURN(auto top, OpenSubPipeline(op, env_, stage_.ns_, filter, stage_.pipeline_,
                                               stage_.options_, *context));
    return OperatorPtr(std::make_unique<OwnedRun>(std::move(context), std::move(top)));
  }

  // The pipeline gives the same for every document: it runs once.
  Result<OperatorPtr> OpenUncorrelated(OpContext& op) {
    if (!cached_) {
      ASSIGN_OR_RETURN(auto top,
                       OpenSubPipeline(op, env_, stage_.ns_, bson::View(), stage_.pipeline_,
                                       stage_.options_, *stage_.context()));
      auto spool = std::make_shared<exec::RowSpool>(op.memory_limit, env_.allow_disk_use());
      exec::Row found;
      for (;;) {
        ASSIGN_OR_RETURN(bool more, top->Next(op, &found));
        if (!more) {
          break;
        }
        RETURN_IF_ERROR(spool->Add(found.document));
      }
      cached_ = std::move(spool);
    }
    return exec::RowSpool::Read(cached_);
  }

  const LookupStage& stage_;
  PipelineEnvironment& env_;
  exec::Evaluation evaluation_;
  std::optional<bool> indexed_;  // by an index, or because the table would be too large
  std::optional<exec::HashJoinTable> table_;
  std::shared_ptr<const exec::RowSpool> cached_;
};

Result<OperatorPtr> LookupStage::Build(OpContext&, OperatorPtr input,
                                       PipelineEnvironment& env) const {
  auto run = std::make_shared<LookupRun>(*this, env);
  auto inner = [run](OpContext& op, const exec::Row& row) { return run->Open(op, row); };
  if (unwind_) {
    return OperatorPtr(
        std::make_unique<exec::LookupUnwind>(std::move(input), *unwind_, std::move(inner)));
  }
  return OperatorPtr(std::make_unique<exec::Lookup>(std::move(input), as_, std::move(inner)));
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

}  // namespace quire::plan
