// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/advice.h"

namespace quire::patterns {

namespace {

// In the order of their weight: the first that holds decides, later ones that disagree are told.
struct Rule {
  bool (*holds)(const ModelFacts&);
  ModelChoice choice;
  const char* reason;
};

constexpr Rule kRules[] = {
    {[](const ModelFacts& f) { return f.unbounded; }, ModelChoice::kReference,
     "the children grow without a limit, and a document has one of 16 MiB"},
    {[](const ModelFacts& f) { return f.max_children > f.embed_limit; }, ModelChoice::kReference,
     "there are more children than one document should hold"},
    {[](const ModelFacts& f) {
       return f.child_bytes > 0 && f.max_children > f.embed_bytes / f.child_bytes;
     },
     ModelChoice::kReference, "the children together are too large to travel with every read"},
    {[](const ModelFacts& f) { return f.queried_alone; }, ModelChoice::kReference,
     "children are looked for on their own in several ways"},
    {[](const ModelFacts& f) { return f.changed_atomically; }, ModelChoice::kEmbed,
     "parent and children change in one step: one document is atomic"},
    {[](const ModelFacts& f) { return f.parents_per_child > 1; }, ModelChoice::kEmbedIds,
     "a child has several parents: one side keeps the ids of the other, never copies"},
    {[](const ModelFacts& f) { return f.updates_per_second >= f.busy_updates_per_second; },
     ModelChoice::kReference, "so many updates contend for one document"},
    {[](const ModelFacts& f) { return f.read_together; }, ModelChoice::kEmbed,
     "parent and children are read together: one read instead of two"},
};

}  // namespace

ModelAdvice Advise(const ModelFacts& facts) {
  ModelAdvice advice;
  bool decided = false;
  std::vector<std::string> against;
  for (const Rule& rule : kRules) {
    if (!rule.holds(facts)) {
      continue;
    }
    if (!decided) {
      advice.choice = rule.choice;
      decided = true;
    }
    if (rule.choice == advice.choice) {
      advice.reasons.emplace_back(rule.reason);
    } else {
      against.push_back(std::string("against it: ") + rule.reason);
    }
  }
  if (!decided) {
    advice.reasons.emplace_back("nothing speaks against one document");
  }
  advice.reasons.insert(advice.reasons.end(), against.begin(), against.end());
  return advice;
}

}  // namespace quire::patterns
