// SPDX-License-Identifier: Apache-2.0
#include "shard/change/take_over.h"

#include <algorithm>

#include "base/log.h"
#include "base/try.h"
#include "quire/doc.h"
#include "shard/change/run_change.h"

namespace quire::shard {

namespace {
constexpr std::chrono::milliseconds kAnswerTime{2000};
}  // namespace

Result<bool> TakeOver::IsLookedAfter(Context& context, const std::string& id, const Stamp& stamp,
                                     std::string* first) {
  ASSIGN_OR_RETURN(const auto entry, context.store.Fact(LockKey(id)));
  if (!entry) {
    return true;
  }
  ASSIGN_OR_RETURN(const LockRecord record, DecodeLock(entry->value));
  if (record.lock.over || record.lock.stamp.number != stamp.number || record.names.empty() ||
      record.owner == context.shard) {
    return true;
  }
  *first = record.names.front();
  ASSIGN_OR_RETURN(const auto shards, context.store.ReadShards());
  const auto owner = std::find_if(shards.begin(), shards.end(),
                                  [&](const auto& shard) { return shard.name == record.owner; });
  if (owner == shards.end()) {
    return false;
  }
  const bson::Document question = Doc("_shardsvrIsPrimary", 1, "$db", "admin");
  return context.peers.Call(*owner, question, kAnswerTime).ok();
}

std::set<std::string> TakeOver::Look(Context& context, Clock::time_point now,
                                     std::chrono::milliseconds timeout) {
  std::set<std::string> there;
  std::set<std::string> wanted;
  for (const NameRecord& record : context.names.All()) {
    if (record.known.phase != Phase::kPrepared) {
      continue;
    }
    there.insert(record.id);
    auto [found, is_new] = open_.try_emplace(record.id, Open{record.known.stamp, now});
    Open& open = found->second;
    if (is_new || open.stamp != record.known.stamp) {
      open = {record.known.stamp, now};
      continue;
    }
    std::string first;
    const Result<bool> looked_after = IsLookedAfter(context, record.id, open.stamp, &first);
    if (!looked_after.ok() || *looked_after) {
      open.heard = now;
    } else if (now - open.heard >= timeout) {
      open.heard = now;  // from now on it is this shard's, or it is tried again
      log::Warning("SHARDING", "A change is taken over: its coordinator has no primary",
                   {{"name", first}});
      wanted.insert(first);
    }
  }
  std::erase_if(open_, [&](const auto& entry) { return !there.contains(entry.first); });
  return wanted;
}

}  // namespace quire::shard
