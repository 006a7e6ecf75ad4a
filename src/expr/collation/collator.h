// SPDX-License-Identifier: Apache-2.0
//
// Language-aware string comparison by ICU, configured by MongoDB's collation document.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "quire/bson.h"
#include "quire/status.h"

namespace quire::expr {

// Immutable and safe for concurrent use.
class Collator {
 public:
  // `spec` as in {collation: {...}}; null pointer for the simple locale. Errors as MongoDB's.
  static Result<std::shared_ptr<const Collator>> Parse(bson::View spec);
  virtual ~Collator() = default;

  virtual int Compare(std::string_view a, std::string_view b) const = 0;
  // Bytes that compare (as unsigned bytes) like the strings do; equal strings give equal bytes.
  virtual std::string SortKey(std::string_view s) const = 0;
  // The complete document with every default filled in, as listCollections shows it.
  virtual const bson::Document& spec() const = 0;
};

}  // namespace quire::expr
