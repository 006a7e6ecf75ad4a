// SPDX-License-Identifier: Apache-2.0
//
// What the files of stages share, and the parsers the table of stages lists.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "auth/needs.h"
#include "base/error_codes.h"
#include "base/try.h"
#include "expr/agg/expression.h"
#include "expr/wrong_type.h"
#include "pipeline/stage.h"

namespace quire::pipeline {

using ParseStageFunction = Result<Stages>(const bson::Element& spec, const StageContext& context);
ParseStageFunction ParseMatch;  // match.cc
ParseStageFunction ParseProject, ParseAddFields, ParseUnset, ParseReplaceRoot,
    ParseRedact;                                                   // reshape.cc
ParseStageFunction ParseSort, ParseSkip, ParseLimit, ParseSample;  // order.cc
ParseStageFunction ParseUnwind, ParseCount;                        // unwind.cc
ParseStageFunction ParseGroup, ParseSortByCount;                   // group.cc
ParseStageFunction ParseBucket, ParseBucketAuto;                   // bucket.cc
ParseStageFunction ParseFacet;                                     // facet.cc
ParseStageFunction ParseLookup;                                    // lookup.cc
ParseStageFunction ParseGraphLookup;                               // graph_lookup.cc
ParseStageFunction ParseUnionWith;                                 // union_with.cc
ParseStageFunction ParseRankFusion;                                // rank_fusion.cc
ParseStageFunction ParseDocuments, ParseSource;                    // source.cc
ParseStageFunction ParseGeoNear;                                   // geo_near.cc
ParseStageFunction ParseOut, ParseMerge;                           // sink.cc
ParseStageFunction ParseSetWindowFields;                           // window.cc
ParseStageFunction ParseDensify;                                   // densify.cc
ParseStageFunction ParseFill;                                      // fill.cc
ParseStageFunction ParseMapReduce;                                 // map_reduce.cc

ParseStageFunction ParseSplitLargeEvent;  // source.cc
ParseStageFunction ParseUnsupported;      // source.cc: known by name, refused (40324)

// Of stages that do nothing but with their input.
Status NeedNothing(const bson::Element& spec, const PipelineOptions& options, auth::Needs* needs);
using StageNeedsFunction = Status(const bson::Element& spec, const PipelineOptions& options,
                                  auth::Needs* needs);
StageNeedsFunction FacetNeeds, LookupNeeds, GraphLookupNeeds, UnionWithNeeds, RankFusionNeeds;
StageNeedsFunction OutNeeds, MergeNeeds;  // sink.cc
StageNeedsFunction ReadNeeds, CollStatsNeeds, IndexStatsNeeds, PlanCacheNeeds, StreamNeeds,
    CurrentOpNeeds, SessionsNeeds, CatalogNeeds, QuerySettingsNeeds, QueryStatsNeeds,
    SampledQueriesNeeds, DataDistributionNeeds, UnsupportedNeeds;  // source.cc

// 40413 when a field stands twice in `fields`, the argument of `where`.
Status CheckNotRepeated(bson::View fields, std::string_view where);

// Makes an S from the stage's field and lets it parse itself.
template <typename S>
Result<Stages> MakeStage(const bson::Element& spec, const StageContext& context) {
  auto stage = std::make_unique<S>(spec, context);
  RETURN_IF_ERROR(stage->Parse(context));
  Stages list;
  list.push_back(std::move(stage));
  return list;
}

// An expression at the top of a stage.
Result<std::unique_ptr<expr::agg::Expression>> ParseExpression(const bson::Value& spec,
                                                               const expr::Context* context);

using expr::WrongType;

// Whether `options` may stand as $out's timeseries (time_series.cc).
Status CheckTimeSeries(const bson::Value& options);

// A number with an integer's value that fits; false otherwise.
bool ToInteger(const bson::Value& value, int64_t* out);

}  // namespace quire::pipeline
