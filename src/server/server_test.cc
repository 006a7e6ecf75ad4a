// SPDX-License-Identifier: Apache-2.0
#include "server/server.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <set>
#include <thread>

#include "base/bell.h"
#include "base/testing/no_threads.h"
#include "request/network_stats.h"
#include "server/testing/peer.h"
#include "wire/message.h"

namespace quire::server {
namespace {

// Answers by the command's name; `block` waits until released, or until the server stops unless it
// is deaf to that.
class TestHandler : public request::Handler {
 public:
  static constexpr int32_t kDeaf = 2;

  // Waits for `ring`, as often as it is woken.
  struct Waiting : request::Parked {
    Waiting(TestHandler& tests, request::Waker* door, int millis)
        : handler(tests),
          waker(door),
          end(std::chrono::steady_clock::now() + std::chrono::milliseconds(millis)) {}

    std::chrono::steady_clock::time_point until() const override { return end; }
    size_t held() const override { return 0; }
    request::Outcome Resume(std::unique_ptr<request::Parked> self, std::string* out) override {
      request::Outcome outcome;
      std::lock_guard lock(handler.mutex_);
      if (!handler.rung_ && std::chrono::steady_clock::now() < end) {
        listener = handler.bell_.Listen([this] { waker->Wake(); });
        ++handler.waits_;
        handler.changed_.notify_all();
        outcome.parked = std::move(self);
        return outcome;
      }
      *out = reply;
      bson::Builder b(out);
      b.Append("rung", handler.rung_).Append("ok", 1.0);
      b.Close();
      return outcome;
    }

    TestHandler& handler;
    request::Waker* waker;
    const std::chrono::steady_clock::time_point end;
    std::string reply;  // as far as it goes
    std::unique_ptr<Bell::Listener> listener;
  };

  request::Outcome Run(request::Client& client, const request::Request& request,
                       std::string* reply) override {
    request::Outcome outcome;
    std::string_view name = request.body.front().name();
    bson::Value argument = request.body.front().value();
    bson::Builder b(reply);
    if (name == "block") {
      std::unique_lock lock(mutex_);
      ++blocked_;
      changed_.notify_all();
      const bool obeys = argument.AsInt32() != kDeaf;
      changed_.wait(
          lock, [&] { return released_ || (stopping_ && obeys) || gone_.count(client.id()) != 0; });
      --blocked_;
      changed_.notify_all();
    } else if (name == "large") {
      b.Append("data", std::string(static_cast<size_t>(argument.AsInt32()), 'x'));
    } else if (name == "later") {
      outcome.delay = std::chrono::milliseconds(argument.AsInt32());
    } else if (name == "stream" && request.exhaust_allowed) {
      int32_t left = argument.AsInt32();
      outcome.more_to_come = left > 1;
      bson::Builder next;
      next.Append("stream", left - 1);
      outcome.next = next.Finish();
      b.Append("left", left);
    } else if (name == "wait") {
      ++runs_;
      auto parked = std::make_unique<Waiting>(*this, request.waker, argument.AsInt32());
      parked->reply = reply->substr(0, reply->size() - b.size());
      Waiting& waiting = *parked;
      return waiting.Resume(std::move(parked), reply);
    } else if (name == "ring") {
      {
        std::lock_guard lock(mutex_);
        rung_ = true;
      }
      bell_.Ring();
    } else if (name == "quit") {
      outcome.close = true;
    } else if (name == "count") {
      std::lock_guard lock(mutex_);
      b.Append("unacknowledged", unacknowledged_);
    }
    if (!request.reply_expected) {
      std::lock_guard lock(mutex_);
      ++unacknowledged_;
    }
    int32_t documents = 0;
    for (const auto& sequence : request.sequences) {
      documents += static_cast<int32_t>(sequence.documents.size());
    }
    b.Append("documents", documents).Append("db", request.database).Append("ok", 1.0);
    b.Close();
    return outcome;
  }

  void Disconnected(request::Client& client) override {
    std::unique_lock lock(mutex_);
    if (hold_) {
      held_ = true;
      changed_.notify_all();
      changed_.wait(lock, [&] { return !hold_; });
    }
    EXPECT_TRUE(gone_.insert(client.id()).second) << "told twice";
    changed_.notify_all();
  }

