// SPDX-License-Identifier: Apache-2.0
//
// Which paths of a document a wildcard index holds: {"$**": 1} all but _id, {"a.$**": 1} those at
// and below a, and what a wildcardProjection leaves of them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "quire/bson.h"
#include "quire/status.h"

namespace quire::store {

// "$**" or "a.b.$**".
bool IsWildcardField(std::string_view field);

// Immutable once made. Paths are dotted and have no array positions.
class WildcardPaths {
 public:
  // All paths at and below the field of the key pattern ("$**" or "a.b.$**").
  explicit WildcardPaths(std::string_view field);

  // Of {"$**": 1} with a wildcardProjection. Errors: FailedToParse for an empty one, 51271 for
  // anything but fields to keep or leave out, those of projections (31249, 31253, 31254...).
  static Result<WildcardPaths> Parse(std::string_view field, bson::View projection);

  // The same for what createIndexes accepted; an empty projection stands for none.
  static std::shared_ptr<const WildcardPaths> Of(std::string_view field, bson::View projection);

  // Whether a value at the path is held.
  bool Holds(std::string_view path) const;
  // Whether a value at, above or below the path may be held: a change there can change the index.
  bool Meets(std::string_view path) const;

 private:
  enum class Mode { kAll, kInclude, kExclude };

  std::string base_;  // "a.b" of "a.b.$**"
  Mode mode_ = Mode::kAll;
  std::vector<std::string> paths_;
  bool with_id_ = false;
};

// What an index remembers, among the paths at which it has met arrays, of an array directly within
// the array at `path`. No field name holds a NUL.
inline std::string NestedArrayMark(std::string_view path) {
  return std::string(path) + std::string(1, '\0');
}

// Whether `path` is `above` or lies below it: "a.b" and "a", but not "ab" and "a".
bool IsAtOrBelow(std::string_view path, std::string_view above);

}  // namespace quire::store
