// SPDX-License-Identifier: Apache-2.0
//
// Embed or reference: the rules of thumb as a function.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace quire::patterns {

// What is known about a parent and its children.
struct ModelFacts {
  int64_t max_children = 0;
  bool unbounded = false;                // they grow without a known limit
  int64_t child_bytes = 100;             // estimated, each
  bool read_together = true;             // a parent is mostly read with its children
  bool queried_alone = false;            // children are looked for in several ways of their own
  double updates_per_second = 0;         // of all children of one parent
  bool changed_atomically = false;       // parent and children must change in one step
  int64_t parents_per_child = 1;         // above 1: many-to-many
  int64_t embed_limit = 1000;            // children
  int64_t embed_bytes = 1024 * 1024;     // of all children together
  double busy_updates_per_second = 100;  // from here on children contend for their parent
};

enum class ModelChoice { kEmbed, kReference, kEmbedIds };

struct ModelAdvice {
  ModelChoice choice = ModelChoice::kEmbed;
  std::vector<std::string> reasons;  // of the choice first, then what speaks against it
};

ModelAdvice Advise(const ModelFacts& facts);

}  // namespace quire::patterns
