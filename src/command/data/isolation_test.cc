// SPDX-License-Identifier: Apache-2.0
//
// Many sessions at once: what snapshot isolation and single-document atomicity promise.
#include <algorithm>
#include <atomic>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "command/testing/harness.h"

namespace quire::command {
namespace {

// One client with a session of its own, used by one thread.
class Peer {
 public:
  explicit Peer(Commands* commands) : commands_(*commands), lsid_(store::GenerateUuid()) {}

  bson::Document Run(std::string_view json, std::string_view database = "test") {
    auto parsed = bson::Document::FromJson(json);
    EXPECT_TRUE(parsed.ok()) << json;
    bson::Builder command;
    command.AppendFields(*parsed);
    if (in_transaction_) {
      std::string_view id(reinterpret_cast<const char*>(lsid_.data()), lsid_.size());
      command.BeginDocument("lsid").Append("id", bson::Value::Binary(id, 4)).End();
      command.Append("txnNumber", number_).Append("autocommit", false);
      if (first_) {
        command.Append("startTransaction", true);
      }
      first_ = false;
    }
    bson::Document body = command.Finish();
    request::Request request;
    request.body = body;
    request.database = database;
    std::string reply;
    commands_.Run(client_, request, &reply);
    return bson::Document::FromTrusted(std::move(reply));
  }

  // Runs `body` in transactions until one commits; body gives false to have it run again.
  template <typename F>
  void InTransaction(const F& body) {
    while (true) {
      ++number_;
      first_ = true;
      in_transaction_ = true;
      bool done = body() && Ok(Run(R"({"commitTransaction": 1})", "admin"));
      in_transaction_ = false;
      if (done) {
        return;
      }
    }
  }

  static bool Ok(const bson::Document& reply) {
    return reply["ok"].AsDouble() == 1 && !reply.view().Has("writeErrors");
  }

