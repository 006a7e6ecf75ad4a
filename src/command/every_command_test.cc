// SPDX-License-Identifier: Apache-2.0
//
// Every command on every kind of namespace, plain and explained, with random arguments: there is
// always one well-formed reply, none of them is an error of ours, and the next command is answered.
//
// QUIRE_FUZZ_SEED=S runs the round of that seed; QUIRE_FUZZ_SECONDS=N runs rounds for so long.
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "base/error_codes.h"
#include "bson/number.h"
#include "bson/validate.h"
#include "command/testing/harness.h"
#include "command/testing/random_command.h"

namespace quire::command {

namespace {

uint64_t NumberFrom(const char* variable, uint64_t otherwise) {
  const char* text = getenv(variable);  // NOLINT(concurrency-mt-unsafe): nobody sets any
  return text == nullptr ? otherwise : strtoull(text, nullptr, 10);
}

// Ends operations that wait for what never comes, and the process when they do not end then.
class Watchdog {
 public:
  explicit Watchdog(Node* node) : node_(node), thread_([this] { Watch(); }) {}
  ~Watchdog() {
    {
      std::lock_guard lock(mutex_);
      done_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }
  void Began(std::string what) {
    std::lock_guard lock(mutex_);
    running_ = std::move(what);
    ticks_ = 0;
  }

 private:
  static constexpr int kTimeout = 5;  // ticks of a second; sanitizers are slow
  static constexpr int kEnd = 120;

  void Watch() {
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, std::chrono::seconds(1), [this] { return done_; })) {
      if (++ticks_ >= kTimeout) {
        node_->commands().operations().KillAll(kInterrupted);
      }
      if (ticks_ >= kEnd) {
        fprintf(stderr, "does not end: %s\n", running_.c_str());
        std::abort();
      }
    }
  }

  Node* node_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool done_ = false;  // the rest, too, is protected by mutex_
  std::string running_;
  int ticks_ = 0;
  std::thread thread_;
};

// Codes that say that the server itself is at fault.
bool IsOwnFault(int code) {
  return code == kInternalError || code == kUnknownError || code == kDataCorruptionDetected;
}

class EveryCommand {
 public:
  EveryCommand() : watchdog_(&node_) {}

  void Setup() {
    for (const auto& [database, command] : kNamespaceSetup) {
      Run(command, database);
    }
  }

  // Runs a command and says what is wrong with its reply; "" when nothing is.
  std::string Run(std::string_view json, std::string_view database) {
    auto parsed = bson::Document::FromJson(json);
    if (!parsed.ok()) {
      return "the grammar is wrong: " + parsed.status().ToString();
    }
    watchdog_.Began(std::string(database) + " " + std::string(json));
    request::Request request;
    request.body = *parsed;
    request.database = database;
    std::string reply;
    node_.commands().Run(client_, request, &reply);
    if (Status valid = bson::Validate(reply); !valid.ok()) {
      return "a reply that is no BSON: " + valid.ToString();
    }
    bson::View view(reply.data());
    bson::Value ok = view["ok"];
    if (!ok.is_number()) {
      return "a reply without ok: " + bson::ToJson(view);
    }
    if (bson::ExactInt64(ok) == 1) {
      return "";
    }
    bool whole =
        view["errmsg"].is_string() && view["code"].is_number() && view["codeName"].is_string();
    if (!whole || IsOwnFault(view["code"].AsInt32())) {
      return bson::ToJson(view);
    }
    return "";
  }

  std::vector<std::string_view> Names() {
    std::vector<std::string_view> names;
    for (const Row* row : node_.commands().rows()) {
      names.push_back(row->info.name);
    }
    return names;
  }

 private:
  Node node_;
  request::Client client_;
  Watchdog watchdog_;
};

// Every pair of command and kind of namespace.
void RunRound(uint64_t seed) {
  printf("QUIRE_FUZZ_SEED=%llu\n", static_cast<unsigned long long>(seed));
  fflush(stdout);
  RandomCommand random(seed);
  EveryCommand server;
  size_t runs = 0;
  for (std::string_view name : server.Names()) {
    server.Setup();
    for (const RandomNamespace& ns : kNamespaceKinds) {
      for (bool explain : {false, true}) {
        std::string json = random.Make(name, ns, explain);
        std::string wrong = server.Run(json, ns.database);
        ASSERT_EQ(wrong, "") << "seed " << seed << ", on " << ns.database << ": " << json;
        ++runs;
      }
    }
    ASSERT_EQ(server.Run(R"({"ping": 1})", "admin"), "") << "seed " << seed << " after " << name;
  }
  ASSERT_GT(runs, 100U);
}

// Cursors are whoever's opened them; all else that reads or writes is somewhere.
TEST(EveryCommandTest, WhatReadsOrWritesSaysWhereItIsRun) {
  Node node;
  for (const Row* row : node.commands().rows()) {
    const request::CommandInfo& info = row->info;
    const uint32_t route = info.flags & request::kRoutes;
    EXPECT_EQ(route & (route - 1), 0U) << info.name << " goes more than one way";
    if (info.Is(request::kRead | request::kWrite)) {
      EXPECT_NE(route == 0, !info.Is(request::kOnCursor)) << info.name;
    }
  }
}

TEST(EveryCommandTest, AnswersOnEveryKindOfNamespace) {
  const uint64_t seconds = NumberFrom("QUIRE_FUZZ_SECONDS", 0);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  uint64_t seed = NumberFrom("QUIRE_FUZZ_SEED", static_cast<uint64_t>(now.count()) / 1000);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  do {
    RunRound(seed++);
  } while (!testing::Test::HasFatalFailure() && std::chrono::steady_clock::now() < end);
}

// The commands most likely to meet a plan: many more arguments for them.
TEST(EveryCommandTest, ReadsAndWritesOnEveryKindOfNamespace) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  uint64_t seed = NumberFrom("QUIRE_FUZZ_SEED", static_cast<uint64_t>(now.count()) / 1000);
  printf("QUIRE_FUZZ_SEED=%llu\n", static_cast<unsigned long long>(seed));
  RandomCommand random(seed);
  EveryCommand server;
  const uint64_t rounds = 5 + 50 * NumberFrom("QUIRE_FUZZ_SECONDS", 0) / 60;
  for (uint64_t round = 0; round < rounds; ++round) {
    server.Setup();
    for (std::string_view name : {"find", "count", "distinct", "aggregate", "update", "delete",
                                  "findAndModify", "mapReduce"}) {
      for (const RandomNamespace& ns : kNamespaceKinds) {
        for (bool explain : {false, true}) {
          std::string json = random.Make(name, ns, explain);
          std::string wrong = server.Run(json, ns.database);
          ASSERT_EQ(wrong, "") << "seed " << seed << ", on " << ns.database << ": " << json;
        }
      }
    }
  }
}

}  // namespace

}  // namespace quire::command
