// SPDX-License-Identifier: Apache-2.0
//
// The part of a pipeline that its collection can answer by itself.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "pipeline/stage.h"

namespace quire::pipeline {

// What a pipeline asks of its collection, taken off its beginning, for the planner.
struct LeadingFind {
  bson::Document filter;      // {}: all
  bson::Document sort;        // empty: none
  bson::Document projection;  // top-level fields to give, as an inclusion; empty: all
  bool only_needs = false;    // `projection` is what the rest reads: rows may hold more
  bool no_fields = false;     // the rest reads nothing of the documents
  std::string distinct_path;  // the rest only wants the distinct values of this field; empty: no
  int64_t skip = 0;
  int64_t limit = 0;  // 0: none
};
// Removes the stages whose work is now in the result. A $group by `distinct_path` stays. Takes
// nothing when the pipeline begins with a source of its own ($documents, $indexStats...), see
// StartsWithSource.
LeadingFind TakeLeadingFind(Stages* stages, const std::set<std::string>& off = {});

}  // namespace quire::pipeline
