// SPDX-License-Identifier: Apache-2.0
//
// Updates given as an aggregation pipeline of the stages that change one document.
#include <algorithm>

#include "base/error_codes.h"
#include "base/try.h"
#include "expr/projection/add_fields.h"
#include "expr/projection/fill.h"
#include "expr/projection/projection.h"
#include "expr/projection/stage_spec.h"
#include "expr/update/kinds_internal.h"

namespace quire::expr::update {

namespace {

class UpdateStage {
 public:
  virtual ~UpdateStage() = default;
  // Appends what becomes of `document` to *out.
  virtual Status Apply(bson::View document, const Context* context, std::string* out) const = 0;
};
using StagePtr = std::unique_ptr<UpdateStage>;

agg::EvalContext MakeEval(bson::View document, const Context* context, Arena* arena) {
  agg::EvalContext eval;
  eval.context = context;
  eval.root = bson::Value(document);
  eval.arena = arena;
  return eval;
}

class SetStage : public UpdateStage {
 public:
  explicit SetStage(std::unique_ptr<AddFields> fields) : fields_(std::move(fields)) {}
  Status Apply(bson::View document, const Context* context, std::string* out) const override {
    Arena arena;
    agg::EvalContext eval = MakeEval(document, context, &arena);
    return fields_->Apply(eval, out);
  }

 private:
  std::unique_ptr<AddFields> fields_;
};

class ProjectStage : public UpdateStage {
 public:
  explicit ProjectStage(std::unique_ptr<Projection> projection)
      : projection_(std::move(projection)) {}
  Status Apply(bson::View document, const Context*, std::string* out) const override {
    return projection_->Apply(document, nullptr, out);
  }

 private:
  std::unique_ptr<Projection> projection_;
};

class ReplaceStage : public UpdateStage {
 public:
  explicit ReplaceStage(std::unique_ptr<agg::Expression> root) : root_(std::move(root)) {}
  Status Apply(bson::View document, const Context* context, std::string* out) const override {
    Arena arena;
    agg::EvalContext eval = MakeEval(document, context, &arena);
    ASSIGN_OR_RETURN(bson::Value root, root_->Evaluate(eval));
    RETURN_IF_ERROR(CheckNewRoot(root, document));
    out->append(root.AsDocument().bytes());
    return Status::Ok();
  }

 private:
  std::unique_ptr<agg::Expression> root_;
};

Result<StagePtr> ParseSetStage(const bson::Element& stage, const Context* context) {
  if (stage.type() != bson::Type::kDocument) {
    return Status(40272, std::string(stage.name()) +
                             " specification stage must be an object, got " +
                             std::string(bson::TypeName(stage.type())));
  }
  ASSIGN_OR_RETURN(auto fields,
                   AddFields::Parse(stage.value().AsDocument(), context, /*defer_errors=*/true));
  return StagePtr(std::make_unique<SetStage>(std::move(fields)));
}

Result<StagePtr> ParseProjectStage(const bson::Element& stage, const Context* context) {
  if (stage.type() != bson::Type::kDocument) {
    return Status(15969, "$project specification must be an object");
  }
  ASSIGN_OR_RETURN(auto projection, Projection::Parse(stage.value().AsDocument(),
                                                      Projection::Policy::kUpdate, context));
  return StagePtr(std::make_unique<ProjectStage>(std::move(projection)));
}

Result<StagePtr> ParseUnsetStage(const bson::Element& stage, const Context* context) {
  ASSIGN_OR_RETURN(bson::Document spec, UnsetSpec(stage.value()));
  ASSIGN_OR_RETURN(auto projection, Projection::Parse(spec, Projection::Policy::kUpdate, context));
  return StagePtr(std::make_unique<ProjectStage>(std::move(projection)));
}

Result<StagePtr> ParseReplaceStage(const bson::Element& stage, const Context* context) {
  bson::Value root = stage.value();
  if (stage.name() == "$replaceRoot") {
    ASSIGN_OR_RETURN(root, NewRoot(root));
  }
  agg::ParseScope scope;
  scope.context = context;
  scope.defer_errors = 1;
  ASSIGN_OR_RETURN(auto expression, agg::ParseExpression(root, scope));
  return StagePtr(std::make_unique<ReplaceStage>(std::move(expression)));
}

struct StageRow {
  std::string_view name;
  Result<StagePtr> (*parse)(const bson::Element& stage, const Context* context);
};
constexpr StageRow kStages[] = {
    {"$addFields", ParseSetStage},       {"$set", ParseSetStage},
    {"$project", ParseProjectStage},     {"$unset", ParseUnsetStage},
    {"$replaceRoot", ParseReplaceStage}, {"$replaceWith", ParseReplaceStage},
};

// Stages that exist but make no sense for one document.
constexpr std::string_view kRefusedStages[] = {
    "$match",
    "$group",
    "$sort",
    "$limit",
    "$skip",
    "$unwind",
    "$lookup",
    "$graphLookup",
    "$unionWith",
    "$out",
    "$merge",
    "$facet",
    "$bucket",
    "$bucketAuto",
    "$sortByCount",
    "$count",
    "$sample",
    "$redact",
    "$densify",
    "$documents",
    "$geoNear",
    "$setWindowFields",
    "$indexStats",
    "$collStats",
    "$currentOp",
    "$listSessions",
    "$listLocalSessions",
    "$planCacheStats",
    "$changeStream",
};

bool IsKnownStage(std::string_view name) {
  return std::find(std::begin(kRefusedStages), std::end(kRefusedStages), name) !=
         std::end(kRefusedStages);
}

class PipelineUpdate : public Update {
 public:
  Status Parse(bson::View stages, const ParseOptions& options, const Context* context);
  bool is_replacement() const override { return false; }
  Result<Outcome> Apply(bson::View document, std::string_view, bool inserting,
                        std::string* out) const override;

