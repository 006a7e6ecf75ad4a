// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "store/catalog.h"

namespace quire::plan {

// An index that may be used, with what was known of it when planning began.
struct IndexChoice {
  const store::IndexInfo* info = nullptr;
  uint64_t multikey = 0;
  std::shared_ptr<const store::IndexInfo> owned = nullptr;  // a wildcard's form for one path
  // Of such a form: what the path may be in the index. With several, numbers in it may be positions
  // in arrays ("a.0.b" is held as "a.b"), and no key decides a predicate.
  std::set<std::string> readings = {};
};

// Some part of the index's key is not a value of the document: text and geo indexes.
inline bool IsSpecialIndex(const store::IndexInfo& index) { return index.keys.special != nullptr; }

}  // namespace quire::plan
