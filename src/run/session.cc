// SPDX-License-Identifier: Apache-2.0
#include "run/session.h"

#include <iterator>

#include "base/error_codes.h"

namespace quire::run {

namespace {

template <typename Clock>
int64_t MillisOf() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now().time_since_epoch())
      .count();
}

}  // namespace

Checkout Checkout::Try(Session* session) {
  return session->in_use_.exchange(true) ? Checkout() : Checkout(session);
}

Checkout Checkout::Wait(Session* session) {
  while (session->in_use_.exchange(true)) {
    session->in_use_.wait(true);
  }
  return Checkout(session);
}

void Checkout::GiveBack() {
  if (session_ != nullptr) {
    session_->in_use_.store(false);
    session_->in_use_.notify_all();
    session_->free_.Ring();
    session_ = nullptr;
  }
}

Result<std::shared_ptr<Session>> SessionTable::Get(std::string_view lsid) {
  MutexLock lock(mutex_);
  auto it = sessions_.find(lsid);
  if (it == sessions_.end()) {
    std::shared_ptr<Session> session = Make(std::string(lsid));
    const bool owned = !session->owner().empty();
    if (owned) {
      session->ticket_ = owners_.Take(session->owner(), most_per_user);
    }
    if (std::ssize(sessions_) >= most_ || (owned && session->ticket_ == nullptr)) {
      return Status(kTooManyLogicalSessions,
                    "Unable to add session into the cache because the "
                    "number of active sessions is too high");
    }
    it = sessions_.emplace(lsid, std::move(session)).first;
  }
  it->second->last_use_millis = MillisOf<std::chrono::steady_clock>();
  it->second->last_use_wall_millis = MillisOf<std::chrono::system_clock>();
  return it->second;
}

std::shared_ptr<Session> SessionTable::Find(std::string_view lsid) {
  MutexLock lock(mutex_);
  auto it = sessions_.find(lsid);
  return it == sessions_.end() ? nullptr : it->second;
}

void SessionTable::End(std::string_view lsid) {
  std::shared_ptr<Session> session;
  {
    MutexLock lock(mutex_);
    auto it = sessions_.find(lsid);
    if (it == sessions_.end()) {
      return;
    }
    session = std::move(it->second);
    sessions_.erase(it);
  }
  Checkout checkout = Checkout::Wait(session.get());
  session->AbortQuietly();
}

void SessionTable::Expire(std::chrono::minutes timeout) {
  const int64_t oldest = MillisOf<std::chrono::steady_clock>() -
                         std::chrono::duration_cast<std::chrono::milliseconds>(timeout).count();
  for (const auto& session : All()) {
    Checkout checkout = Checkout::Try(session.get());
    if (!checkout) {
      continue;
    }
    if (session->expired()) {
      session->AbortQuietly();
    }
    if (session->last_use_millis < oldest) {
      session->AbortQuietly();
      checkout.GiveBack();
      MutexLock table_lock(mutex_);
      if (session->last_use_millis < oldest) {  // still: Get sets it under this lock
        sessions_.erase(session->lsid);
      }
    }
  }
}

void SessionTable::AbortAll() {
  for (const auto& session : All()) {
    Checkout checkout = Checkout::Wait(session.get());
    session->AbortQuietly();
  }
}

std::vector<std::shared_ptr<Session>> SessionTable::All() {
  MutexLock lock(mutex_);
  std::vector<std::shared_ptr<Session>> all;
  for (const auto& [id, session] : sessions_) {
    all.push_back(session);
  }
  return all;
}

size_t SessionTable::size() {
  MutexLock lock(mutex_);
  return sessions_.size();
}

}  // namespace quire::run
