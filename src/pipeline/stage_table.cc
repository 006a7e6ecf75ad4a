// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stage_table.h"

#include "base/error_codes.h"
#include "base/try.h"
#include "pipeline/stages/parsing.h"

namespace quire::pipeline {

namespace {

constexpr uint32_t kBegins = kFirst | kNotInFacet;
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
    {"$documents", ParseDocuments, NeedNothing, kBegins | kNoCollection},
    {"$geoNear", ParseGeoNear, ReadNeeds, kBegins | kOptions, 40603},
    {"$indexStats", ParseSource, IndexStatsNeeds, kBegins | kOptions},
    {"$collStats", ParseSource, CollStatsNeeds, kBegins},
    {"$planCacheStats", ParseSource, PlanCacheNeeds, kBegins},
    {"$currentOp", ParseSource, CurrentOpNeeds,
     kBegins | kTopOnly | kNoCollection | kDatabase | kAdmin | kOptions},
    {"$listSessions", ParseSource, SessionsNeeds, kFirst | kTopOnly | kOptions},
    {"$listLocalSessions", ParseSource, SessionsNeeds,
     kBegins | kTopOnly | kNoCollection | kDatabase | kOptions},
    {"$changeStream", ParseSource, StreamNeeds,
     kBegins | kNoCollection | kNotInLookup | kNotInUnion | kNotInView | kInStream | kOptions},
    {"$changeStreamSplitLargeEvent", ParseSplitLargeEvent, NeedNothing,
     kNotInFacet | kNotInLookup | kNotInUnion | kNotInView | kInStream},
    {"$listCatalog", ParseUnsupported, UnsupportedNeeds, kNotInFacet},
    {"$listClusterCatalog", ParseSource, CatalogNeeds,
     kFirst | kNotInFacet | kNoCollection | kDatabase | kOptions, 40602, 9621301},
    {"$listSampledQueries", ParseSource, SampledQueriesNeeds,
     kBegins | kTopOnly | kNoCollection | kDatabase | kAdmin | kOptions},
    {"$listSearchIndexes", ParseUnsupported, UnsupportedNeeds, kNotInFacet},
    {"$querySettings", ParseSource, QuerySettingsNeeds,
     kBegins | kTopOnly | kNotInFacet | kNoCollection | kDatabase | kOptions},
    {"$queryStats", ParseSource, QueryStatsNeeds,
     kBegins | kTopOnly | kNoCollection | kDatabase | kAdmin | kOptions},
    {"$shardedDataDistribution", ParseSource, DataDistributionNeeds,
     kBegins | kNoCollection | kDatabase | kAdmin | kOptions, 40602, 6789102},
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

std::span<const StageRow> AllStages() { return kStages; }

const StageRow* FindStage(std::string_view name) {
  for (const StageRow& row : kStages) {
    if (row.name == name) {
      return &row;
    }
  }
  return nullptr;
}

Result<const StageRow*> RowOf(const bson::Element& element, bool internal) {
  if (element.type() != bson::Type::kDocument) {
    return Status(kTypeMismatch, "Each element of the 'pipeline' array must be an object");
  }
  bson::View spec = element.value().AsDocument();
  if (spec.Count() != 1) {
    return Status(40323, "A pipeline stage specification object must contain exactly one field.");
  }
  std::string name(spec.front().name());
  const StageRow* row = FindStage(name);
  if (!row || ((row->flags & kInternal) && !internal)) {
    return Status(40324, "Unrecognized pipeline stage name: '" + name + "'");
  }
  if ((row->flags & kOptions) && spec.front().value().is_document()) {
    RETURN_IF_ERROR(CheckNotRepeated(spec.front().value().AsDocument(), name));
  }
  return row;
}

Status CheckDepth(const PipelineOptions& options) {
  constexpr int kMaxDepth = 20;
  return options.depth <= kMaxDepth
             ? Status::Ok()
             : Status(232, "Maximum number of nested sub-pipelines exceeded. Limit is 20");
}

}  // namespace quire::pipeline
