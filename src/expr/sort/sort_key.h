// SPDX-License-Identifier: Apache-2.0
//
// Sort specifications and the keys they extract from documents.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bson/path.h"
#include "expr/context.h"
#include "quire/bson.h"
#include "quire/status.h"

namespace quire::expr {

// A parsed {a: 1, "b.c": -1, score: {$meta: "textScore"}}.
class SortPattern {
 public:
  static constexpr size_t kMaxParts = 32;

  struct Part {
    std::string path;
    bool ascending = true;
    std::string meta;  // "textScore" etc.; then path is only the output's name
  };
  // BadValue and friends as MongoDB's. An empty spec is valid and orders nothing. {$natural: 1} is
  // not a pattern: whoever allows it looks for it before.
  static Result<SortPattern> Parse(bson::View spec);

  const std::vector<Part>& parts() const { return parts_; }
  bool empty() const { return parts_.empty(); }

  // Bytes that compare like the documents do under this pattern (for an array, its smallest
  // element ascending, largest descending; missing as null; collation applied). Appended to *out.
  // `type_bits`, when not null, is replaced with what KeyValues needs beside the key.
  // Error 2 (BadValue) for parallel arrays, as MongoDB.
  Status AppendKey(bson::View document, const Metadata* metadata, const Context& context,
                   std::string* out, std::string* type_bits = nullptr) const;

  // The values of a key as an array, as {$meta: "sortKey"} shows them; strings under a collation as
  // its sort keys.
  bson::Document KeyValues(std::string_view key, std::string_view type_bits) const;

 private:
  Status AddPart(const bson::Element& element);

  std::vector<Part> parts_;
  std::vector<bson::FieldPath> paths_;  // of the parts without meta
};

}  // namespace quire::expr
