// SPDX-License-Identifier: Apache-2.0
//
// Short stored names for long field names, both ways.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quire/bson.h"
#include "quire/patterns/error.h"

namespace quire::patterns {

// Immutable; safe for concurrent use.
class FieldNames {
 public:
  using Pairs = std::vector<std::pair<std::string, std::string>>;  // long name, short name

  // Errors: NameClash (a name twice on one side), InvalidName (empty, with a dot, a NUL, a `$` or
  // `~` in front, or of digits only, which would look like an array's index).
  static Result<FieldNames> Make(const Pairs& pairs);
  // The same and more, as the next version. Errors as above.
  Result<FieldNames> Extend(const Pairs& more) const;

  // 1, and one more per Extend.
  int32_t version() const { return version_; }

  // A document, filter or update with its names shortened at every level and in dotted paths;
  // operators and unknown names stay. A name that would be taken for a short one is stored with a
  // `~` in front, so that Lengthen(Shorten(d)) is d for every d.
  bson::Document Shorten(bson::View document) const;
  bson::Document Lengthen(bson::View document) const;
  std::string ShortenPath(std::string_view path) const;
  std::string LengthenPath(std::string_view path) const;

 private:
  FieldNames() = default;
  Status Add(const Pairs& pairs);
  std::string ShortenName(std::string_view name) const;
  std::string LengthenName(std::string_view name) const;

  std::map<std::string, std::string, std::less<>> short_;  // by long name
  std::map<std::string, std::string, std::less<>> long_;   // by short name
  int32_t version_ = 0;
};

}  // namespace quire::patterns
