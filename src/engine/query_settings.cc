// SPDX-License-Identifier: Apache-2.0
#include "engine/query_settings.h"

namespace quire::engine {

std::optional<QuerySetting> QuerySettings::Find(const std::string& hash) const {
  ReaderLock lock(mutex_);
  auto it = by_hash_.find(hash);
  return it == by_hash_.end() ? std::nullopt : std::optional(it->second);
}

QuerySetting QuerySettings::Merged(const std::string& hash, bson::View query,
                                   bson::View settings) const {
  QuerySetting entry = Find(hash).value_or(QuerySetting{});
  entry.hash = hash;
  if (!query.empty()) {
    entry.query = bson::Document(query);
  }
  bson::Builder merged;
  for (const bson::Element& e : entry.settings.view()) {
    if (!settings.Has(e.name())) {
      merged.Append(e);
    }
  }
  merged.AppendFields(settings);
  entry.settings = merged.Finish();
  return entry;
}

void QuerySettings::Put(QuerySetting setting) {
  WriterLock lock(mutex_);
  std::string hash = setting.hash;
  by_hash_.insert_or_assign(std::move(hash), std::move(setting));
  size_ = by_hash_.size();
}

void QuerySettings::Remove(const std::string& hash) {
  WriterLock lock(mutex_);
  by_hash_.erase(hash);
  size_ = by_hash_.size();
}

std::vector<QuerySetting> QuerySettings::All() const {
  ReaderLock lock(mutex_);
  std::vector<QuerySetting> all;
  for (const auto& [hash, entry] : by_hash_) {
    all.push_back(entry);
  }
  return all;
}

}  // namespace quire::engine
