// SPDX-License-Identifier: Apache-2.0
//
// The arrayFilters of an update: which elements `$[identifier]` stands for.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/keyed_hash.h"
#include "expr/context.h"
#include "expr/match/match.h"
#include "quire/bson.h"
#include "quire/status.h"

namespace quire::expr::update {

struct ArrayFilter {
  std::string identifier;
  std::unique_ptr<match::Filter> filter;  // over {identifier: element}
  bool used = false;                      // by a path

  Result<bool> Matches(const bson::Value& element) const;
};

class ArrayFilters {
 public:
  // FailedToParse and BadValue as MongoDB's.
  static Result<ArrayFilters> Parse(bson::View filters, const Context* context);

  // Null when there is none.
  const ArrayFilter* Find(std::string_view identifier) const;
  ArrayFilter* Find(std::string_view identifier);
  // The first that no path uses; null when all are used.
  const ArrayFilter* FirstUnused() const;

 private:
  std::vector<ArrayFilter> all_;
  std::unordered_map<std::string, size_t, KeyedStringHash, std::equal_to<>> index_;
};

}  // namespace quire::expr::update