 private:
  Commands& commands_;
  request::Client client_;
  store::Uuid lsid_;
  int64_t number_ = 0;
  bool first_ = false;
  bool in_transaction_ = false;
};

template <typename F>
void OnThreads(int count, const F& body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&, i] { body(i); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

// Adds to an account as a client would that reads first; false when it must start again.
bool Transfer(Peer& peer, int from, int to, int amount) {
  for (auto [account, change] : {std::pair(from, -amount), std::pair(to, amount)}) {
    bson::Document found =
        peer.Run(R"({"find": "accounts", "filter": {"_id": )" + std::to_string(account) + "}}");
    if (!Peer::Ok(found)) {
      return false;
    }
    int64_t n =
        found["cursor"].AsDocument()["firstBatch"].AsArray()["0"].AsDocument()["n"].AsInt64();
    if (!Peer::Ok(peer.Run(R"({"update": "accounts", "updates": [{"q": {"_id": )" +
                           std::to_string(account) + R"(}, "u": {"$set": {"n": )" +
                           std::to_string(n + change) + "}}}]}"))) {
      return false;
    }
  }
  return true;
}

TEST(Isolation, TransfersKeepTheTotalAtEverySnapshot) {
  constexpr int kAccounts = 6;
  constexpr int kWriters = 4;
  constexpr int kTransfers = 60;
  constexpr int64_t kEach = 1000;
  Node node;
  for (int i = 0; i < kAccounts; ++i) {
    node.Run(R"({"insert": "accounts", "documents": [{"_id": )" + std::to_string(i) +
             R"(, "n": {"$numberLong": "1000"}}]})");
  }
  std::atomic<int> writing{kWriters};
  std::atomic<int> snapshots{0};
  OnThreads(kWriters + 2, [&](int thread) {
    Peer peer(&node.commands());
    std::minstd_rand random(static_cast<unsigned>(thread));
    if (thread < kWriters) {
      for (int i = 0; i < kTransfers; ++i) {
        int from = static_cast<int>(random() % kAccounts);
        int to = (from + 1 + static_cast<int>(random() % (kAccounts - 1))) % kAccounts;
        peer.InTransaction([&] { return Transfer(peer, from, to, 7); });
      }
      --writing;
      return;
    }
    while (writing > 0 || snapshots == 0) {
      peer.InTransaction([&] {
        std::string first;
        for (int read = 0; read < 2; ++read) {
          bson::Document all = peer.Run(R"({"find": "accounts", "sort": {"_id": 1}})");
          if (!Peer::Ok(all)) {
            return false;
          }
          int64_t total = 0;
          for (const bson::Element& e : all["cursor"].AsDocument()["firstBatch"].AsArray()) {
            total += e.value().AsDocument()["n"].AsInt64();
          }
          EXPECT_EQ(total, kAccounts * kEach);
          std::string text = bson::ToJson(all["cursor"].AsDocument()["firstBatch"]);
          EXPECT_TRUE(first.empty() || first == text) << "a read was not repeatable";
          first = text;
        }
        ++snapshots;
        return true;
      });
    }
  });
  EXPECT_GT(snapshots, 0);
}

TEST(Isolation, NoUpdateIsLost) {
  constexpr int kThreads = 4;
  constexpr int kEach = 250;
  Node node;
  std::mutex mutex;
  std::set<int64_t> answers;
  OnThreads(kThreads, [&](int) {
    Peer peer(&node.commands());
    for (int i = 0; i < kEach; ++i) {
      bson::Document reply = peer.Run(R"({"findAndModify": "c", "query": {"_id": 1},
          "update": {"$inc": {"n": 1}}, "new": true, "upsert": true})");
      ASSERT_TRUE(Peer::Ok(reply)) << bson::ToJson(reply);
      std::lock_guard lock(mutex);
      answers.insert(reply["value"].AsDocument()["n"].AsInt64());
    }
  });
  EXPECT_EQ(answers.size(), static_cast<size_t>(kThreads * kEach));
  EXPECT_EQ(*answers.rbegin(), kThreads * kEach);
}

TEST(Isolation, WhatAbortsIsNeverSeen) {
  Node node;
  node.Run(R"({"insert": "c", "documents": [{"_id": 0}]})");
  std::atomic<bool> stop{false};
  OnThreads(2, [&](int thread) {
    Peer peer(&node.commands());
    if (thread == 0) {
      for (int i = 0; i < 200; ++i) {
        int attempts = 0;
        peer.InTransaction([&] {
          peer.Run(R"({"insert": "c", "documents": [{"_id": 1, "dirty": true}]})");
          peer.Run(R"({"update": "c", "updates": [{"q": {"_id": 0},
              "u": {"$set": {"dirty": true}}}]})");
          if (attempts++ == 0) {
            peer.Run(R"({"abortTransaction": 1})", "admin");
            return false;
          }
          peer.Run(R"({"delete": "c", "deletes": [{"q": {"_id": 1}, "limit": 1}]})");
          return Peer::Ok(peer.Run(R"({"update": "c", "updates": [{"q": {"_id": 0},
              "u": {"$unset": {"dirty": 1}}}]})"));
        });
      }
      stop = true;
      return;
    }
    while (!stop) {
      bson::Document seen = peer.Run(R"({"find": "c", "filter": {"dirty": true}})");
      EXPECT_EQ(seen["cursor"].AsDocument()["firstBatch"].AsArray().Count(), 0U);
    }
  });
}

TEST(Isolation, RacingUpsertsMakeOneDocumentPerKey) {
  constexpr int kThreads = 4;
  constexpr int kKeys = 60;
  Node node;
  node.Run(R"({"createIndexes": "c", "indexes": [{"key": {"k": 1}, "name": "k_1",
      "unique": true}]})");
  OnThreads(kThreads, [&](int) {
    Peer peer(&node.commands());
    for (int key = 0; key < kKeys; ++key) {
      bson::Document reply =
          peer.Run(R"({"update": "c", "updates": [{"q": {"k": )" + std::to_string(key) +
                   R"(}, "u": {"$inc": {"n": 1}}, "upsert": true}]})");
      EXPECT_TRUE(Peer::Ok(reply)) << bson::ToJson(reply);
    }
  });
  bson::Document all = node.Run(R"({"count": "c", "query": {"n": 4}})");
  EXPECT_EQ(all["n"].AsInt32(), kKeys);
  EXPECT_EQ(node.Json(R"({"count": "c"})"), R"({"n":60,"ok":1.0})");
}

// One operation on a register as its client saw it. Times are ticks of one counter.
struct Event {
  enum class Kind { kRead, kWrite, kSwap };
  Kind kind;
  int64_t from = 0;  // what a read gave, or a swap expected
  int64_t to = 0;    // what a write or a swap put
  bool done = true;  // whether a swap found what it expected
  int64_t called = 0;
  int64_t returned = 0;
};

