// SPDX-License-Identifier: Apache-2.0
#include "shard/change/left_outs.h"

#include <string_view>

#include "base/log.h"
#include "base/try.h"
#include "engine/write/out_collection.h"

namespace quire::shard {

namespace {

// The process that fills the collection; empty: it is no router's temporary one.
std::string BootOf(std::string_view name) {
  if (!name.starts_with(engine::kRoutersOutTemporary)) {
    return {};
  }
  name.remove_prefix(engine::kRoutersOutTemporary.size());
  return std::string(name.substr(0, name.find('.')));
}

Status LookAtRouters(Context& context, RoutersSeen* routers, RoutersSeen::Clock::time_point now) {
  ASSIGN_OR_RETURN(const auto entries, context.store.List("routers/"));
  std::map<std::string, int64_t> there;
  for (const coord::Entry& entry : entries) {
    ASSIGN_OR_RETURN(const bson::Document record, bson::Document::FromJson(entry.value));
    if (const bson::Value boot = record["boot"]; boot.is_string()) {
      there[std::string(boot.AsString())] = static_cast<int64_t>(entry.modified);
    }
  }
  routers->Look(there, now);
  return Status::Ok();
}

}  // namespace

void RoutersSeen::Look(const std::map<std::string, int64_t>& routers, Clock::time_point now) {
  std::erase_if(there_, [&](const auto& one) { return !routers.contains(one.first); });
  for (const auto& [boot, revision] : routers) {
    absent_.erase(boot);
    const auto [seen, is_new] = there_.try_emplace(boot, Seen{revision, now});
    if (!is_new && seen->second.revision != revision) {
      seen->second = {revision, now};
    }
  }
}

bool RoutersSeen::IsGone(const std::string& boot, Clock::time_point now) {
  if (const auto seen = there_.find(boot); seen != there_.end()) {
    return now - seen->second.since >= kSilent;
  }
  return now - absent_.try_emplace(boot, now).first->second >= kAbsent;
}

void DropLeftOuts(Context& context, RoutersSeen* routers) {
  std::vector<store::CollectionPtr> temporary;
  const auto snapshot = context.engine.catalog().snapshot();
  for (const std::string& database : snapshot->Databases()) {
    for (const store::CollectionPtr& one : snapshot->InDatabase(database)) {
      if (!BootOf(one->name).empty()) {
        temporary.push_back(one);
      }
    }
  }
  if (temporary.empty()) {
    return;
  }
  const auto now = RoutersSeen::Clock::now();
  if (!LookAtRouters(context, routers, now).ok()) {
    return;
  }
  for (const store::CollectionPtr& one : temporary) {
    if (!routers->IsGone(BootOf(one->name), now)) {
      continue;
    }
    const Status dropped = DropLocal(context, one->ns(), UuidBytes(one->uuid));
    log::Info("SHARDING", "What a router has left of an $out is dropped",
              {{"namespace", one->ns()}, {"error", dropped.message()}});
  }
}

}  // namespace quire::shard
