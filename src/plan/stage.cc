// SPDX-License-Identifier: Apache-2.0
#include "plan/stage.h"

#include "bson/number.h"
#include "plan/stages/stage_internal.h"

namespace quire::plan {

namespace {

constexpr uint32_t kSource = kFirst | kNotInFacet;
constexpr uint32_t kWrites = kLast | kNotInFacet | kNotInLookup | kNotInUnion | kNotInView;

constexpr StageRow kStages[] = {
    {"$_internalMapReduce", ParseMapReduce, kInternal},
    {"$match", ParseMatch, kInStream},
    {"$project", ParseProject, kInStream},
    {"$addFields", ParseAddFields, kInStream},
    {"$set", ParseAddFields, kInStream},
    {"$unset", ParseUnset, kInStream},
    {"$replaceRoot", ParseReplaceRoot, kInStream},
    {"$replaceWith", ParseReplaceRoot, kInStream},
    {"$redact", ParseRedact, kInStream},
    {"$sort", ParseSort, 0},
    {"$skip", ParseSkip, 0},
    {"$limit", ParseLimit, 0},
    {"$sample", ParseSample, 0},
    {"$count", ParseCount, 0},
    {"$unwind", ParseUnwind, 0},
    {"$group", ParseGroup, 0},
    {"$sortByCount", ParseSortByCount, 0},
    {"$bucket", ParseBucket, 0},
    {"$bucketAuto", ParseBucketAuto, 0},
    {"$facet", ParseFacet, kNotInFacet},
    {"$lookup", ParseLookup, 0},
    {"$graphLookup", ParseGraphLookup, 0},
    {"$unionWith", ParseUnionWith, 0},
    {"$setWindowFields", ParseSetWindowFields, 0},
    {"$densify", ParseDensify, 0},
    {"$fill", ParseFill, kInStream},
    {"$documents", ParseDocuments, kSource | kNoCollection},
    {"$geoNear", ParseGeoNear, kSource, 40603},
    {"$indexStats", ParseSource, kSource},
    {"$collStats", ParseSource, kSource},
    {"$planCacheStats", ParseSource, kSource},
    {"$currentOp", ParseSource, kSource | kTopOnly | kNoCollection | kDatabase | kAdmin},
    {"$listSessions", ParseSource, kFirst | kTopOnly},
    {"$listLocalSessions", ParseSource, kSource | kTopOnly | kNoCollection | kDatabase},
    {"$changeStream", ParseSource,
     kSource | kNoCollection | kNotInLookup | kNotInUnion | kNotInView | kInStream},
    {"$changeStreamSplitLargeEvent", ParseSplitLargeEvent,
     kNotInFacet | kNotInLookup | kNotInUnion | kNotInView | kInStream},
    {"$listCatalog", ParseUnsupported, kNotInFacet},
    {"$listClusterCatalog", ParseSource, kFirst | kNoCollection | kDatabase, 40602, 9621301},
    {"$listSampledQueries", ParseUnsupported, kNotInFacet},
    {"$listSearchIndexes", ParseUnsupported, kNotInFacet},
    {"$querySettings", ParseSource, kSource | kTopOnly | kNoCollection | kDatabase},
    {"$queryStats", ParseUnsupported, kNotInFacet},
    {"$rankFusion", ParseRankFusion, kLeads, 10170100},
    {"$scoreFusion", ParseUnsupported, kNotInFacet},
    {"$search", ParseUnsupported, kNotInFacet},
    {"$searchBeta", ParseUnsupported, kNotInFacet},
    {"$searchMeta", ParseUnsupported, kNotInFacet},
    {"$vectorSearch", ParseUnsupported, kNotInFacet},
    {"$out", ParseOut, kWrites},
    {"$merge", ParseMerge, kWrites},
};

}  // namespace

Stage::Stage(const bson::Element& spec, const StageContext& context) : context_(context.context) {
  bson::Builder builder;
  builder.Append(spec);
  source_ = builder.Finish();
}

void Stage::Explain(bson::Builder* out) const { out->Append(source_.view().front()); }

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

bool ToInteger(const bson::Value& value, int64_t* out) {
  auto exact = bson::ExactInt64(value);
  if (exact) {
    *out = *exact;
  }
  return exact.has_value();
}

}  // namespace quire::plan
