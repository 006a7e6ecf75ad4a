// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/foreign.h"

#include "pipeline/needs.h"
#include "pipeline/stages/parsing.h"

namespace quire::pipeline {

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

}  // namespace quire::pipeline
