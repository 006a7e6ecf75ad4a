// SPDX-License-Identifier: Apache-2.0
//
// Map and reduce with functions of this program: for sums that no pipeline expresses.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "quire/patterns/error.h"
#include "quire/patterns/store.h"

namespace quire::patterns {

enum class ReduceInto {
  kInline,   // nothing is stored
  kReplace,  // the collection is emptied, then written
  kMerge,    // equal keys are overwritten
  kReduce,   // equal keys are combined by `reduce`
};

struct MapReduceJob {
  using Emit = std::function<void(const bson::Value& key, const bson::Document& value)>;
  std::string input;
  bson::Document filter{};
  // Emits any number of keys with a value each.
  std::function<void(bson::View document, const Emit& emit)> map;
  // Values of one key to one: associative and commutative, since they come in any grouping.
  std::function<bson::Document(const std::vector<bson::Document>& values)> reduce;
  // From the reduced to the final value; none: the same. Not with kReduce, which would reduce
  // finished values.
  std::function<bson::Document(const bson::Document& value)> finalize{};
  ReduceInto into = ReduceInto::kInline;
  std::string output{};  // documents {_id: key, value}
};

// The results {_id: key, value} of this run, in memory. kReduce adds what it
// finds: a run that is repeated counts twice there, the others may be repeated.
// Errors: Contention; BadValue when a finalize is given with kReduce.
Result<std::vector<bson::Document>> RunMapReduce(const Store& store, const MapReduceJob& job);

}  // namespace quire::patterns
