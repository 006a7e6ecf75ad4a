// SPDX-License-Identifier: Apache-2.0
//
// The command mapReduce.
#pragma once

#include <string_view>

#include "quire/bson.h"
#include "quire/status.h"

namespace quire::request {

// Where the result goes.
struct MapReduceOutput {
  enum class Kind { kInline, kReplace, kMerge, kReduce };
  Kind kind = Kind::kInline;
  std::string_view database;  // empty: the command's
  std::string_view collection;
};

struct MapReduceRequest {
  std::string_view collection;
  bson::Value map;     // string or code
  bson::Value reduce;  // string or code
  bson::Value finalize;
  MapReduceOutput out;
  bson::View query;
  bson::View sort;
  bson::View scope;
  bson::View collation;
  int64_t limit = 0;
  bool bypass_validation = false;
  static Result<MapReduceRequest> Parse(bson::View body);
};

}  // namespace quire::request
