// SPDX-License-Identifier: Apache-2.0
//
// $unwind and $count.
#include "pipeline/stages/unwind.h"

#include "exec/count.h"
#include "expr/projection/add_fields.h"
#include "pipeline/stages/parsing.h"

namespace quire::pipeline {

Status UnwindStage::ParsePath(const bson::Value& path) {
  std::string_view text = path.AsString();
  if (text.empty()) {
    return Status(28812, "no path specified to $unwind stage");
  }
  if (text[0] != '$') {
    return Status(
        28818, "path option to $unwind stage should be prefixed with a '$': " + std::string(text));
  }
  if (text.find('\0') != std::string_view::npos) {
    return Status(16419, "field path must not contain embedded null characters");
  }
  RETURN_IF_ERROR(expr::CheckFieldPath(text.substr(1)));
  path_ = text;
  options_.path = exec::SplitFieldPath(text.substr(1));
  return Status::Ok();
}

Status UnwindStage::ParseIndex(const bson::Value& path) {
  if (!path.is_string() || path.AsString().empty()) {
    return Status(28810,
                  "expected a non-empty string for the includeArrayIndex option to $unwind "
                  "stage");
  }
  if (path.AsString()[0] == '$') {
    return Status(28822,
                  "includeArrayIndex option to $unwind stage should not be prefixed with a "
                  "'$': " +
                      std::string(path.AsString()));
  }
  RETURN_IF_ERROR(expr::CheckFieldPath(path.AsString()));
  index_ = path.AsString();
  options_.index_path = exec::SplitFieldPath(index_);
  return Status::Ok();
}

Status UnwindStage::Parse(const StageContext&) {
  if (spec().is_string()) {
    return ParsePath(spec());
  }
  if (!spec().is_document()) {
    return Status(15981,
                  "expected either a string or an object as specification for $unwind "
                  "stage, got " +
                      std::string(bson::TypeName(spec().type())));
  }
  bson::Value path;
  for (const bson::Element& field : spec().AsDocument()) {
    bson::Value value = field.value();
    if (field.name() == "path") {
      if (!value.is_string()) {
        return Status(28808, "expected a string as the path for $unwind stage, got " +
                                 std::string(bson::TypeName(value.type())));
      }
      path = value;
    } else if (field.name() == "preserveNullAndEmptyArrays") {
      if (value.type() != bson::Type::kBool) {
        return Status(28809,
                      "expected a boolean for the preserveNullAndEmptyArrays option to "
                      "$unwind stage, got " +
                          std::string(bson::TypeName(value.type())));
      }
      options_.preserve = value.AsBool();
    } else if (field.name() == "includeArrayIndex") {
      RETURN_IF_ERROR(ParseIndex(value));
    } else {
      return Status(28811, "unrecognized option to $unwind stage: " + std::string(field.name()));
    }
  }
  if (path.missing()) {
    return Status(28812, "no path specified to $unwind stage");
  }
  return ParsePath(path);
}

Result<OperatorPtr> UnwindStage::Build(OpContext&, OperatorPtr input, const BuildOptions&) const {
  return OperatorPtr(std::make_unique<exec::Unwind>(std::move(input), options_));
}

void UnwindStage::Explain(bson::Builder* out) const {
  out->BeginDocument("$unwind").Append("path", path_);
  if (options_.preserve) {
    out->Append("preserveNullAndEmptyArrays", true);
  }
  if (!index_.empty()) {
    out->Append("includeArrayIndex", index_);
  }
  out->End();
}

bool UnwindStage::AddDependencies(std::set<std::string>* fields) const {
  fields->insert(options_.path[0]);
  return true;
}

bool UnwindStage::LetsFilterPass(const std::set<std::string>& fields) const {
  return fields.count(options_.path[0]) == 0 &&
         (options_.index_path.empty() || fields.count(options_.index_path[0]) == 0);
}

namespace {

class CountStage : public StageOf<StageKind::kCount> {
 public:
  using StageOf::StageOf;
  Status Parse(const StageContext&);
  Result<OperatorPtr> Build(OpContext&, OperatorPtr input, const BuildOptions&) const override {
    return OperatorPtr(
        std::make_unique<exec::Count>(std::move(input), std::string(spec().AsString())));
  }
  bool AddDependencies(std::set<std::string>*) const override { return true; }
  bool Narrows() const override { return true; }
  Spread spread() const override { return Spread::kMerged; }
};

Status CountStage::Parse(const StageContext&) {
  if (!spec().is_string()) {
    return Status(40156, "the count field must be a non-empty string");
  }
  std::string_view field = spec().AsString();
  if (field.empty()) {
    return Status(40157, "the count field must be a non-empty string");
  }
  if (field[0] == '$') {
    return Status(40158, "the count field cannot be a $-prefixed path");
  }
  if (field.find('\0') != std::string_view::npos) {
    return Status(40159, "the count field cannot contain a null byte");
  }
  if (field.find('.') != std::string_view::npos) {
    return Status(40160, "the count field cannot contain '.'");
  }
  if (field == "_id") {
    return Status(9039800, "the count field cannot be _id");
  }
  return Status::Ok();
}

}  // namespace

Result<Stages> ParseUnwind(const bson::Element& spec, const StageContext& context) {
  return MakeStage<UnwindStage>(spec, context);
}
Result<Stages> ParseCount(const bson::Element& spec, const StageContext& context) {
  return MakeStage<CountStage>(spec, context);
}

}  // namespace quire::pipeline