// Whether some order of the events that respects their times explains every answer.
bool Linearizable(const std::vector<Event>& events, uint32_t left, int64_t value,
                  std::set<std::pair<uint32_t, int64_t>>* failed) {
  if (left == 0) {
    return true;
  }
  if (failed->count({left, value}) != 0) {
    return false;
  }
  int64_t earliest_return = INT64_MAX;
  for (size_t i = 0; i < events.size(); ++i) {
    if ((left >> i) & 1) {
      earliest_return = std::min(earliest_return, events[i].returned);
    }
  }
  for (size_t i = 0; i < events.size(); ++i) {
    const Event& e = events[i];
    if (((left >> i) & 1) == 0 || e.called > earliest_return) {
      continue;
    }
    bool explained = e.kind == Event::Kind::kWrite || (e.from == value) == e.done;
    int64_t after = e.kind != Event::Kind::kRead && e.done ? e.to : value;
    if (explained && Linearizable(events, left & ~(1U << i), after, failed)) {
      return true;
    }
  }
  failed->insert({left, value});
  return false;
}

Event RunEvent(Peer& peer, int id, std::minstd_rand& random, std::atomic<int64_t>& clock) {
  Event event;
  event.kind = static_cast<Event::Kind>(random() % 3);
  event.from = static_cast<int64_t>(random() % 3);
  event.to = static_cast<int64_t>(random() % 3);
  std::string key = std::to_string(id);
  std::string set =
      R"("u": {"$set": {"v": {"$numberLong": ")" + std::to_string(event.to) + R"("}}}}]})";
  event.called = ++clock;
  if (event.kind == Event::Kind::kRead) {
    bson::Document reply = peer.Run(R"({"find": "r", "filter": {"_id": )" + key + "}}");
    event.from =
        reply["cursor"].AsDocument()["firstBatch"].AsArray()["0"].AsDocument()["v"].AsInt64();
  } else if (event.kind == Event::Kind::kWrite) {
    peer.Run(R"({"update": "r", "updates": [{"q": {"_id": )" + key + "}, " + set);
  } else {
    bson::Document reply = peer.Run(R"({"update": "r", "updates": [{"q": {"_id": )" + key +
                                    R"(, "v": )" + std::to_string(event.from) + "}, " + set);
    event.done = reply["n"].AsInt32() == 1;
  }
  event.returned = ++clock;
  return event;
}

TEST(Isolation, OneDocumentIsLinearizable) {
  constexpr int kSchedules = 2000;
  constexpr int kThreads = 3;
  constexpr int kEach = 4;
  Node node;
  std::vector<std::vector<Event>> histories(kSchedules);
  std::vector<std::mutex> locks(kSchedules);
  for (int i = 0; i < kSchedules; ++i) {
    node.Run(R"({"insert": "r", "documents": [{"_id": )" + std::to_string(i) +
             R"(, "v": {"$numberLong": "0"}}]})");
  }
  std::atomic<int64_t> clock{0};
  OnThreads(kThreads, [&](int thread) {
    Peer peer(&node.commands());
    std::minstd_rand random(static_cast<unsigned>(thread + 1));
    for (int i = 0; i < kSchedules; ++i) {
      for (int n = 0; n < kEach; ++n) {
        Event event = RunEvent(peer, i, random, clock);
        std::lock_guard lock(locks[static_cast<size_t>(i)]);
        histories[static_cast<size_t>(i)].push_back(event);
      }
    }
  });
  for (const auto& events : histories) {
    std::set<std::pair<uint32_t, int64_t>> failed;
    ASSERT_TRUE(Linearizable(events, (1U << events.size()) - 1, 0, &failed));
  }
}

TEST(Linearizability, TheCheckerTellsRightFromWrong) {
  using Kind = Event::Kind;
  // A write that had returned is not seen by a later read.
  std::vector<Event> stale = {{Kind::kWrite, 0, 1, true, 1, 2}, {Kind::kRead, 0, 0, true, 3, 4}};
  std::vector<Event> overlapping = {{Kind::kWrite, 0, 1, true, 1, 4},
                                    {Kind::kRead, 0, 0, true, 2, 3}};
  // Two swaps from the same value cannot both have found it.
  std::vector<Event> twice = {{Kind::kSwap, 0, 1, true, 1, 4}, {Kind::kSwap, 0, 2, true, 2, 3}};
  std::set<std::pair<uint32_t, int64_t>> failed;
  EXPECT_FALSE(Linearizable(stale, 3, 0, &failed));
  failed.clear();
  EXPECT_TRUE(Linearizable(overlapping, 3, 0, &failed));
  failed.clear();
  EXPECT_FALSE(Linearizable(twice, 3, 0, &failed));
}

}  // namespace
}  // namespace quire::command
