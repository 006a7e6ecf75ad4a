// SPDX-License-Identifier: Apache-2.0
#include "plan/stages/stage_internal.h"
#include "plan/stages/sub_pipeline_internal.h"

namespace quire::plan {

Result<Namespace> ParseFrom(const bson::Value& from, std::string_view stage,
                            const Namespace& current) {
  Namespace ns{current.database, ""};
  if (from.is_string()) {
    ns.collection = from.AsString();
  } else if (from.is_document()) {
    RETURN_IF_ERROR(CheckNotRepeated(from.AsDocument(), std::string(stage) + ".from"));
    for (const bson::Element& field : from.AsDocument()) {
      bool db = field.name() == "db";
      if (!db && field.name() != "coll") {
        return Status(40415, "BSON field '" + std::string(stage) + ".from." +
                                 std::string(field.name()) + "' is an unknown field.");
      }
      if (field.type() != bson::Type::kString) {
        return WrongType(std::string(stage) + ".from." + std::string(field.name()), field.value(),
                         "string");
      }
      (db ? ns.database : ns.collection) = field.value().AsString();
    }
    if (from.AsDocument().Has("db")) {  // pipelines stay in their database
      return Status(kFailedToParse, std::string(stage) +
                                        " with syntax {from: {db:<>, coll:<>},..} is not "
                                        "supported for db: " +
                                        bson::ToJson(from.AsDocument()["db"]));
    }
  } else {
    return Status(kFailedToParse, std::string(stage) +
                                      " argument 'from' must be a string, is type " +
                                      std::string(bson::TypeName(from.type())));
  }
  if (ns.collection.empty() || ns.collection[0] == '.' ||
      ns.collection.find('\0') != std::string::npos) {
    return Status(kInvalidNamespace,
                  "Invalid collection name specified '" + ns.database + "." + ns.collection + "'");
  }
  return ns;
}

Status AddInnerNeeds(const bson::Value& from, const bson::Value& pipeline, std::string_view stage,
                     const PipelineOptions& options, auth::Needs* needs) {
  PipelineOptions inner = options;
  inner.place = PipelinePlace::kLookup;
  ++inner.depth;
  if (!from.nullish()) {
    ASSIGN_OR_RETURN(inner.ns, ParseFrom(from, stage, options.ns));
    needs->Add(auth::Action::find, auth::Collection(inner.ns.database, inner.ns.collection));
  }
  return pipeline.is_array() ? AddPipelineNeeds(pipeline.AsArray(), inner, needs) : Status::Ok();
}

bool StartsWithDocuments(const bson::Value& pipeline) {
  if (!pipeline.is_array() || pipeline.AsArray().empty()) {
    return false;
  }
  bson::Value first = pipeline.AsArray().front().value();
  return first.is_document() && first.AsDocument().Has("$documents");
}

Result<OperatorPtr> OpenSubPipeline(OpContext& op, PipelineEnvironment& env, const Namespace& ns,
                                    bson::View filter, bson::View pipeline,
                                    const PipelineOptions& options, const expr::Context& context) {
  bson::Builder whole;
  bool documents_first = StartsWithDocuments(bson::Value::Array(pipeline));
  if (!filter.empty() && !documents_first) {
    whole.PushDocument().Append("$match", filter).End();
  }
  for (const bson::Element& stage : pipeline) {
    whole.Push(stage.value());
    if (documents_first && whole.pushed() == 1 && !filter.empty()) {
      whole.PushDocument().Append("$match", filter).End();
    }
  }
  bson::Document stages_spec = whole.Finish();
  ASSIGN_OR_RETURN(Stages stages, ParsePipeline(stages_spec, options, &context));
  RETURN_IF_ERROR(RewriteStages(&stages, &context, env.rewrites_off()));
  return env.OpenPipeline(op, ns, std::move(stages), context);
}

}  // namespace quire::plan
