// SPDX-License-Identifier: Apache-2.0
#include "exec/join/hash_join.h"

#include "base/try.h"

namespace quire::exec {

Result<bool> HashJoinTable::Fill(OpContext& op, Operator& input, const FieldPath& path) {
  Row row;
  for (;;) {
    ASSIGN_OR_RETURN(bool more, input.Next(op, &row));
    if (!more) {
      break;
    }
    memory_ += row.document.size() + sizeof(bson::Document);
    charge_.Set(memory_);
    if (memory_ > op.memory_limit) {
      charge_.Set(0);
      documents_.clear();
      return false;
    }
    documents_.emplace_back(row.document);
  }
  for (size_t at = 0; at < documents_.size(); ++at) {
    RETURN_IF_ERROR(op.CheckInterrupt());
    VisitPath(bson::Value(documents_[at].view()), path, 0, [&](const bson::Value& value) {
      std::vector<size_t>& list = by_value_[Key(value)];
      if (list.empty() || list.back() != at) {
        list.push_back(at);
      }
    });
  }
  return true;
}

const std::vector<size_t>& HashJoinTable::Find(const bson::Value& value) const {
  static const std::vector<size_t> kNone;
  auto found = by_value_.find(Key(value));
  return found == by_value_.end() ? kNone : found->second;
}

}  // namespace quire::exec