  void Stopping() override {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }

  void WaitBlocked(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return blocked_ >= count; });
  }
  void WaitWaiting(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waits_ >= count; });
  }
  int runs() const { return runs_; }
  // While on, whoever tells of a client's end is held up.
  void Hold(bool on) {
    std::lock_guard lock(mutex_);
    hold_ = on;
    changed_.notify_all();
  }
  void WaitHeld() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return held_; });
  }
  void WaitGone(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return gone_.size() >= count; });
  }
  void Release() {
    std::lock_guard lock(mutex_);
    released_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool released_ = false;
  bool stopping_ = false;
  bool hold_ = false;
  bool held_ = false;
  int blocked_ = 0;
  Bell bell_;
  bool rung_ = false;
  int waits_ = 0;
  std::atomic<int> runs_ = 0;
  int32_t unacknowledged_ = 0;
  std::set<int64_t> gone_;
};

class ServerTest : public ::testing::Test {
 protected:
  void Start(Options options = {}) {
    options.port = 0;
    auto started = Server::Start(options, &handler_);
    ASSERT_TRUE(started.ok()) << started.status().ToString();
    server_ = *std::move(started);
  }
  int port() const { return server_->port(); }
  TestHandler handler_;
  std::unique_ptr<Server> server_;
};

TEST_F(ServerTest, AnswersPipelinedAndSplitMessages) {
  Start();
  Peer peer(port());
  std::string one = Frame(0, Command("ping", 1));
  peer.Send(one + one + one.substr(0, 10));
  EXPECT_EQ(peer.Reply()["ok"].AsDouble(), 1.0);
  EXPECT_EQ(peer.Reply()["db"].AsString(), "test");
  for (char c : one.substr(10)) {
    peer.Send(std::string(1, c));
  }
  EXPECT_EQ(peer.Reply()["ok"].AsDouble(), 1.0);
  EXPECT_EQ(peer.response_to(), 7);
}

TEST_F(ServerTest, LargeMessagesBothWays) {
  Start();
  Peer peer(port());
  bson::Builder b;
  b.Append("pad", std::string(1000, 'y'));
  std::string document = b.Finish().bytes();
  std::string documents;
  for (int i = 0; i < 20'000; ++i) {
    documents += document;
  }
  int32_t size = static_cast<int32_t>(4 + 5 + documents.size());
  std::string section(1, '\1');
  section.append(reinterpret_cast<char*>(&size), 4);
  section.append("docs", 5);
  peer.Send(Frame(0, Command("insert", 1), section + documents));
  EXPECT_EQ(peer.Reply()["documents"].AsInt32(), 20'000);
  EXPECT_EQ(peer.Run("large", 16'000'000)["data"].AsString().size(), 16'000'000U);
  EXPECT_EQ(peer.Run("ping")["ok"].AsDouble(), 1.0);
}

TEST_F(ServerTest, SlowReadersHoldNoThread) {
  Options options;
  options.max_threads = 2;
  Start(options);
  std::vector<Peer> slow;
  for (int i = 0; i < 6; ++i) {
    slow.emplace_back(port());
    slow.back().Send(Frame(0, Command("large", 16'000'000)));
    slow.back().Send(Frame(0, Command("ping", 1)));
  }
  Peer peer(port());
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(peer.Run("ping")["ok"].AsDouble(), 1.0);
  }
  for (Peer& reader : slow) {
    EXPECT_EQ(reader.Reply()["data"].AsString().size(), 16'000'000U);
    EXPECT_EQ(reader.Reply()["ok"].AsDouble(), 1.0);
  }
}

TEST_F(ServerTest, BlockedCommandsStarveNobody) {
  Start();
  std::vector<Peer> blocked;
  for (int i = 0; i < 100; ++i) {
    blocked.emplace_back(port());
    blocked.back().Send(Frame(0, Command("block", 1)));
  }
  handler_.WaitBlocked(100);
  Peer peer(port());
  EXPECT_EQ(peer.Run("ping")["ok"].AsDouble(), 1.0);
  handler_.Release();
  for (Peer& other : blocked) {
    EXPECT_EQ(other.Reply()["ok"].AsDouble(), 1.0);
  }
}

