// SPDX-License-Identifier: Apache-2.0
#include "plan/access/hint.h"

#include "bson/compare.h"
#include "bson/number.h"

namespace quire::plan {

bool HintNames(const QuerySpec& query, const store::IndexInfo& index) {
  if (query.hint.is_string()) {
    return query.hint.AsString() == index.name;
  }
  return query.hint.is_document() &&
         bson::CompareDocuments(query.hint.AsDocument(), index.key_pattern) == 0;
}

int NaturalHint(const QuerySpec& query) {
  if (!query.hint.is_document()) {
    return 0;
  }
  bson::Value natural = query.hint.AsDocument()["$natural"];
  if (!natural.is_number()) {
    return 0;
  }
  return bson::IsNegative(natural) ? -1 : 1;
}

}  // namespace quire::plan
