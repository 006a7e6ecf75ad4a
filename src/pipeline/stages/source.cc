// SPDX-License-Identifier: Apache-2.0
//
// Stages that begin a pipeline: $documents, and those the engine answers.
#include "pipeline/stages/source.h"

#include <algorithm>
#include <iterator>

#include "exec/documents.h"
#include "exec/evaluation.h"
#include "pipeline/source_options.h"
#include "pipeline/stages/parsing.h"

namespace quire::pipeline {

namespace {

class DocumentsStage : public StageOf<StageKind::kDocuments> {
 public:
  using StageOf::StageOf;
  Status Parse(const StageContext&) {
    ASSIGN_OR_RETURN(list_, ParseExpression(spec(), context()));
    return Status::Ok();
  }
  Result<OperatorPtr> Build(OpContext&, OperatorPtr, const BuildOptions&) const override {
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
  Spread spread() const override { return Spread::kOnce; }

 private:
  std::unique_ptr<expr::agg::Expression> list_;
};

// Only marks the pipeline: events are split once the whole pipeline has made them, by the engine.
class SplitLargeEventStage : public StageOf<StageKind::kSplitLargeEvent> {
 public:
  using StageOf::StageOf;
  Status Parse(const StageContext&) {
    return spec().is_document() && spec().AsDocument().empty()
               ? Status::Ok()
               : Status(7182800, "$changeStreamSplitLargeEvent spec should be an empty object");
  }
  Result<OperatorPtr> Build(OpContext&, OperatorPtr input, const BuildOptions&) const override {
    return input;
  }
  Spread spread() const override { return Spread::kEach; }
};

// Those whose rows each shard has of its own.
constexpr std::string_view kOfEachShard[] = {"$collStats", "$currentOp", "$indexStats",
                                             "$listLocalSessions", "$planCacheStats"};

using auth::Action;

bool IsTrue(const bson::Element& spec, std::string_view option) {
  bson::Value value =
      spec.value().is_document() ? spec.value().AsDocument()[option] : bson::Value();
  return value.type() == bson::Type::kBool && value.AsBool();
}

auth::Resource Input(const PipelineOptions& options) {
  return auth::Collection(options.ns.database, options.ns.collection);
}

}  // namespace

Status SourceStage::Parse(const StageContext&) { return CheckSourceOptions(name(), spec()); }

Spread SourceStage::spread() const {
  if (name() == "$changeStream") {
    return Spread::kMerged;  // by time
  }
  bool of_each =
      std::find(std::begin(kOfEachShard), std::end(kOfEachShard), name()) != std::end(kOfEachShard);
  return of_each ? Spread::kEach : Spread::kOnce;
}

Status ReadNeeds(const bson::Element&, const PipelineOptions& options, auth::Needs* needs) {
  needs->Add(Action::find, Input(options));
  return Status::Ok();
}
Status CollStatsNeeds(const bson::Element&, const PipelineOptions& options, auth::Needs* needs) {
  needs->Add(Action::collStats, Input(options));
  return Status::Ok();
}
Status IndexStatsNeeds(const bson::Element&, const PipelineOptions& options, auth::Needs* needs) {
  needs->Add(Action::indexStats, Input(options));
  return Status::Ok();
}
Status PlanCacheNeeds(const bson::Element&, const PipelineOptions& options, auth::Needs* needs) {
  needs->Add(Action::planCacheRead, Input(options));
  return Status::Ok();
}
// Of one collection, of a database, or of everything.
Status StreamNeeds(const bson::Element& spec, const PipelineOptions& options, auth::Needs* needs) {
  const auth::Resource watched =
      IsTrue(spec, "allChangesForCluster") ? auth::Database("") : Input(options);
  needs->Add(Action::find, watched);
  needs->Add(Action::changeStream, watched);
  return Status::Ok();
}
// Everybody sees what is their own.
Status CurrentOpNeeds(const bson::Element& spec, const PipelineOptions&, auth::Needs* needs) {
  if (IsTrue(spec, "allUsers")) {
    needs->Add(Action::inprog, auth::Cluster());
  }
  return Status::Ok();
}
Status SessionsNeeds(const bson::Element& spec, const PipelineOptions&, auth::Needs* needs) {
  bool others = IsTrue(spec, "allUsers");
  bson::Value users =
      spec.value().is_document() ? spec.value().AsDocument()["users"] : bson::Value();
  if (users.is_array()) {
    for (const bson::Element& e : users.AsArray()) {
      bson::View user = e.value().is_document() ? e.value().AsDocument() : bson::View();
      others = others || !user["user"].is_string() || !user["db"].is_string() ||
               !needs->IsCaller(user["user"].AsString(), user["db"].AsString());
    }
  }
  if (others) {
    needs->Add(Action::listSessions, auth::Cluster());
  }
  return Status::Ok();
}
// On admin it tells of all databases.
Status CatalogNeeds(const bson::Element&, const PipelineOptions& options, auth::Needs* needs) {
  if (options.ns.database == "admin") {
    needs->Add(Action::listClusterCatalog, auth::Cluster());
  } else {
    needs->Add(Action::listCollections, auth::Database(options.ns.database));
  }
  return Status::Ok();
}
Status QuerySettingsNeeds(const bson::Element&, const PipelineOptions&, auth::Needs* needs) {
  needs->Add(Action::querySettings, auth::Cluster());
  return Status::Ok();
}
Status SampledQueriesNeeds(const bson::Element&, const PipelineOptions&, auth::Needs* needs) {
  needs->Add(Action::listSampledQueries, auth::Cluster());
  return Status::Ok();
}
Status DataDistributionNeeds(const bson::Element&, const PipelineOptions&, auth::Needs* needs) {
  needs->Add(Action::shardedDataDistribution, auth::Cluster());
  return Status::Ok();
}
Status QueryStatsNeeds(const bson::Element& spec, const PipelineOptions&, auth::Needs* needs) {
  const bool transformed =
      spec.value().is_document() && spec.value().AsDocument().Has("transformIdentifiers");
  needs->Add(transformed ? Action::queryStatsReadTransformed : Action::queryStatsRead,
             auth::Cluster());
  return Status::Ok();
}
// The stage is refused by whoever parses it.
Status UnsupportedNeeds(const bson::Element& spec, const PipelineOptions& options,
                        auth::Needs* needs) {
  needs->AddImpossible();
  return ParseUnsupported(spec, StageContext{nullptr, options}).status();
}

Result<Stages> ParseSplitLargeEvent(const bson::Element& spec, const StageContext& context) {
  return MakeStage<SplitLargeEventStage>(spec, context);
}
Result<Stages> ParseDocuments(const bson::Element& spec, const StageContext& context) {
  return MakeStage<DocumentsStage>(spec, context);
}
Result<Stages> ParseUnsupported(const bson::Element& spec, const StageContext&) {
  constexpr std::string_view kOfSearch[] = {"$listSearchIndexes", "$search", "$searchBeta",
                                            "$searchMeta", "$vectorSearch"};
  std::string name(spec.name());
  if (std::find(std::begin(kOfSearch), std::end(kOfSearch), name) != std::end(kOfSearch)) {
    return Status(kSearchNotEnabled, "The stage " + name +
                                         " requires additional configuration: this server has no "
                                         "Atlas Search");
  }
  return Status(40324, "Unrecognized pipeline stage name: '" + name + "'");
}
Result<Stages> ParseSource(const bson::Element& spec, const StageContext& context) {
  return MakeStage<SourceStage>(spec, context);
}

}  // namespace quire::pipeline
