// SPDX-License-Identifier: Apache-2.0
//
// Giving back the space of dropped tables.
#include <algorithm>

#include "base/try.h"
#include "store/catalog.h"

namespace quire::store {

namespace {

bool IsMarkedDropped(kv::Store& store, TableId table) {
  auto txn = store.Begin({.read_only = true});
  if (!txn.ok()) {
    return false;
  }
  kv::ReadValue mark;
  Result<bool> found = (*txn)->Get(MetaKey('D', table), &mark);
  return found.ok() && *found;
}

}  // namespace

TableGuard::~TableGuard() {
  if (dropped.load(std::memory_order_acquire)) {
    catalog_->Reclaim(id);
  }
}

void Catalog::Reclaim(TableId table) {
  if (log_.in_set()) {
    return ReclaimLater(table);
  }
  const Result<bool> referred = log_.MayReferTo(table);
  if (referred.ok() && !*referred && ReclaimNow(table).ok()) {
    return;
  }
  MutexLock lock(garbage_mutex_);
  referred_.push_back({table, ""});
}

Status Catalog::ReclaimReferred(uint64_t most, const std::function<bool()>& stop) {
  size_t left = 0;
  {
    MutexLock lock(garbage_mutex_);
    left = referred_.size();
  }
  Status failed;
  for (; left > 0; --left) {
    Referred one;
    {
      MutexLock lock(garbage_mutex_);
      if (referred_.empty()) {
        break;
      }
      one = std::move(referred_.front());
      referred_.pop_front();
    }
    const Result<bool> gone = ReclaimReferred(&one, most, stop);
    if (!gone.ok() && failed.ok()) {
      failed = gone.status();
    }
    if (!gone.ok() || !*gone) {
      MutexLock lock(garbage_mutex_);
      referred_.push_back(std::move(one));  // those behind it have their turn
    }
    if ((gone.ok() && !*gone) || stop()) {
      break;
    }
  }
  return failed;
}

Result<bool> Catalog::ReclaimReferred(Referred* referred, uint64_t most,
                                      const std::function<bool()>& stop) {
  ASSIGN_OR_RETURN(const bool free,
                   log_.WriteOutTable(referred->table, most, stop, &referred->end));
  if (free) {
    RETURN_IF_ERROR(ReclaimNow(referred->table));
  }
  return free;
}

// The marker goes last: whatever is left is reclaimed at the next start.
Status Catalog::ReclaimNow(TableId table) {
  RETURN_IF_ERROR(store_->DeleteRange(TableRange(table)));
  for (char kind : {'M', 'n', 'b'}) {
    std::string prefix = MetaKey(kind, table);
    RETURN_IF_ERROR(store_->DeleteRange({prefix, kv::PrefixEnd(prefix)}));
  }
  ASSIGN_OR_RETURN(auto txn, store_->Begin({}));
  RETURN_IF_ERROR(txn->Delete(MetaKey('D', table)));
  return txn->Commit(kv::Durability::kProcess);
}

void Catalog::ReclaimLater(TableId table) {
  const uint64_t last = log_.last().time;
  MutexLock lock(garbage_mutex_);
  garbage_.push_back({table, last});
}

void Catalog::ReclaimDropped(uint64_t commit) {
  std::vector<Garbage> due;
  {
    MutexLock lock(garbage_mutex_);
    auto first = std::stable_partition(garbage_.begin(), garbage_.end(),
                                       [&](const Garbage& g) { return g.dropped > commit; });
    due.assign(first, garbage_.end());
    garbage_.erase(first, garbage_.end());
  }
  for (const Garbage& garbage : due) {
    const bool is_dropped = IsMarkedDropped(*store_, garbage.table);  // else the drop was undone
    if (is_dropped && !ReclaimNow(garbage.table).ok()) {
      MutexLock lock(garbage_mutex_);
      garbage_.push_back(garbage);
    }
  }
}

}  // namespace quire::store
