// SPDX-License-Identifier: Apache-2.0
//
// What strangers, slow clients and too many of them are given.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "request/network_stats.h"
#include "server/admission_internal.h"
#include "server/held_memory_internal.h"
#include "server/server.h"
#include "server/testing/peer.h"
#include "server/timeouts_internal.h"
#include "wire/compression.h"
#include "wire/message.h"

namespace quire::server {
namespace {

class Greeter : public request::Handler {
 public:
  request::Outcome Run(request::Client& client, const request::Request& request,
                       std::string* reply) override {
    const std::string_view name = request.body.front().name();
    bson::Builder b(reply);
    if (name == "login") {
      client.login = std::make_shared<request::Attachment>();
      client.login_under_way = nullptr;
    } else if (name == "begin") {
      client.login_under_way = std::make_shared<request::Attachment>();
    } else if (name == "large") {
      b.Append("data",
               std::string(static_cast<size_t>(request.body.front().value().AsInt32()), 'x'));
    }
    b.Append("origin", client.origin()).Append("ok", 1.0);
    b.Close();
    return {};
  }
  void Disconnected(request::Client& /*client*/) override {}
};

std::string Message(const char* name, int32_t argument, size_t padding = 0) {
  bson::Builder b;
  b.Append(name, argument).Append("$db", "test").Append("pad", std::string(padding, 'p'));
  return Frame(0, b.Finish().bytes());
}

std::string Compressed(const std::string& message) {
  std::string bytes(25, '\0');
  EXPECT_TRUE(
      wire::Compress(wire::Compressor::kZlib, std::string_view(message).substr(16), &bytes).ok());
  int32_t fields[] = {static_cast<int32_t>(bytes.size()),       7, 0, 2012, 2013,
                      static_cast<int32_t>(message.size() - 16)};
  memcpy(bytes.data(), fields, sizeof fields);
  bytes[24] = 2;
  return bytes;
}

class LimitsTest : public ::testing::Test {
 protected:
  void Start(Options options = {}) {
    options.port = 0;
    options.limits = &limits_;
    auto started = Server::Start(options, &handler_);
    ASSERT_TRUE(started.ok()) << started.status().ToString();
    server_ = *std::move(started);
  }
  int port() const { return server_->port(); }

