// SPDX-License-Identifier: Apache-2.0
#include "coord/etcd/etcd_store.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "base/error_codes.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/thread.h"
#include "base/try.h"
#include "coord/etcd/http.h"
#include "coord/etcd/messages.h"

namespace quire::coord {

namespace {

// How long a watch that broke waits before it tries again.
constexpr auto kWatchPause = std::chrono::milliseconds(500);
constexpr auto kLoginTime = std::chrono::seconds(5);
// Calls in a row that failed before the log tells of it: one alone may have had a short deadline.
constexpr int64_t kFailuresToTell = 2;

Result<std::vector<std::string>> ReadServers(const std::string& text) {
  std::vector<std::string> servers;
  std::string scheme = "http://";
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    std::string server = text.substr(begin, end - begin);
    begin = end + 1;
    for (const char* known : {"http://", "https://"}) {
      if (server.starts_with(known)) {
        scheme = known;
        server.erase(0, scheme.size());
        break;
      }
    }
    while (server.ends_with('/')) {
      server.pop_back();
    }
    if (server.empty() || server.find_first_of("/ @?#") != std::string::npos) {
      return Status(kBadValue, "'" + text +
                                   "' names no coordination store: write http://host:port, several "
                                   "of them separated by commas");
    }
    servers.push_back(scheme + server);
  }
  return servers;
}

class EtcdStore final : public Store {
 public:
  EtcdStore(std::vector<std::string> servers, const EtcdOptions& options)
      : servers_(options.servers),
        http_({std::move(servers), options.ca_file, options.certificate_file, options.key_file}),
        user_(options.user),
        password_(options.password) {}

  Result<Answer> Transact(const Transaction& transaction, Deadline deadline) override {
    RETURN_IF_ERROR(CheckForm(transaction));
    ASSIGN_OR_RETURN(const std::string body,
                     Post("/v3/kv/txn", etcd::TransactBody(transaction), deadline));
    return etcd::ReadAnswer(body);
  }

  Result<Listing> List(const Range& range, Deadline deadline) override {
    ASSIGN_OR_RETURN(const std::string body, Post("/v3/kv/range", etcd::ListBody(range), deadline));
    return etcd::ReadListing(range, body);
  }

  Result<std::unique_ptr<Watcher>> Watch(std::string prefix,
                                         std::function<void()> changed) override;

  etcd::Http& http() { return http_; }

  // The header's value of a login; empty when none is needed. `refused`: a value that did not do.
  Result<std::string> Authorization(const std::string& refused, Deadline deadline) {
    if (user_.empty()) {
      return std::string();
    }
    MutexLock lock(mutex_);
    if (token_.empty() || token_ == refused) {
      token_.clear();
      ASSIGN_OR_RETURN(
          const etcd::HttpReply reply,
          http_.Post("/v3/auth/authenticate", etcd::LoginBody(user_, password_), "", deadline));
      if (reply.status != 200) {
        const Status status = etcd::ReadError(reply.status, reply.body);
        // A wrong name or password is an invalid argument to etcd.
        return status.code() == kBadValue ? Status(kAuthenticationFailed, status.message())
                                          : status;
      }
      ASSIGN_OR_RETURN(token_, etcd::ReadToken(reply.body));
    }
    return token_;
  }

  // The log tells once that etcd cannot be reached or does not let us in, and when that is over.
  // `status`: of a call, or of a watch.
  void Note(const Status& status) {
    const bool away = status.code() == kHostUnreachable || status.code() == kNetworkTimeout ||
                      status.code() == kAuthenticationFailed || status.code() == kUnauthorized;
    if (!away) {
      if (failures_.exchange(0) >= kFailuresToTell) {
        log::Info("NETWORK", "The coordination store can be used again", {{"servers", servers_}});
      }
    } else if (failures_.fetch_add(1) + 1 == kFailuresToTell) {
      log::Warning("NETWORK", "The coordination store cannot be used; it is tried again",
                   {{"servers", servers_}, {"error", status.message()}});
    }
  }

