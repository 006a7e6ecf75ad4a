// SPDX-License-Identifier: Apache-2.0
//
// The arrayFilters of an update: which elements `$[identifier]` stands for.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "expr/context.h"
#include "expr/match/match.h"
#include "quire/bson.h"
#include "quire/status.h"

namespace quire::expr::update {

struct ArrayFilter {
  std::string identifier;
  std::unique_ptr<match::Filter> filter;  // over {identifier: element}

  Result<bool> Matches(const bson::Value& element) const;
};

// FailedToParse and BadValue as MongoDB's.
Result<std::vector<ArrayFilter>> ParseArrayFilters(bson::View filters, const Context* context);

}  // namespace quire::expr::update