  request::NetworkLimits limits_;
  Greeter handler_;
  std::unique_ptr<Server> server_;
};

TEST_F(LimitsTest, StrangersSendSmallMessages) {
  limits_.logins = true;
  Start();
  Peer stranger(port());
  EXPECT_TRUE(stranger.Answers(Message("ping", 1, 16'000)));
  EXPECT_FALSE(stranger.Answers(Message("ping", 1, 16'384)));
  Peer user(port());
  EXPECT_TRUE(user.Answers(Message("login", 1)));
  EXPECT_TRUE(user.Answers(Message("ping", 1, 16 << 20)));
}

TEST_F(LimitsTest, WithoutLoginsNobodyIsAStranger) {
  Start();
  Peer client(port());
  EXPECT_TRUE(client.Answers(Message("ping", 1, 1 << 20)));
}

TEST_F(LimitsTest, CompressedMessagesCountUncompressed) {
  limits_.logins = true;
  Start();
  Peer stranger(port());
  EXPECT_TRUE(stranger.Answers(Compressed(Message("ping", 1, 16'000))));
  const std::string bomb = Compressed(Message("ping", 1, 10 << 20));
  EXPECT_LT(bomb.size(), 16U << 10);
  EXPECT_FALSE(stranger.Answers(bomb));
  Peer user(port());
  EXPECT_TRUE(user.Answers(Message("login", 1)));
  EXPECT_TRUE(user.Answers(bomb));
}

TEST_F(LimitsTest, StrangersAreHeldToTheirTime) {
  limits_.logins = true;
  limits_.stranger_millis = 50;
  Start();
  Peer silent(port());
  Peer half(port());
  half.Send(Message("ping", 1).substr(0, 10));
  Peer undecided(port());
  EXPECT_TRUE(undecided.Answers(Message("begin", 1)));
  Peer monitor(port());  // has greeted, and may wait
  EXPECT_TRUE(monitor.Answers(Message("ping", 1)));
  Peer user(port());
  EXPECT_TRUE(user.Answers(Message("login", 1)));
  EXPECT_EQ(silent.Receive(), "");
  EXPECT_EQ(half.Receive(), "");
  EXPECT_EQ(undecided.Receive(), "");
  EXPECT_TRUE(monitor.Answers(Message("ping", 1)));
  EXPECT_TRUE(user.Answers(Message("ping", 1)));
}

TEST_F(LimitsTest, IdleStrangersLeaveAtLast) {
  limits_.logins = true;
  limits_.stranger_idle_millis = 50;
  Start();
  Peer stranger(port());
  Peer user(port());
  EXPECT_TRUE(user.Answers(Message("login", 1)));
  EXPECT_TRUE(stranger.Answers(Message("ping", 1)));
  EXPECT_EQ(stranger.Receive(), "");
  EXPECT_TRUE(user.Answers(Message("ping", 1)));
}

TEST_F(LimitsTest, HalfSentMessagesAndUnreadRepliesEnd) {
  limits_.message_stall_millis = 50;
  limits_.reply_stall_millis = 50;
  Start();
  Peer half(port());
  half.Send(Message("ping", 1, 100'000).substr(0, 50'000));
  Peer deaf(port());
  deaf.Send(Message("large", 40 << 20));
  EXPECT_EQ(half.Receive(), "");
  // What had been sent comes first, then the end.
  while (request::Network().connections > 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(deaf.Receive(), "");
}

TEST_F(LimitsTest, SlowClientsThatGetOnMayGoOn) {
  limits_.message_stall_millis = 2'000;
  Start();
  Peer slow(port());
  const std::string message = Message("ping", 1, 40'000);
  for (size_t at = 0; at < message.size(); at += 10'000) {  // longer than the limit in all
    slow.Send(std::string_view(message).substr(at, 10'000));
    std::this_thread::sleep_for(std::chrono::milliseconds(700));
  }
  EXPECT_NE(slow.Receive(), "");
}

TEST_F(LimitsTest, OneAddressLeavesRoomForOthers) {
  Options options;
  options.max_connections = 5;
  Start(options);
  std::vector<Peer> same;
  for (int i = 0; i < 4; ++i) {
    same.emplace_back(port());
    EXPECT_TRUE(same.back().Answers(Message("ping", 1)));
  }
  Peer fifth(port());
  EXPECT_FALSE(fifth.Answers(Message("ping", 1)));
  Peer other(port(), "127.0.0.2");
  EXPECT_TRUE(other.Answers(Message("ping", 1)));
  Peer sixth(port(), "127.0.0.3");
  EXPECT_FALSE(sixth.Answers(Message("ping", 1)));
}

TEST_F(LimitsTest, TheLimitOfAnAddressCanBeSet) {
  limits_.connections_per_address = 1;
  Start();
  Peer first(port());
  EXPECT_TRUE(first.Answers(Message("ping", 1)));
  Peer second(port());
  EXPECT_FALSE(second.Answers(Message("ping", 1)));
  limits_.connections_per_address = 2;
  Peer third(port());
  EXPECT_TRUE(third.Answers(Message("ping", 1)));
}

// Those who take their time give way, not the one that comes last.
TEST_F(LimitsTest, TheSlowestGiveWay) {
  Options options;
  options.held_bytes = 32 << 20;
  Start(options);
  const std::string message = Message("ping", 1, 12 << 20);
  std::vector<Peer> slow;
  for (int i = 0; i < 2; ++i) {
    slow.emplace_back(port());
    slow.back().Send(std::string_view(message).substr(0, message.size() - 1));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  for (int i = 0; i < 6; ++i) {  // two at a time, with the slow ones more than there is room for
    Peer one(port());
    Peer two(port());
    one.Send(std::string_view(message).substr(0, message.size() - 1));
    two.Send(std::string_view(message).substr(0, message.size() - 1));
    // What a thread is still receiving is not held yet.
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    one.Send(std::string_view("\0", 1));
    two.Send(std::string_view("\0", 1));
    EXPECT_NE(one.Receive(), "");
    EXPECT_NE(two.Receive(), "");
  }
  EXPECT_EQ(slow.front().Receive(), "");
}

TEST_F(LimitsTest, WithoutDescriptorsConnectionsAreRefusedAndTheServerGoesOn) {
  Start();
  Peer before(port());
  EXPECT_TRUE(before.Answers(Message("ping", 1)));
  // The client's descriptor first, then none is left for the server's.
  std::vector<int> taken;
  const int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  rlimit was{};
  getrlimit(RLIMIT_NOFILE, &was);
  rlimit low = was;
  low.rlim_cur = 200;
  setrlimit(RLIMIT_NOFILE, &low);
  for (int fd = open("/dev/null", O_RDONLY); fd >= 0; fd = open("/dev/null", O_RDONLY)) {
    taken.push_back(fd);
  }
  const int64_t rejected = request::Network().connections_rejected;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port()));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(client, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  char byte = 0;
  EXPECT_LE(recv(client, &byte, 1, 0), 0);
  while (request::Network().connections_rejected == rejected) {  // counted after it is closed
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_TRUE(before.Answers(Message("ping", 1)));
  for (int fd : taken) {
    close(fd);
  }
  close(client);
  setrlimit(RLIMIT_NOFILE, &was);
  Peer after(port());
  EXPECT_TRUE(after.Answers(Message("ping", 1)));
}

TEST(Admission, CountsByOrigin) {
  request::NetworkLimits limits;
  Admission admission(5, &limits);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(admission.Enter("a"), "");
  }
  EXPECT_NE(admission.Enter("a"), "");
  EXPECT_EQ(admission.Enter(""), "");  // a unix socket
  EXPECT_NE(admission.Enter("b"), "");
  admission.Leave("");
  admission.Leave("a");
  EXPECT_EQ(admission.Enter("b"), "");
  EXPECT_EQ(admission.Enter("a"), "");
}

TEST(Timeouts, AMessageHasToGetOn) {
  request::NetworkLimits limits;
  limits.message_stall_millis = 1000;
  Timeouts timeouts;
  timeouts.Wait({.turns = 1}, limits);
  EXPECT_EQ(timeouts.deadline(), 0);
  timeouts.Wait({.turns = 1, .received = 100}, limits);
  const int64_t first = timeouts.deadline();
  EXPECT_GT(first, 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  timeouts.Wait({.turns = 1, .received = 200}, limits);
  EXPECT_EQ(timeouts.deadline(), first) << "too little for progress";
  timeouts.Wait({.turns = 1, .received = 2000}, limits);
  EXPECT_GT(timeouts.deadline(), first);
  const int64_t second = timeouts.deadline();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  timeouts.Wait({.turns = 2, .received = 100}, limits);
  EXPECT_GT(timeouts.deadline(), second) << "another message";
  limits.message_stall_millis = 0;
  timeouts.Wait({.turns = 2, .received = 100}, limits);
  EXPECT_EQ(timeouts.deadline(), 0);
}

TEST(Timeouts, AStrangersProgressBuysNoTime) {
  request::NetworkLimits limits;
  Timeouts timeouts;
  timeouts.Wait({.stranger = true, .turns = 1, .received = 100}, limits);
  const int64_t first = timeouts.deadline();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  timeouts.Wait({.stranger = true, .turns = 1, .received = 10'000}, limits);
  EXPECT_EQ(timeouts.deadline(), first);
  // Nor do other commands while it logs in.
  timeouts.Wait({.stranger = true, .login = true, .turns = 2}, limits);
  const int64_t login = timeouts.deadline();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  timeouts.Wait({.stranger = true, .login = true, .turns = 3}, limits);
  EXPECT_EQ(timeouts.deadline(), login);
  timeouts.Wait({.turns = 4}, limits);
  EXPECT_EQ(timeouts.deadline(), 0);
}

TEST(HeldMemory, TheAddressThatHoldsMostGivesWay) {
  HeldMemory memory(10 << 20);
  std::vector<Holder> many(8);
  for (Holder& holder : many) {
    holder.origin = "many";
    EXPECT_TRUE(memory.Note(holder, 1 << 20));
  }
  Holder other;
  other.origin = "other";
  EXPECT_TRUE(memory.Note(other, 2 << 20));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_TRUE(memory.Note(other, 3 << 20)) << "the others hold more";
  EXPECT_LE(memory.bytes(), size_t{10} << 20);
  for (Holder& holder : many) {
    memory.Forget(holder);
  }
  EXPECT_TRUE(memory.Note(other, 1000));
  EXPECT_EQ(memory.bytes(), 1000U);
  EXPECT_FALSE(memory.Note(other, 11 << 20)) << "it alone is too large";
  memory.Forget(other);
  EXPECT_EQ(memory.bytes(), 0U);
}

}  // namespace
}  // namespace quire::server
