// SPDX-License-Identifier: Apache-2.0
//
// What is told to the audit log: logins, refused commands, changes of users, roles and collections.
// Most events are read from a command that has ended; changes of the catalog are told where they
// become visible, so that a collection an insert makes is not missed.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "audit/event.h"
#include "audit/log.h"
#include "base/mutex.h"
#include "command/auth/stranger_events.h"
#include "request/call.h"
#include "store/catalog.h"

namespace quire::command {

// Safe for concurrent use. There is none while auditing is off: that costs a comparison with null.
class Auditor {
 public:
  explicit Auditor(std::unique_ptr<audit::Log> log) : log_(std::move(log)) {}

  // While it lives, what the thread does to the catalog is told of as the call's doing.
  class Attribution {
   public:
    explicit Attribution(const request::Call* call);
    ~Attribution();
    Attribution(const Attribution&) = delete;
    Attribution& operator=(const Attribution&) = delete;

   private:
    const request::Call* before_;
  };

  // Before and after every command. `Begin`: FileStreamFailed for commands that are audited,
  // while the log cannot be written or has no room for them.
  Status Begin(const request::Call& call);
  // `guarded`: there is access control, and the command was checked.
  void End(const request::Call& call, const Status& status, bool guarded);

  // The connection of a client is closed.
  void Disconnected(const request::Client& client);
  void CatalogChanged(const store::CatalogSnapshot& before, const store::CatalogSnapshot& after,
                      const std::vector<std::string>& removed,
                      const std::vector<std::shared_ptr<store::CollectionInfo>>& added);
  // The replica set has another configuration. `before` is empty when it had none.
  void SetReconfigured(bson::View before, bson::View after);
  void Started(bson::View options);
  void Stopping();
  Status Rotate();

  // auditAuthorizationSuccess: commands that were allowed are told of, too.
  std::atomic<bool> authorization_success{false};

 private:
  // A login that was begun.
  struct Attempt {
    std::string user;
    std::string database;
    std::string mechanism;
  };
  void NoteAttempt(const request::Call& call);
  Attempt TakeAttempt(const request::Client& client);
  void TellOfCheck(const request::Call& call, bool refused);
  // That there were commands that it is not told of.
  void TellOfUntold(int64_t count);
  void TellOfLogin(const request::Call& call, const Status& status);
  void TellOfDirectWrites(const request::Call& call);
  void TellOfLogout(const request::Client& client, const std::string& reason);
  void Tell(std::string_view type, const audit::Who& who, const bson::Document& param, int result);

  std::unique_ptr<audit::Log> log_;
  StrangerEvents strangers_;
  Mutex mutex_;
  std::map<int64_t, Attempt> attempts_ QUIRE_GUARDED_BY(mutex_);  // by the client's id
};

}  // namespace quire::command
