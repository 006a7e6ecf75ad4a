// SPDX-License-Identifier: Apache-2.0
//
// Checking a collection against itself: every document well-formed, every index holding exactly
// the keys of the documents.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace quire::engine {

struct ValidateResult {
  int64_t records = 0;
  int64_t invalid_documents = 0;
  std::map<std::string, int64_t> keys_per_index;
  std::vector<std::string> errors;  // the first hundred; empty: valid
  int64_t missing_keys = 0;
  int64_t extra_keys = 0;
  bool valid() const { return errors.empty(); }
};

// Reads everything in one snapshot; writers go on.
Result<ValidateResult> ValidateCollection(const Operation& operation, const std::string& ns);

}  // namespace quire::engine
