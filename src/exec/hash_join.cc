// SPDX-License-Identifier: Apache-2.0
#include "exec/hash_join.h"

#include <algorithm>

#include "base/try.h"

namespace quire::exec {

Status HashJoinTable::Fill(OpContext& op, Operator& input, const FieldPath& path) {
  ASSIGN_OR_RETURN(documents_, ReadAll(op, input));
  for (size_t at = 0; at < documents_.size(); ++at) {
    VisitPath(bson::Value(documents_[at].view()), path, 0, [&](const bson::Value& value) {
      std::vector<size_t>& list = by_value_[Key(value)];
      if (list.empty() || list.back() != at) {
        list.push_back(at);
      }
    });
  }
  return Status::Ok();
}

std::vector<size_t> HashJoinTable::Find(const bson::Value& value) const {
  std::vector<size_t> found;
  auto add = [&](const bson::Value& key) {
    auto list = by_value_.find(Key(key));
    if (list != by_value_.end()) {
      found.insert(found.end(), list->second.begin(), list->second.end());
    }
  };
  if (value.is_array()) {
    for (const bson::Element& element : value.AsArray()) {
      add(element.value());
    }
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
  } else {
    add(value);
  }
  return found;
}

}  // namespace quire::exec
