// SPDX-License-Identifier: Apache-2.0
//
// Sort specifications and the keys they extract from documents.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "expr/context.h"
#include "quire/bson.h"
#include "quire/status.h"

namespace quire::expr {

// A parsed {a: 1, "b.c": -1, score: {$meta: "textScore"}}.
class SortPattern {
 public:
  struct Part {
    std::string path;
    bool ascending = true;
    std::string meta;  // "textScore" etc.; then path is only the output's name
  };
  // BadValue and friends as MongoDB's. An empty spec is valid and orders nothing.
  static Result<SortPattern> Parse(bson::View spec);

  const std::vector<Part>& parts() const { return parts_; }
  bool empty() const { return parts_.empty(); }

  // Bytes that compare like the documents do under this pattern (for an array, its smallest
  // element ascending, largest descending; missing as null; collation applied). Appended to *out.
  // Error 2 (BadValue) for parallel arrays, as MongoDB.
  Status AppendKey(bson::View document, const Metadata* metadata, const Context& context,
                   std::string* out) const;

 private:
  std::vector<Part> parts_;
};

}  // namespace quire::expr