TEST_F(ServerTest, AThreadTheSystemRefusesIsDoneWithout) {
  Start();
  std::vector<Peer> blocked;
  blocked.emplace_back(port());
  Peer peer(port());
  auto refused = std::make_unique<NoThreads>();
  blocked.back().Send(Frame(0, Command("block", 1)));
  handler_.WaitBlocked(1);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(peer.Run("ping")["ok"].AsDouble(), 1.0);
  }
  for (int i = 0; i < 20; ++i) {
    blocked.emplace_back(port());
    blocked.back().Send(Frame(0, Command("block", 1)));
  }
  handler_.WaitBlocked(2);
  refused.reset();
  handler_.WaitBlocked(21);
  EXPECT_EQ(peer.Run("ping")["ok"].AsDouble(), 1.0);
  handler_.Release();
}

TEST_F(ServerTest, StartingWithoutAThreadIsAnError) {
  NoThreads refused;
  Options options;
  options.port = 0;
  EXPECT_FALSE(Server::Start(options, &handler_).ok());
}

TEST_F(ServerTest, DelayedRepliesHoldNoThread) {
  Options options;
  options.max_threads = 2;
  Start(options);
  std::vector<Peer> waiting;
  for (int i = 0; i < 20; ++i) {
    waiting.emplace_back(port());
    waiting.back().Send(Frame(0, Command("later", 50)));
  }
  Peer peer(port());
  EXPECT_EQ(peer.Run("ping")["ok"].AsDouble(), 1.0);
  for (Peer& other : waiting) {
    EXPECT_EQ(other.Reply()["ok"].AsDouble(), 1.0);
    EXPECT_EQ(other.Run("ping")["ok"].AsDouble(), 1.0);
  }
}

