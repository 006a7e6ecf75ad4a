// SPDX-License-Identifier: Apache-2.0
//
// $out and $merge: stages that write.
#include "pipeline/stages/sink.h"

#include <unordered_set>

#include "base/current_op.h"
#include "base/keyed_hash.h"
#include "expr/projection/add_fields.h"
#include "expr/update/update.h"
#include "pipeline/stages/parsing.h"

namespace quire::pipeline {

namespace {

bool IsInternalDatabase(std::string_view name) {
  return name == "admin" || name == "config" || name == "local";
}

Status CheckTarget(const Namespace& target) {
  const std::string& collection = target.collection;
  constexpr std::string_view kNotInDatabase("/\\. \"$\0", 7);
  if (target.database.empty() ||
      target.database.find_first_of(kNotInDatabase) != std::string::npos || collection.empty() ||
      collection[0] == '.' || collection.find('\0') != std::string::npos) {
    return Status(kInvalidNamespace,
                  "Invalid " + target.database + "." + collection + " target namespace");
  }
  return Status::Ok();
}

class OutStage : public SinkStage {
 public:
  using SinkStage::SinkStage;
  Status Parse(const StageContext& context);

 private:
  Status ParseTarget(bson::View fields);
};

Status OutStage::ParseTarget(bson::View fields) {
  bool db = false;
  bool coll = false;
  for (const bson::Element& field : fields) {
    std::string name(field.name());
    bool is_db = name == "db";
    if (name == "timeseries") {
      if (!field.value().nullish()) {
        RETURN_IF_ERROR(CheckTimeSeries(field.value()));
        options_.timeseries = bson::Document(field.value().AsDocument());
      }
      continue;
    }
    if (!is_db && name != "coll") {
      return Status(40415, "BSON field '$out." + name + "' is an unknown field.");
    }
    if (field.value().nullish()) {
      continue;
    }
    if (field.type() != bson::Type::kString) {
      return WrongType("$out." + name, field.value(), "string");
    }
    (is_db ? db : coll) = true;
    (is_db ? options_.target.database : options_.target.collection) = field.value().AsString();
  }
  if (!db || !coll) {
    return Status(40414, std::string("BSON field '$out.") + (db ? "coll" : "db") +
                             "' is missing but a required field");
  }
  return Status::Ok();
}

Status OutStage::Parse(const StageContext& context) {
  options_.mode = SinkOptions::Mode::kOut;
  options_.target.database = context.options.ns.database;
  if (spec().is_string()) {
    options_.target.collection = spec().AsString();
  } else if (spec().is_document()) {
    RETURN_IF_ERROR(ParseTarget(spec().AsDocument()));
  } else {
    return Status(16990, "$out only supports a string or object argument, but found " +
                             std::string(bson::TypeName(spec().type())));
  }
  const Namespace& target = options_.target;
  if (!target.collection.empty() && target.collection[0] == '$') {
    return Status(kIllegalOperation, "Invalid $out target: " + target.collection);
  }
  RETURN_IF_ERROR(CheckTarget(target));
  constexpr size_t kMaxNamespace = 255;
  if (target.database.size() + 1 + target.collection.size() > kMaxNamespace) {
    return Status(kIllegalOperation, "Fully qualified namespace is too long: " + target.collection);
  }
  if (target.collection.rfind("system.", 0) == 0) {
    return Status(17385, "Can't $out to special collection: " + target.collection);
  }
  if (IsInternalDatabase(target.database)) {
    return Status(31321, "Can't $out to internal database: " + target.database);
  }
  return Status::Ok();
}

class MergeStage : public SinkStage {
 public:
  using SinkStage::SinkStage;
  Status Parse(const StageContext& context);
  // The target and the modes, as far as no expression is involved.
  Status ParseOptions(const PipelineOptions& options);

 private:
  Status ParseField(const bson::Element& field);
  Status ParseInto(const bson::Value& into);
  Status ParseOn(const bson::Value& on);
  Status ParseMatched(const bson::Value& value);
  Status ParseNotMatched(const bson::Value& value);
  Status ParseLet();
  Status CheckModes(const StageContext& context);

