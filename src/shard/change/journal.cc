// SPDX-License-Identifier: Apache-2.0
#include "shard/change/journal.h"

#include <array>
#include <cstdio>
#include <string>
#include <utility>

namespace quire::shard {

namespace {

constexpr std::string_view kPrefix = "log/";
constexpr size_t kMostEntries = 1000;
constexpr size_t kMostDeletes = 100;  // of one transaction

}  // namespace

void AddToJournal(Context& context, std::string_view what, std::string_view ns,
                  const bson::Document& details, coord::Transaction* transaction) {
  const bson::Date now = bson::Date::Now();
  const std::string id = bson::ObjectId::Generate().ToHex();
  bson::Builder out;
  out.Append("_id", context.shard + "-" + id)
      .Append("server", context.shard)
      .Append("shard", context.shard)
      .Append("clientAddr", "")
      .Append("time", now)
      .Append("what", what)
      .Append("ns", ns)
      .Append("details", details);
  std::array<char, 24> time{};
  std::snprintf(time.data(), time.size(), "%016llx", static_cast<unsigned long long>(now.millis));
  const bson::Document entry = out.Finish();
  transaction->writes.push_back(
      coord::Put(std::string(kPrefix) + time.data() + "-" + id, bson::ToCanonicalJson(entry)));
}

void PruneJournal(Context& context) {
  const auto entries = context.store.List(kPrefix);
  if (!entries.ok() || entries->size() <= kMostEntries + kMostDeletes / 2) {
    return;
  }
  coord::Transaction transaction;
  for (size_t i = 0; i < entries->size() - kMostEntries && i < kMostDeletes; ++i) {
    transaction.writes.push_back(coord::Delete((*entries)[i].key));
  }
  static_cast<void>(context.store.Transact(std::move(transaction)));
}

}  // namespace quire::shard
