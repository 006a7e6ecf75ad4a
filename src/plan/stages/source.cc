// SPDX-License-Identifier: Apache-2.0
//
// Stages that begin a pipeline: $documents, and those the engine answers.
#include "exec/documents.h"
#include "exec/evaluation.h"
#include "plan/stages/stage_internal.h"

namespace quire::plan {

namespace {

class DocumentsStage : public Stage {
 public:
  using Stage::Stage;
  Status Parse(const StageContext&) {
    ASSIGN_OR_RETURN(list_, ParseExpression(spec(), context()));
    return Status::Ok();
  }
  Result<OperatorPtr> Build(OpContext&, OperatorPtr, PipelineEnvironment&) const override {
    exec::Evaluation evaluation(context());
    exec::Row row;
    ASSIGN_OR_RETURN(bson::Value list, list_->Evaluate(evaluation.Start(row)));
    if (!list.is_array()) {
      return Status(5858203, "error during $documents evaluation: an array is expected");
    }
    exec::Documents::List documents;
    for (const bson::Element& element : list.AsArray()) {
      if (element.type() != bson::Type::kDocument) {
        return Status(40228,
                      "'newRoot' expression must evaluate to an object, but resulting value "
                      "was: " +
                          bson::ToJson(element.value()));
      }
      documents.emplace_back(element.value().AsDocument());
    }
    return OperatorPtr(std::make_unique<exec::Documents>(std::move(documents)));
  }

 private:
  std::unique_ptr<expr::agg::Expression> list_;
};

// What each of the engine's stages takes as its argument, and its error for something else.
struct SourceRow {
  std::string_view name;
  int not_object;  // error code
  int not_empty;   // error code when it takes no option; 0: it takes some
};
constexpr SourceRow kSources[] = {
    {"$indexStats", 28803, 28803}, {"$collStats", 5447000, 0},   {"$currentOp", kFailedToParse, 0},
    {"$listSessions", 9, 0},       {"$listLocalSessions", 9, 0}, {"$planCacheStats", 9, 0},
    {"$changeStream", 6188500, 0},
};

class SourceStage : public Stage {
 public:
  using Stage::Stage;
  Status Parse(const StageContext&) {
    for (const SourceRow& row : kSources) {
      if (row.name != name()) {
        continue;
      }
      if (!spec().is_document()) {
        return Status(row.not_object,
                      "The " + std::string(name()) + " stage specification must be an object");
      }
      if (row.not_empty != 0 && !spec().AsDocument().empty()) {
        return Status(row.not_empty, "The " + std::string(name()) +
                                         " stage specification must be an empty object");
      }
    }
    return Status::Ok();
  }
  Result<OperatorPtr> Build(OpContext& op, OperatorPtr, PipelineEnvironment& env) const override {
    return env.OpenSource(op, name(), spec());
  }
};

}  // namespace

Result<Stages> ParseDocuments(const bson::Element& spec, const StageContext& context) {
  return MakeStage<DocumentsStage>(spec, context);
}
Result<Stages> ParseUnsupported(const bson::Element& spec, const StageContext&) {
  return Status(40324, "Unrecognized pipeline stage name: '" + std::string(spec.name()) + "'");
}
Result<Stages> ParseSource(const bson::Element& spec, const StageContext& context) {
  return MakeStage<SourceStage>(spec, context);
}

}  // namespace quire::plan
