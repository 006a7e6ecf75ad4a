// SPDX-License-Identifier: Apache-2.0
//
// Members of a set in one process, each with a server of its own on 127.0.0.1, data in memory and a
// folder for copies. They can be killed, started again and wiped.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error_codes.h"
#include "engine/engine.h"
#include "kv/open.h"
#include "quire/doc.h"
#include "repl/copy/folder_copy.h"
#include "repl/member/member.h"
#include "repl/testing/memory_replica.h"
#include "request/reply.h"
#include "server/server.h"

namespace quire::repl {

using StoreFactory = std::function<std::unique_ptr<coord::Store>()>;

inline bool Eventually(const std::function<bool()>& condition) {
  for (int i = 0; i < 6000; ++i) {
    if (condition()) {
      return true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

// Shares a store that outlives it.
class BorrowedStore final : public coord::Store {
 public:
  explicit BorrowedStore(coord::Store* store) : store_(store) {}
  Result<coord::Answer> Transact(const coord::Transaction& transaction,
                                 coord::Deadline deadline) override {
    return store_->Transact(transaction, deadline);
  }
  Result<coord::Listing> List(const coord::Range& range, coord::Deadline deadline) override {
    return store_->List(range, deadline);
  }
  Result<std::unique_ptr<coord::Watcher>> Watch(std::string prefix,
                                                std::function<void()> changed) override {
    return store_->Watch(std::move(prefix), std::move(changed));
  }

 private:
  coord::Store* const store_;
};

class TestNode final : public request::Handler {
 public:
  TestNode(StoreFactory store, std::string set) : store_(std::move(store)), set_(std::move(set)) {
    char name[] = "/tmp/quire_member.XXXXXX";
    folder_ = mkdtemp(name);
    Start();
  }
  ~TestNode() override {
    Kill();
    std::filesystem::remove_all(folder_);
  }
  TestNode(const TestNode&) = delete;
  TestNode& operator=(const TestNode&) = delete;

  std::string host() const { return "127.0.0.1:" + std::to_string(port_); }
  bool running() const { return member_ != nullptr; }
  Member& member() { return *member_; }
  // Of a member that does not run: what the next process finds.
  MemoryDisk& disk() { return *disk_; }
  MemoryReplica& data() { return static_cast<MemoryReplica&>(member_->data()); }
  std::shared_ptr<const engine::SetStatus> status() { return member_->status(); }
  engine::MemberState state() { return member_->status()->state; }
  int copies() const { return copies_; }
  int step_downs() const { return step_downs_; }
  int configured_version() const { return configured_version_; }
  void LoseLog(bool on) { loses_log_ = on; }
  void ApplyNothing(bool on) { applies_nothing_ = on; }

  void Start() {
    again_ = false;
    auto copied = FinishInitialSync(folder_);
    ASSERT_TRUE(copied.ok()) << copied.status().ToString();
    if (*copied) {
      *disk_ = MemoryDisk::FromFolder(folder_ + "/data");
      ++copies_;
    }
    auto store = kv::Open("memory:", {});
    ASSERT_TRUE(store.ok());
    engine_ = *engine::Engine::Open(*std::move(store), {});
    server::Options options;
    options.port = port_;
    options.grace = std::chrono::milliseconds(0);
    auto server = server::Server::Start(options, this);
    ASSERT_TRUE(server.ok()) << server.status().ToString();
    server_ = *std::move(server);
    port_ = server_->port();
    auto member =
        Member::Start(*engine_, std::make_unique<MemoryReplica>(disk_), store_(), {}, Options());
    ASSERT_TRUE(member.ok()) << member.status().ToString();
    member_ = *std::move(member);
    receiver_ = member_.get();
  }
  void Kill() {
    if (server_) {
      receiver_ = nullptr;
      data().HoldSyncs(false);
      server_.reset();
      member_.reset();
      engine_.reset();
    }
  }
  void Wipe() {
    *disk_ = MemoryDisk();
    std::filesystem::remove_all(folder_ + "/data");
  }
  // Starts anew when the member has asked for it.
  void Care() {
    if (running() && again_) {
      Kill();
      Start();
    }
  }

  Status Run(const std::function<void(engine::AnswerFunction)>& command) {
    auto promise = std::make_shared<std::promise<Status>>();
    auto future = promise->get_future();
    command([promise](Status status) { promise->set_value(std::move(status)); });
    return future.get();
  }
  Status Initiate(bson::Document config) {
    return Run([&](auto answer) { member_->Initiate(config, answer); });
  }
  Status Reconfigure(const bson::Document& config, bool force = false) {
    return Run([&](auto answer) { member_->Reconfigure(config, force, answer); });
  }
  Status StepDown(bool force = false) {
    return Run([&](auto answer) {
      member_->StepDown(std::chrono::seconds(2), std::chrono::seconds(20), force, answer);
    });
  }
  Status StepUp() {
    return Run([&](auto answer) { member_->StepUp(answer); });
  }
  // Writes and waits for the concern; PrimarySteppedDown leaves it open whether it stays.
  Status Write(const std::string& text, const request::WriteConcern& concern) {
    auto slot = data().Write(text);
    if (!slot.ok()) {
      return slot.status();
    }
    std::unique_ptr<engine::PendingAnswer> pending;
    return Run([&](auto answer) { pending = member_->AwaitConcern(*slot, concern, answer); });
  }
  Status AwaitTime(uint64_t time, bool committed) {
    std::unique_ptr<engine::PendingAnswer> pending;
    return Run([&](auto answer) { pending = member_->AwaitTime(time, committed, answer); });
  }
  Status AwaitLinearizable() {
    std::unique_ptr<engine::PendingAnswer> pending;
    return Run([&](auto answer) { pending = member_->AwaitLinearizable(answer); });
  }

  request::Outcome Run(request::Client&, const request::Request& request,
                       std::string* reply) override {
    bson::Builder b(reply);
    Member* receiver = receiver_;
    if (request.body.front().name() == "replSetMessage" && receiver != nullptr) {
      auto promise = std::make_shared<std::promise<Result<bson::Document>>>();
      auto future = promise->get_future();
      receiver->Receive(bson::Document(request.body), [promise](Result<bson::Document> answer) {
        promise->set_value(std::move(answer));
      });
      const Result<bson::Document> answer = future.get();
      if (!answer.ok()) {
        request::AppendError(answer.status(), &b);
        b.Close();
        return {};
      }
      b.AppendFields(*answer);
    }
    b.Append("ok", 1.0);
    b.Close();
    return {};
  }
  void Disconnected(request::Client&) override {}

 private:
  MemberOptions Options() {
    MemberOptions options;
    options.set_name = set_;
    options.hosts = {host()};
    options.dbpath = folder_;
    options.settings.beacon = 100;
    options.settings.silent = 1500;
    options.settings.slow = 1500;
    options.settings.between_changes = 100;
    options.settings.proof = 3000;
    options.settings.rewrite = 500;
    options.settings.election = 4000;
    options.settings.ballot = 200;
    options.settings.courtesy = 500;
    options.settings.poll = 1000;
    options.start_again = [this] { again_ = true; };
    options.stepped_down = [this] { ++step_downs_; };
    options.configured = [this](const bson::Document& config) {
      configured_version_ = config["version"].AsInt32();
    };
    options.loses_log = [this] { return loses_log_.load(); };
    options.applies_nothing = [this] { return applies_nothing_.load(); };
    options.failed = [](const Status& why) { ADD_FAILURE() << why.ToString(); };
    return options;
  }

  const StoreFactory store_;
  const std::string set_;
  std::string folder_;
  int port_ = 0;
  int copies_ = 0;
  std::atomic<bool> again_{false};
  std::atomic<int> step_downs_{0};
  std::atomic<bool> loses_log_{false};
  std::atomic<bool> applies_nothing_{false};
  std::atomic<int> configured_version_{0};  // of the last configuration that it was told of
  const std::shared_ptr<MemoryDisk> disk_ = std::make_shared<MemoryDisk>();
  std::unique_ptr<engine::Engine> engine_;
  std::unique_ptr<Member> member_;
  std::atomic<Member*> receiver_{nullptr};
  std::unique_ptr<server::Server> server_;
};

class TestSet {
 public:
  TestSet(size_t members, StoreFactory store) : store_(std::move(store)) {
    for (size_t i = 0; i < members; ++i) {
      AddNode();
    }
  }
  TestNode& operator[](size_t i) { return *nodes_[i]; }
  size_t size() const { return nodes_.size(); }
  TestNode& AddNode() {
    nodes_.push_back(std::make_unique<TestNode>(store_, "s0"));
    return *nodes_.back();
  }

  bson::Document Config(const std::vector<size_t>& members, int version = 1) {
    bson::Builder out;
    out.Append("_id", "s0").Append("version", version).BeginArray("members");
    for (size_t i : members) {
      out.Push(Doc("_id", static_cast<int>(i), "host", nodes_[i]->host()));
    }
    out.End();
    return out.Finish();
  }
  void Care() {
    for (auto& node : nodes_) {
      node->Care();
    }
  }
  bool Await(const std::function<bool()>& condition) {
    return Eventually([&] {
      Care();
      return condition();
    });
  }
  // The member that says it is the primary; null: none.
  TestNode* Primary() {
    for (auto& node : nodes_) {
      if (node->running() && node->status()->writable) {
        return node.get();
      }
    }
    return nullptr;
  }
  bool AwaitPrimary() {
    return Await([&] { return Primary() != nullptr; });
  }
  // Everybody who runs is in sync, as the primary sees it.
  bool AwaitInSync(size_t members) {
    return Await([&] {
      TestNode* primary = Primary();
      if (primary == nullptr) {
        return false;
      }
      size_t in_sync = 0;
      for (const engine::MemberStatus& member : primary->status()->members) {
        in_sync += member.in_sync && member.healthy ? 1 : 0;
      }
      return in_sync == members;
    });
  }
  // Everybody who runs has applied these, and nothing else.
  bool AwaitTexts(const std::vector<std::string>& texts) {
    return Await([&] {
      for (auto& node : nodes_) {
        if (node->running() && node->data().Texts() != texts) {
          return false;
        }
      }
      return true;
    });
  }

 private:
  const StoreFactory store_;
  std::vector<std::unique_ptr<TestNode>> nodes_;
};

inline request::WriteConcern Majority(int64_t wtimeout = 0) {
  request::WriteConcern concern;
  concern.w = bson::Value("majority");
  concern.wtimeout = wtimeout;
  return concern;
}
inline request::WriteConcern Number(int32_t number, int64_t wtimeout = 0) {
  request::WriteConcern concern;
  concern.w = bson::Value(number);
  concern.wtimeout = wtimeout;
  return concern;
}

}  // namespace quire::repl