 private:
  // The body of an answer with status 200.
  Result<std::string> Post(const std::string& path, const std::string& body, Deadline deadline) {
    Result<std::string> answer = Ask(path, body, deadline);
    Note(answer.status());
    return answer;
  }

  // An expired login is renewed: what etcd refuses for it was not done.
  Result<std::string> Ask(const std::string& path, const std::string& body, Deadline deadline) {
    ASSIGN_OR_RETURN(std::string authorization, Authorization("", deadline));
    for (bool again = !user_.empty();; again = false) {
      ASSIGN_OR_RETURN(etcd::HttpReply reply, http_.Post(path, body, authorization, deadline));
      if (reply.status == 200) {
        return std::move(reply.body);
      }
      const Status status = etcd::ReadError(reply.status, reply.body);
      if (!again || status.code() != kAuthenticationFailed) {
        return status;
      }
      ASSIGN_OR_RETURN(authorization, Authorization(authorization, deadline));
    }
  }

  const std::string servers_;
  std::atomic<int64_t> failures_{0};  // in a row
  etcd::Http http_;
  const std::string user_;
  const std::string password_;
  Mutex mutex_;
  std::string token_ QUIRE_GUARDED_BY(mutex_);
};

class EtcdWatcher final : public Watcher {
 public:
  EtcdWatcher(EtcdStore* store, std::string prefix, std::function<void()> changed)
      : store_(*store), prefix_(std::move(prefix)), changed_(std::move(changed)) {}
  ~EtcdWatcher() override {
    stream_.Stop();
    if (thread_.joinable()) {
      thread_.join();
    }
  }
  EtcdWatcher(const EtcdWatcher&) = delete;
  EtcdWatcher& operator=(const EtcdWatcher&) = delete;

  Status Start() {
    ASSIGN_OR_RETURN(thread_, StartThread([this] { Run(); }));
    return Status::Ok();
  }

 private:
  void Run() {
    const std::string body = etcd::WatchBody(prefix_);
    std::string refused;
    while (!stream_.stopped()) {
      bool watching = false;
      Result<std::string> authorization =
          store_.Authorization(refused, std::chrono::steady_clock::now() + kLoginTime);
      if (authorization.ok()) {
        // Each line tells that the watch began, or of changes; an error ends the stream.
        const Status ran = store_.http().Run(&stream_, "/v3/watch", body, *authorization,
                                             [&](std::string_view line) {
                                               watching = line.starts_with(R"({"result")");
                                               if (watching && !stream_.stopped()) {
                                                 store_.Note(Status::Ok());
                                                 changed_();
                                               }
                                             });
        NoteEnd(ran);
        refused = ran.ok() && !watching ? *authorization : std::string();
      } else {
        NoteEnd(authorization.status());
      }
      stream_.Pause(kWatchPause);
    }
  }

  void NoteEnd(const Status& status) {
    if (!status.ok() && !stream_.stopped()) {
      store_.Note(status);
    }
  }

  EtcdStore& store_;
  const std::string prefix_;
  const std::function<void()> changed_;
  etcd::Http::Stream stream_;
  std::thread thread_;
};

Result<std::unique_ptr<Watcher>> EtcdStore::Watch(std::string prefix,
                                                  std::function<void()> changed) {
  auto watcher = std::make_unique<EtcdWatcher>(this, std::move(prefix), std::move(changed));
  RETURN_IF_ERROR(watcher->Start());
  return std::unique_ptr<Watcher>(std::move(watcher));
}

}  // namespace

Result<std::unique_ptr<Store>> OpenEtcd(const EtcdOptions& options) {
  ASSIGN_OR_RETURN(std::vector<std::string> servers, ReadServers(options.servers));
  return std::unique_ptr<Store>(std::make_unique<EtcdStore>(std::move(servers), options));
}

}  // namespace quire::coord