  bson::Value let_;
  bool has_into_ = false;
};

Status MergeStage::ParseInto(const bson::Value& into) {
  has_into_ = true;
  if (into.is_string()) {
    if (into.AsString().empty()) {
      return Status(5786800, "Invalid $merge target: the collection name is empty");
    }
    options_.target.collection = into.AsString();
    return Status::Ok();
  }
  if (!into.is_document()) {
    return Status(51178, "$merge 'into' field must be either a string or an object, but found " +
                             std::string(bson::TypeName(into.type())));
  }
  RETURN_IF_ERROR(CheckNotRepeated(into.AsDocument(), "into"));
  for (const bson::Element& field : into.AsDocument()) {
    std::string name(field.name());
    if (name != "db" && name != "coll") {
      return Status(40415, "BSON field 'into." + name + "' is an unknown field.");
    }
    if (field.value().nullish()) {
      continue;
    }
    if (field.type() != bson::Type::kString) {
      return WrongType("into." + name, field.value(), "string");
    }
    if (name == "db" && field.value().AsString().empty()) {
      continue;
    }
    (name == "db" ? options_.target.database : options_.target.collection) =
        field.value().AsString();
  }
  if (options_.target.collection.empty()) {
    return Status(5786801, "$merge 'into' needs a collection name");
  }
  return Status::Ok();
}

Status MergeStage::ParseOn(const bson::Value& on) {
  std::vector<bson::Value> paths;
  if (on.is_string()) {
    paths.push_back(on);
  } else if (on.is_array()) {
    for (const bson::Element& element : on.AsArray()) {
      if (element.type() != bson::Type::kString) {
        return Status(51134, "$merge 'on' array elements must be strings, but found " +
                                 std::string(bson::TypeName(element.type())));
      }
      paths.push_back(element.value());
    }
    if (paths.empty()) {
      return Status(51187, "If explicitly specifying $merge 'on', must include at least one field");
    }
  } else {
    return Status(51186,
                  "$merge 'on' field must be either a string or an array of strings, but "
                  "found " +
                      std::string(bson::TypeName(on.type())));
  }
  std::unordered_set<std::string_view, KeyedStringHash> seen;
  for (const bson::Value& path : paths) {
    RETURN_IF_ERROR(CheckCurrentOp());
    RETURN_IF_ERROR(expr::CheckFieldPath(path.AsString()));
    std::string text(path.AsString());
    if (!seen.insert(path.AsString()).second) {
      return Status(31465, "Found a duplicate field '" + text + "' in $merge 'on'");
    }
    options_.on.push_back(std::move(text));
  }
  return Status::Ok();
}

Status MergeStage::ParseMatched(const bson::Value& value) {
  using Matched = SinkOptions::Matched;
  if (value.is_array()) {
    options_.matched = Matched::kPipeline;
    options_.pipeline = bson::Document(value.AsArray());
    return Status::Ok();
  }
  if (!value.is_string()) {
    return Status(51191,
                  "$merge 'whenMatched' field must be either a string or an array, but "
                  "found " +
                      std::string(bson::TypeName(value.type())));
  }
  constexpr std::pair<std::string_view, Matched> kModes[] = {
      {"replace", Matched::kReplace},
      {"keepExisting", Matched::kKeepExisting},
      {"merge", Matched::kMerge},
      {"fail", Matched::kFail}};
  for (const auto& [name, mode] : kModes) {
    if (name == value.AsString()) {
      options_.matched = mode;
      return Status::Ok();
    }
  }
  return Status(kBadValue, "Enumeration value '" + std::string(value.AsString()) +
                               "' for field 'whenMatched' is not a valid value.");
}

Status MergeStage::ParseNotMatched(const bson::Value& value) {
  using NotMatched = SinkOptions::NotMatched;
  if (!value.is_string()) {
    return WrongType("$merge.whenNotMatched", value, "string");
  }
  constexpr std::pair<std::string_view, NotMatched> kModes[] = {{"insert", NotMatched::kInsert},
                                                                {"discard", NotMatched::kDiscard},
                                                                {"fail", NotMatched::kFail}};
  for (const auto& [name, mode] : kModes) {
    if (name == value.AsString()) {
      options_.not_matched = mode;
      return Status::Ok();
    }
  }
  return Status(kBadValue, "Enumeration value '" + std::string(value.AsString()) +
                               "' for field 'whenNotMatched' is not a valid value.");
}

Status MergeStage::ParseField(const bson::Element& field) {
  bson::Value value = field.value();
  if (value.type() == bson::Type::kNull &&
      (field.name() == "let" || field.name() == "whenNotMatched")) {
    return Status::Ok();
  }
  if (field.name() == "into") {
    return ParseInto(value);
  }
  if (field.name() == "on") {
    return ParseOn(value);
  }
  if (field.name() == "whenMatched") {
    return ParseMatched(value);
  }
  if (field.name() == "whenNotMatched") {
    return ParseNotMatched(value);
  }
  if (field.name() == "let") {
    if (!value.is_document()) {
      return WrongType("$merge.let", value, "object");
    }
    let_ = value;
    return Status::Ok();
  }
  return Status(40415,
                "BSON field '$merge." + std::string(field.name()) + "' is an unknown field.");
}

// The pipeline's variables: those given, and `new` for the new document, which is always itself.
Status MergeStage::ParseLet() {
  if (options_.matched != SinkOptions::Matched::kPipeline) {
    return let_.missing() ? Status::Ok()
                          : Status(51199,
                                   "Cannot use 'let' variables with 'whenMatched' mode that "
                                   "is not a pipeline");
  }
  bson::Builder let;
  if (!let_.missing()) {
    for (const bson::Element& field : let_.AsDocument()) {
      std::string_view name = field.name();
      if (name.empty() ||
          !((name[0] >= 'a' && name[0] <= 'z') || static_cast<unsigned char>(name[0]) >= 0x80)) {
        return Status(kFailedToParse, "'" + std::string(name) +
                                          "' starts with an invalid character for a user variable "
                                          "name");
      }
      bool is_root = field.type() == bson::Type::kString && field.value().AsString() == "$$ROOT";
      if (name == "new" && !is_root) {
        return Status(51273,
                      "'let' may not define a value for the reserved 'new' variable other "
                      "than '$$ROOT'");
      }
      RETURN_IF_ERROR(ParseExpression(field.value(), context()).status());
      if (name != "new") {
        let.Append(field);
      }
    }
  }
  let.Append("new", "$$ROOT");
  options_.let = let.Finish();
  return Status::Ok();
}

Status MergeStage::CheckModes(const StageContext& context) {
  using Matched = SinkOptions::Matched;
  using NotMatched = SinkOptions::NotMatched;
  bool keep = options_.matched == Matched::kKeepExisting;
  bool fail = options_.matched == Matched::kFail;
  if ((keep || fail) && options_.not_matched != NotMatched::kInsert) {
    return Status(51181, "Combination of $merge modes is not supported");
  }
  if (options_.matched != Matched::kPipeline) {
    return Status::Ok();
  }
  expr::Context stand_in = *context.context;
  stand_in.constant_errors = nullptr;  // they depend on what stands in
  for (const bson::Element& variable : options_.let.view()) {
    bson::Document empty;
    stand_in.let.emplace_back(variable.name(), bson::OwnedValue(bson::Value(empty.view())));
  }
  Status parsed =
      expr::update::Update::Parse(bson::Value::Array(options_.pipeline.view()), {}, &stand_in)
          .status();
  bool of_text = parsed.code() == 17276 || parsed.code() == 40323 || parsed.code() == 40324 ||
                 parsed.code() == kTypeMismatch;
  return of_text ? parsed : Status::Ok();
}

Status MergeStage::Parse(const StageContext& context) {
  RETURN_IF_ERROR(ParseOptions(context.options));
  RETURN_IF_ERROR(ParseLet());
  return CheckModes(context);
}

Status MergeStage::ParseOptions(const PipelineOptions& options) {
  options_.mode = SinkOptions::Mode::kMerge;
  options_.target.database = options.ns.database;
  if (spec().is_string()) {
    has_into_ = true;
    options_.target.collection = spec().AsString();
  } else if (spec().is_document()) {
    for (const bson::Element& field : spec().AsDocument()) {
      RETURN_IF_ERROR(ParseField(field));
    }
  } else {
    return WrongType("$merge", spec(), "object");
  }
  if (!has_into_) {
    return Status(40414, "BSON field '$merge.into' is missing but a required field");
  }
  RETURN_IF_ERROR(CheckTarget(options_.target));
  if (options_.target.collection.rfind("system.", 0) == 0) {
    return Status(31319, "Cannot $merge to special collection: " + options_.target.collection);
  }
  if (IsInternalDatabase(options_.target.database)) {
    return Status(31320, "Cannot $merge to internal database: " + options_.target.database);
  }
  return Status::Ok();
}

void AddSinkNeeds(const SinkOptions& sink, const PipelineOptions& options, auth::Needs* needs) {
  using auth::Action;
  const auth::Resource target = auth::Collection(sink.target.database, sink.target.collection);
  const bool replaces = sink.mode == SinkOptions::Mode::kOut;
  if (replaces || sink.not_matched == SinkOptions::NotMatched::kInsert) {
    needs->Add(Action::insert, target);
  }
  if (replaces) {
    needs->Add(Action::remove, target);
  } else if (sink.matched != SinkOptions::Matched::kFail) {
    needs->Add(Action::update, target);
  }
  if (options.bypass_validation) {
    needs->Add(Action::bypassDocumentValidation, target);
  }
}

}  // namespace

Status OutNeeds(const bson::Element& spec, const PipelineOptions& options, auth::Needs* needs) {
  const StageContext context{nullptr, options};
  OutStage stage(spec, context);
  RETURN_IF_ERROR(stage.Parse(context));
  AddSinkNeeds(stage.options(), options, needs);
  return Status::Ok();
}

Status MergeNeeds(const bson::Element& spec, const PipelineOptions& options, auth::Needs* needs) {
  MergeStage stage(spec, StageContext{nullptr, options});
  RETURN_IF_ERROR(stage.ParseOptions(options));
  AddSinkNeeds(stage.options(), options, needs);
  return Status::Ok();
}

Result<Stages> ParseOut(const bson::Element& spec, const StageContext& context) {
  return MakeStage<OutStage>(spec, context);
}
Result<Stages> ParseMerge(const bson::Element& spec, const StageContext& context) {
  return MakeStage<MergeStage>(spec, context);
}

}  // namespace quire::pipeline
