// SPDX-License-Identifier: Apache-2.0
//
// What names a document in the change log: its _id, and before it the fields of the shard key where
// its collection is sharded.
#pragma once

#include <vector>

#include "bson/path.h"
#include "quire/bson.h"

namespace quire::store {

// Of a sharded collection. Immutable.
class DocumentKey {
 public:
  // `fields`: {a: ..., "b.c": ...}, the names of the shard key in its order; their values do not
  // count.
  explicit DocumentKey(bson::View fields);

  // As it was given, for the log.
  const bson::Document& fields() const { return fields_; }
  // Appends the fields that the document has, then _id unless it is one of them.
  void Append(bson::View document, bson::Builder* out) const;

 private:
  bson::Document fields_;
  std::vector<bson::FieldPath> paths_;
};

}  // namespace quire::store