TEST_F(ServerTest, WaitingRequestsHoldNoThread) {
  Options options;
  options.max_threads = 2;
  Start(options);
  constexpr int kWaiting = 200;
  std::vector<Peer> waiting;
  for (int i = 0; i < kWaiting; ++i) {
    waiting.emplace_back(port());
    waiting.back().Send(Frame(0, Command("wait", 600'000)));
  }
  handler_.WaitWaiting(kWaiting);
  Peer peer(port());
  EXPECT_EQ(peer.Run("ring")["ok"].AsDouble(), 1.0);
  for (Peer& other : waiting) {
    EXPECT_TRUE(other.Reply()["rung"].AsBool());
    EXPECT_EQ(other.response_to(), 7);
    EXPECT_EQ(other.Run("ping")["ok"].AsDouble(), 1.0);
  }
}

TEST_F(ServerTest, MessagesBehindAParkedRequestWait) {
  Start();
  Peer peer(port());
  peer.Send(Frame(0, Command("wait", 600'000)) + Frame(0, Command("ping", 1)));
  handler_.WaitWaiting(1);
  Peer other(port());
  EXPECT_EQ(other.Run("ring")["ok"].AsDouble(), 1.0);
  EXPECT_TRUE(peer.Reply()["rung"].AsBool());
  EXPECT_TRUE(peer.Reply()["rung"].missing());
}

TEST_F(ServerTest, AWaitEndsInTime) {
  Start();
  Peer peer(port());
  EXPECT_FALSE(peer.Run("wait", 20)["rung"].AsBool());
  EXPECT_EQ(handler_.runs(), 1) << "it goes on, it does not begin again";
  EXPECT_EQ(peer.Run("ping")["ok"].AsDouble(), 1.0);
}

TEST_F(ServerTest, AClientThatVanishesWhileItWaitsIsNoticed) {
  Start();
  Peer peer(port());
  peer.Send(Frame(0, Command("wait", 600'000)));
  handler_.WaitWaiting(1);
  peer.Close();
  handler_.WaitGone(1);
  Peer other(port());
  EXPECT_EQ(other.Run("ring")["ok"].AsDouble(), 1.0);
}

TEST_F(ServerTest, StopEndsWaits) {
  Start();
  Peer peer(port());
  peer.Send(Frame(0, Command("wait", 600'000)));
  handler_.WaitWaiting(1);
  server_->Stop();
  EXPECT_EQ(peer.Receive(), "");
}

TEST_F(ServerTest, RacingWakesAreNotLost) {
  Start();
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      Peer peer(port());
      if (t == 0) {
        handler_.WaitWaiting(1);
        peer.Run("ring");
      } else {
        EXPECT_TRUE(peer.Run("wait", 600'000)["rung"].AsBool());
      }
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
}

TEST_F(ServerTest, MemoryOfSlowClientsIsBounded) {
  Options options;
  options.held_bytes = 64 << 20;
  Start(options);
  constexpr int kLarge = 40 << 20;
  std::vector<Peer> peers;
  for (int i = 0; i < 2; ++i) {  // nobody reads these replies
    peers.emplace_back(port());
    peers.back().Send(Frame(0, Command("large", kLarge)));
  }
  handler_.WaitGone(1);
  Peer other(port());
  EXPECT_EQ(other.Run("ping")["ok"].AsDouble(), 1.0);
  // What was sent before comes first, then the end.
  size_t whole = 0;
  for (Peer& peer : peers) {
    whole += peer.Receive().size() > size_t{kLarge} ? 1 : 0;
  }
  EXPECT_EQ(whole, 1U);
  // The end of this message never comes.
  std::string body = Command("ping", 1);
  body.resize(40 << 20);
  std::string half = Frame(0, body);
  half.resize(half.size() - 1);
  for (int i = 0; i < 2; ++i) {
    peers.emplace_back(port());
    peers.back().Send(half);
  }
  handler_.WaitGone(2);
  EXPECT_EQ(other.Run("ping")["ok"].AsDouble(), 1.0);
}

TEST_F(ServerTest, StreamsReplies) {
  Start();
  Peer peer(port());
  peer.Send(Frame(1 << 16, Command("stream", 3)));
  EXPECT_EQ(peer.Reply()["left"].AsInt32(), 3);
  EXPECT_EQ(peer.flags(), 2);
  EXPECT_EQ(peer.response_to(), 7);
  int32_t previous = peer.id();
  EXPECT_EQ(peer.Reply()["left"].AsInt32(), 2);
  EXPECT_EQ(peer.response_to(), previous);
  bson::Document last = peer.Reply();
  EXPECT_EQ(last["left"].AsInt32(), 1);
  EXPECT_EQ(last["db"].AsString(), "test");
  EXPECT_EQ(peer.flags(), 0);
  EXPECT_EQ(peer.Run("ping")["ok"].AsDouble(), 1.0);
}

TEST_F(ServerTest, UnacknowledgedCommandsGetNoReplyAndAreRunBeforeTheEnd) {
  Start();
  {
    Peer peer(port());
    peer.Send(Frame(2, Command("write", 1)) + Frame(2, Command("write", 1)));
  }
  handler_.WaitGone(1);
  Peer peer(port());
  EXPECT_EQ(peer.Run("count")["unacknowledged"].AsInt32(), 2);
}

TEST_F(ServerTest, MalformedMessages) {
  Start();
  Peer bad_document(port());
  std::string frame = Frame(0, Command("ping", 1));
  frame[25] = 0x44;  // no such type
  bad_document.Send(frame);
  EXPECT_EQ(bad_document.Reply()["code"].AsInt32(), 22);
  EXPECT_EQ(bad_document.Run("ping")["ok"].AsDouble(), 1.0) << "the frame was intact";

  for (const std::string& bytes :
       {std::string(16, '\xff'), std::string(16, '\0'), Frame(4, Command("ping", 1))}) {
    Peer peer(port());
    peer.Send(bytes);
    EXPECT_EQ(peer.Receive(), "");
  }
}

TEST_F(ServerTest, VanishedClientEndsItsCommand) {
  Start();
  Peer peer(port());
  peer.Send(Frame(0, Command("block", 1)));
  handler_.WaitBlocked(1);
  peer.Close();
  handler_.WaitBlocked(0);
}

TEST_F(ServerTest, ClosesAfterTheReplyWhenAsked) {
  Start();
  Peer peer(port());
  EXPECT_EQ(peer.Run("quit")["ok"].AsDouble(), 1.0);
  EXPECT_EQ(peer.Receive(), "");
}

TEST_F(ServerTest, StopFinishesWhatRuns) {
  Start();
  Peer idle(port());
  EXPECT_EQ(idle.Run("ping")["ok"].AsDouble(), 1.0);
  Peer waiting(port());
  waiting.Send(Frame(0, Command("later", 1'000'000)));
  Peer running(port());
  running.Send(Frame(0, Command("block", 1)));
  handler_.WaitBlocked(1);
  std::thread stop([&] { server_->Stop(); });
  EXPECT_EQ(idle.Receive(), "");
  EXPECT_EQ(waiting.Receive(), "");
  handler_.Release();
  EXPECT_EQ(running.Reply()["ok"].AsDouble(), 1.0);
  stop.join();
  EXPECT_FALSE(Peer(port()).connected());
}

TEST_F(ServerTest, StopsWhileTheSupervisorIsBusy) {
  Start();
  Peer peer(port());
  peer.Send(Frame(0, Command("block", 1)));
  handler_.WaitBlocked(1);
  handler_.Hold(true);
  peer.Close();
  handler_.WaitHeld();  // the supervisor tells of the vanished client
  handler_.Release();
  std::thread stopper([&] { server_->Stop(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // the stop is under way by now
  handler_.Hold(false);
  stopper.join();
}

TEST_F(ServerTest, StopEndsWhatDoesNotFinish) {
  Options options;
  options.grace = std::chrono::milliseconds(20);
  Start(options);
  Peer running(port());
  running.Send(Frame(0, Command("block", TestHandler::kDeaf)));
  handler_.WaitBlocked(1);
  server_->Stop();
  EXPECT_EQ(running.Receive(), "");
}

TEST_F(ServerTest, StopAnswersWhatEndsWhenAsked) {
  Options options;
  options.grace = std::chrono::milliseconds(20);
  Start(options);
  Peer running(port());
  running.Send(Frame(0, Command("block", 1)));
  handler_.WaitBlocked(1);
  std::thread stop([&] { server_->Stop(); });
  EXPECT_EQ(running.Reply()["ok"].AsDouble(), 1.0);
  stop.join();
}

TEST_F(ServerTest, ConnectionLimit) {
  Options options;
  options.max_connections = 2;
  Start(options);
  Peer one(port());
  Peer two(port());
  EXPECT_EQ(one.Run("ping")["ok"].AsDouble(), 1.0);
  EXPECT_EQ(two.Run("ping")["ok"].AsDouble(), 1.0);
  Peer three(port());
  EXPECT_EQ(three.Receive(), "");
  one.Close();
  handler_.WaitGone(1);
  Peer four(port());
  bson::Document reply = four.Run("ping");
  EXPECT_TRUE(reply.empty() || reply["ok"].AsDouble() == 1.0);
}

TEST_F(ServerTest, UnixSocketAndIpv6) {
  Options options;
  auto folder =
      std::filesystem::temp_directory_path() / ("server_test." + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  options.unix_socket_folder = folder.string();
  Start(options);
  std::string path = (folder / ("mongodb-" + std::to_string(port()) + ".sock")).string();
  EXPECT_EQ(server_->addresses().back(), path);
  {
    Peer peer(path);
    EXPECT_EQ(peer.Run("ping")["ok"].AsDouble(), 1.0);
  }
  server_->Stop();
  EXPECT_FALSE(std::filesystem::exists(path));
  std::filesystem::remove_all(folder);

  options = {};
  options.ipv6 = true;
  options.bind = {"127.0.0.1", "::1"};
  options.port = 0;
  auto both = Server::Start(options, &handler_);
  if (!both.ok()) {
    GTEST_SKIP() << "no IPv6 here";
  }
  Peer peer((*both)->port(), AF_INET6);
  EXPECT_EQ(peer.Run("ping")["ok"].AsDouble(), 1.0);
  Peer four((*both)->port());
  EXPECT_EQ(four.Run("ping")["ok"].AsDouble(), 1.0);
}

TEST_F(ServerTest, AddressInUseIsAnError) {
  Start();
  Options options;
  options.port = port();
  auto second = Server::Start(options, &handler_);
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.status().message().find("Address already in use"), std::string::npos);
}

TEST_F(ServerTest, ManyConnectionsComeAndGo) {
  Start();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        Peer peer(port());
        EXPECT_EQ(peer.Run("ping")["ok"].AsDouble(), 1.0);
      }
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  handler_.WaitGone(800);
}

}  // namespace
}  // namespace quire::server
