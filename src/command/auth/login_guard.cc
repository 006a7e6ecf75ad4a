// SPDX-License-Identifier: Apache-2.0
#include "command/auth/login_guard.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "command/own_documents.h"
#include "request/network_limits.h"
#include "request/network_stats.h"

namespace quire::command {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kKeys = "admin.system.keys";
constexpr std::string_view kKeyId = "unknownUsers";
constexpr size_t kSecretBytes = 32;
constexpr milliseconds kFirstDelay{100};

// After `failures` more than were free: doubled with each.
milliseconds DelayAfter(int32_t failures, milliseconds most) {
  constexpr int32_t kMostDoublings = 20;
  return std::min(most, kFirstDelay * (1 << std::min(failures, kMostDoublings)));
}

std::string Secret(engine::Engine& engine) {
  auto stored = LoadOwn(engine, kKeys, bson::Value(kKeyId));
  if (stored.ok() && stored->has_value()) {
    if (bson::Value key = (**stored)["key"]; key.type() == bson::Type::kBinary) {
      return std::string(key.AsBinary());
    }
  }
  std::string secret = auth::RandomBytes(kSecretBytes);
  bson::Builder document;
  document.Append("_id", kKeyId)
      .Append("purpose", "unknownUsers")
      .Append("key", bson::Value::Binary(secret, 0));
  bson::Document stored_key = document.Finish();
  if (Status saved = SaveOwn(engine, kKeys, stored_key.view()); !saved.ok()) {
    log::Warning("ACCESS", "The secret of logins is kept until the end of the process only",
                 {{"error", saved.message()}});
  }
  return secret;
}

}  // namespace

FailedLogins::Record* FailedLogins::Find(std::string_view origin, std::string_view user,
                                         milliseconds now, bool make) {
  if (buckets_.empty()) {
    if (!make) {
      return nullptr;
    }
    buckets_.resize(kBuckets);
  }
  std::string key(origin);
  key += '\0';
  key += user;
  const uint64_t tag = auth::KeyedHash(secret_, key);
  Bucket& bucket = buckets_[tag % kBuckets];
  Record* least = &bucket[0];
  for (Record& record : bucket) {
    if (record.failures > 0 && now - record.last >= kForget) {
      record = {};
    }
    if (record.failures > 0 && record.tag == tag) {
      return &record;
    }
    if (record.failures < least->failures) {
      least = &record;
    }
  }
  if (!make) {
    return nullptr;
  }
  *least = {};
  least->tag = tag;
  return least;
}

milliseconds FailedLogins::Begin(std::string_view origin, std::string_view user, milliseconds now,
                                 milliseconds most) {
  constexpr milliseconds kMostOfOrigin{1000};
  MutexLock lock(mutex_);
  milliseconds wait{0};
  Record* own = Find(origin, user, now, false);
  if (own != nullptr && own->failures > kFree) {
    const milliseconds start = std::max(now, own->next);
    own->next = std::min(start, now + most) + DelayAfter(own->failures - kFree, most);
    wait = std::min(most, start - now);
  }
  Record* all = Find(origin, "", now, false);
  if (all != nullptr && all->failures > kFreeOfOrigin) {
    wait = std::max(wait, std::min(most, kMostOfOrigin));
  }
  return wait;
}

bool FailedLogins::Slows(std::string_view origin, std::string_view user, milliseconds now) {
  MutexLock lock(mutex_);
  Record* own = Find(origin, user, now, false);
  Record* all = Find(origin, "", now, false);
  return (own != nullptr && own->failures > kFree) ||
         (all != nullptr && all->failures > kFreeOfOrigin);
}

void FailedLogins::Failed(std::string_view origin, std::string_view user, milliseconds now) {
  MutexLock lock(mutex_);
  for (std::string_view name : {user, std::string_view()}) {
    Record* record = Find(origin, name, now, true);
    record->failures = std::min(record->failures + 1, 1 << 20);
    record->last = now;
    if (record->failures > kFree) {
      record->next = std::max(record->next, now + kFirstDelay);
    }
  }
}

void FailedLogins::Succeeded(std::string_view origin, std::string_view user) {
  MutexLock lock(mutex_);
  if (Record* own = Find(origin, user, milliseconds{0}, false)) {
    *own = {};
  }
}

std::shared_ptr<void> UserPlaces::Take(const std::string& user, int64_t most) {
  {
    MutexLock lock(mutex_);
    int64_t& count = counts_[user];
    if (most > 0 && count >= most) {
      return nullptr;
    }
    ++count;
  }
  return {this, [all = shared_from_this(), user](void*) { all->Leave(user); }};
}

void UserPlaces::Leave(const std::string& user) {
  MutexLock lock(mutex_);
  auto count = counts_.find(user);
  if (--count->second == 0) {
    counts_.erase(count);
  }
}

LoginGuard::LoginGuard(engine::Engine& engine, bool access_control)
    : secret_(access_control ? Secret(engine) : auth::RandomBytes(kSecretBytes)),
      failed_(auth::RandomBytes(kSecretBytes)) {}

std::shared_ptr<void> LoginGuard::TakePlace(const std::string& user) {
  const int64_t all = request::Network().connections_limit.load();
  return places_->Take(user, request::ShareOf(all, connections_per_user.load()));
}

}  // namespace quire::command
