// SPDX-License-Identifier: Apache-2.0
#include "plan/stage.h"

#include "bson/number.h"
#include "bson/repeated.h"
#include "plan/stages/stage_internal.h"

namespace quire::plan {

namespace {

constexpr uint32_t kSource = kFirst | kNotInFacet;
constexpr uint32_t kWrites = kLast | kNotInFacet | kNotInLookup | kNotInUnion | kNotInView;

constexpr StageRow kStages[] = {
    {"$_internalMapReduce", ParseMapReduce, NeedNothing, kInternal},
    {"$match", ParseMatch, NeedNothing, kInStream},
    {"$project", ParseProject, NeedNothing, kInStream},
    {"$addFields", ParseAddFields, NeedNothing, kInStream},
    {"$set", ParseAddFields, NeedNothing, kInStream},
    {"$unset", ParseUnset, NeedNothing, kInStream},
    {"$replaceRoot", ParseReplaceRoot, NeedNothing, kInStream | kOptions},
    {"$replaceWith", ParseReplaceRoot, NeedNothing, kInStream},
    {"$redact", ParseRedact, NeedNothing, kInStream},
    {"$sort", ParseSort, NeedNothing, 0},
    {"$skip", ParseSkip, NeedNothing, 0},
    {"$limit", ParseLimit, NeedNothing, 0},
    {"$sample", ParseSample, NeedNothing, kOptions},
    {"$count", ParseCount, NeedNothing, 0},
    {"$unwind", ParseUnwind, NeedNothing, kOptions},
    {"$group", ParseGroup, NeedNothing, 0},
    {"$sortByCount", ParseSortByCount, NeedNothing, 0},
    {"$bucket", ParseBucket, NeedNothing, kOptions},
    {"$bucketAuto", ParseBucketAuto, NeedNothing, kOptions},
    {"$facet", ParseFacet, FacetNeeds, kNotInFacet},
    {"$lookup", ParseLookup, LookupNeeds, kOptions},
    {"$graphLookup", ParseGraphLookup, GraphLookupNeeds, kOptions},
    {"$unionWith", ParseUnionWith, UnionWithNeeds, kOptions},
    {"$setWindowFields", ParseSetWindowFields, NeedNothing, kOptions},
    {"$densify", ParseDensify, NeedNothing, kOptions},
    {"$fill", ParseFill, NeedNothing, kInStream | kOptions},
    {"$documents", ParseDocuments, NeedNothing, kSource | kNoCollection},
    {"$geoNear", ParseGeoNear, ReadNeeds, kSource | kOptions, 40603},
    {"$indexStats", ParseSource, IndexStatsNeeds, kSource | kOptions},
    {"$collStats", ParseSource, CollStatsNeeds, kSource | kOptions},
    {"$planCacheStats", ParseSource, PlanCacheNeeds, kSource | kOptions},
    {"$currentOp", ParseSource, CurrentOpNeeds,
     kSource | kTopOnly | kNoCollection | kDatabase | kAdmin | kOptions},
    {"$listSessions", ParseSource, SessionsNeeds, kFirst | kTopOnly | kOptions},
    {"$listLocalSessions", ParseSource, SessionsNeeds,
     kSource | kTopOnly | kNoCollection | kDatabase | kOptions},
    {"$changeStream", ParseSource, StreamNeeds,
     kSource | kNoCollection | kNotInLookup | kNotInUnion | kNotInView | kInStream | kOptions},
    {"$changeStreamSplitLargeEvent", ParseSplitLargeEvent, NeedNothing,
     kNotInFacet | kNotInLookup | kNotInUnion | kNotInView | kInStream},
    {"$listCatalog", ParseUnsupported, UnsupportedNeeds, kNotInFacet},
    {"$listClusterCatalog", ParseSource, CatalogNeeds,
     kFirst | kNoCollection | kDatabase | kOptions, 40602, 9621301},
    {"$listSampledQueries", ParseUnsupported, UnsupportedNeeds, kNotInFacet},
    {"$listSearchIndexes", ParseUnsupported, UnsupportedNeeds, kNotInFacet},
    {"$querySettings", ParseSource, QuerySettingsNeeds,
     kSource | kTopOnly | kNoCollection | kDatabase | kOptions},
    {"$queryStats", ParseUnsupported, UnsupportedNeeds, kNotInFacet},
    {"$rankFusion", ParseRankFusion, RankFusionNeeds, kLeads | kOptions, 10170100},
    {"$scoreFusion", ParseUnsupported, UnsupportedNeeds, kNotInFacet},
    {"$search", ParseUnsupported, UnsupportedNeeds, kNotInFacet},
    {"$searchBeta", ParseUnsupported, UnsupportedNeeds, kNotInFacet},
    {"$searchMeta", ParseUnsupported, UnsupportedNeeds, kNotInFacet},
    {"$vectorSearch", ParseUnsupported, UnsupportedNeeds, kNotInFacet},
    {"$out", ParseOut, OutNeeds, kWrites | kOptions},
    {"$merge", ParseMerge, MergeNeeds, kWrites | kOptions},
};

}  // namespace

Stage::Stage(const bson::Element& spec, const StageContext& context) : context_(context.context) {
  bson::Builder builder;
  builder.Append(spec);
  source_ = builder.Finish();
}

void Stage::Explain(bson::Builder* out) const { out->Append(source_.view().front()); }

std::span<const StageRow> AllStages() { return kStages; }

const StageRow* FindStage(std::string_view name) {
  for (const StageRow& row : kStages) {
    if (row.name == name) {
      return &row;
    }
  }
  return nullptr;
}

Result<std::unique_ptr<expr::agg::Expression>> ParseExpression(const bson::Value& spec,
                                                               const expr::Context* context) {
  expr::agg::ParseScope scope;
  scope.context = context;
  return expr::agg::ParseExpression(spec, scope);
}

Status NeedNothing(const bson::Element& /*spec*/, const PipelineOptions& /*options*/,
                   auth::Needs* /*needs*/) {
  return Status::Ok();
}

Status CheckNotRepeated(bson::View fields, std::string_view where) {
  std::optional<std::string_view> name = bson::RepeatedName(fields);
  return name ? Status(40413, "BSON field '" + std::string(where) + "." + std::string(*name) +
                                  "' is a duplicate field")
              : Status::Ok();
}

bool ToInteger(const bson::Value& value, int64_t* out) {
  auto exact = bson::ExactInt64(value);
  if (exact) {
    *out = *exact;
  }
  return exact.has_value();
}

}  // namespace quire::plan
