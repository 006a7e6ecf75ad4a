// SPDX-License-Identifier: Apache-2.0
//
// Language-aware string comparison by ICU, configured by MongoDB's collation document.
#pragma once

#include <memory>

#include "bson/compare.h"
#include "quire/bson.h"
#include "quire/status.h"

namespace quire::expr {

// Immutable and safe for concurrent use.
class Collator : public bson::StringCompare {
 public:
  // `spec` as in {collation: {...}}; null pointer for the simple locale. Errors as MongoDB's.
  static Result<std::shared_ptr<const Collator>> Parse(bson::View spec);

  // The complete document with every default filled in, as listCollections shows it.
  virtual const bson::Document& spec() const = 0;
};

}  // namespace quire::expr