 private:
  Status ParseStages(bson::View stages);

  bson::Document spec_;
  Context context_;  // the command's, with the constants as variables
  std::vector<StagePtr> stages_;
};

Status PipelineUpdate::Parse(bson::View stages, const ParseOptions& options,
                             const Context* context) {
  spec_ = bson::Document(stages);
  context_ = *context;
  // First, for a constant hides the variable of that name.
  for (const bson::Element& constant : options.constants) {
    context_.let.emplace(context_.let.begin(), constant.name(), bson::OwnedValue(constant.value()));
  }
  return ParseStages(spec_);
}

Status PipelineUpdate::ParseStages(bson::View stages) {
  for (const bson::Element& element : stages) {
    if (element.type() != bson::Type::kDocument) {
      return Status(kTypeMismatch, "Each element of the 'pipeline' array must be an object");
    }
    bson::View stage = element.value().AsDocument();
    if (stage.Count() != 1) {
      return Status(40323, "A pipeline stage specification object must contain exactly one field.");
    }
    std::string name(stage.front().name());
    if (name == "$fill") {
      ASSIGN_OR_RETURN(bson::Document meant, StagesOfFill(stage.front().value()));
      RETURN_IF_ERROR(ParseStages(meant));
      continue;
    }
    const auto* row = std::find_if(std::begin(kStages), std::end(kStages),
                                   [&](const StageRow& r) { return r.name == name; });
    if (row == std::end(kStages)) {
      return IsKnownStage(name)
                 ? Status(kInvalidOptions, name + " is not allowed to be used within an update")
                 : Status(40324, "Unrecognized pipeline stage name: '" + name + "'");
    }
    ASSIGN_OR_RETURN(StagePtr made, row->parse(stage.front(), &context_));
    stages_.push_back(std::move(made));
  }
  return Status::Ok();
}

Result<Outcome> PipelineUpdate::Apply(bson::View document, std::string_view, bool inserting,
                                      std::string* out) const {
  std::string current;
  std::string next;
  bson::View at = document;
  for (const StagePtr& stage : stages_) {
    next.clear();
    RETURN_IF_ERROR(stage->Apply(at, &context_, &next));
    current.swap(next);
    at = bson::View(current.data());
  }
  return FinishWhole(document, at, inserting, out);
}

}  // namespace

Result<std::unique_ptr<Update>> ParsePipeline(bson::View stages, const ParseOptions& options,
                                              const Context* context) {
  if (!options.array_filters.empty()) {
    return Status(kFailedToParse, "arrayFilters may not be specified for pipeline-syle updates");
  }
  auto made = std::make_unique<PipelineUpdate>();
  RETURN_IF_ERROR(made->Parse(stages, options, context));
  return std::unique_ptr<Update>(std::move(made));
}

}  // namespace quire::expr::update
