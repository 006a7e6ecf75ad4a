// SPDX-License-Identifier: Apache-2.0
//
// The steps of rewriting a pipeline; each keeps the result the same.
#pragma once

#include "pipeline/rewrite.h"

namespace quire::pipeline {

using RewriteStep = Status(Stages* stages, const expr::Context* context);

// rewrite_match.cc
RewriteStep SplitMatches;  // {$match: {a, b}} -> {$match: {a}}, {$match: {b}}
RewriteStep PushMatches;   // filters go before stages that do not change what they read
RewriteStep FuseLookups;   // $lookup takes over the $unwind, and the filters, of its result
RewriteStep MergeMatches;  // {$match: a}, {$match: b} -> {$match: {$and: [a, b]}}
// rewrite.cc
RewriteStep CutEarly;    // $skip and $limit go before stages that give one row per row
RewriteStep MergeCuts;   // {$limit: 5}, {$limit: 3} -> {$limit: 3}
RewriteStep DropSorts;   // {$sort: a}, {$sort: b} -> {$sort: b}
RewriteStep LimitSorts;  // a $sort learns how many of its rows are wanted

}  // namespace quire::pipeline
