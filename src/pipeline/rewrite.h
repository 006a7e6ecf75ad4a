// SPDX-License-Identifier: Apache-2.0
//
// Rewrites of pipelines: a listed order of named steps, each of which keeps the result the same.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/stage.h"

namespace quire::pipeline {

// The named rewrites, in the order in which they run.
struct Rewrite {
  std::string_view name;
  // Changes the list in place.
  Status (*run)(Stages* stages, const expr::Context* context);
};
const std::vector<Rewrite>& Rewrites();
// Runs every rewrite whose name is not in `off`.
Status RewriteStages(Stages* stages, const expr::Context* context,
                     const std::set<std::string>& off = {});

// All that can be switched off: the rewrites, and what is decided later:
//   leading-find   the first stages become a query, which indexes may answer
//   needed-fields  that query reads only the fields the rest needs
//   group-by-index distinct keys of a $group come from an index
//   hash-join      a $lookup without an index reads the other collection once
const std::vector<std::string_view>& RewriteNames();

}  // namespace quire::pipeline
