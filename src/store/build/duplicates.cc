// SPDX-License-Identifier: Apache-2.0
#include "store/build/duplicates.h"

#include "base/try.h"

namespace quire::store {

Result<std::vector<std::vector<RecordId>>> FindDuplicates(OpContext& op, Transaction& txn,
                                                          const IndexInfo& index, size_t limit) {
  constexpr size_t kIdSize = 8;
  std::vector<std::vector<RecordId>> groups;
  ASSIGN_OR_RETURN(auto entries,
                   txn.kv().Scan(TableRange(index.table->id), kv::Direction::kForward));
  std::string key;
  RecordId first = 0;
  bool grouped = false;
  while (groups.size() < limit) {
    RETURN_IF_ERROR(op.CheckInterrupt());
    ASSIGN_OR_RETURN(bool more, entries->Next());
    if (!more) {
      break;
    }
    std::string_view entry = entries->key();
    RecordId id = ReadRecordId(entry.substr(entry.size() - kIdSize));
    entry.remove_suffix(kIdSize);
    if (entry != key) {
      key = entry;
      first = id;
      grouped = false;
      continue;
    }
    if (!grouped) {
      groups.push_back({first});
      grouped = true;
    }
    groups.back().push_back(id);
  }
  return groups;
}

}  // namespace quire::store
