// SPDX-License-Identifier: Apache-2.0
//
// What the tests of the systems share: a database in either place, time that stands still, hooks
// that crash or pause a client, and the standard crash test.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "patterns/doc.h"
#include "patterns/hooks.h"
#include "quire/patterns/error.h"
#include "quire/patterns/store.h"
#include "quire/quire.h"
#include "served/served.h"

namespace quire::patterns {

enum class Place { kEmbedded, kServed };

inline std::string PlaceName(Place place) {
  return place == Place::kEmbedded ? "Embedded" : "Served";
}

// One client per place for the whole program; every world has a database of its own in it.
inline Client ClientOf(Place place) {
  if (place == Place::kEmbedded) {
    static Result<Client> embedded = OpenInMemory();
    EXPECT_TRUE(embedded.ok()) << embedded.status().ToString();
    return *embedded;
  }
  static Result<Client> served = Connect(served::Address());
  EXPECT_TRUE(served.ok()) << served.status().ToString();
  return *served;
}

class TestClock : public Clock {
 public:
  bson::Date Now() override { return bson::Date{millis_.load()}; }
  void Advance(std::chrono::milliseconds by) { millis_ += by.count(); }
  void Reset() { millis_ = kStart; }
  void Set(bson::Date now) { millis_ = now.millis; }

 private:
  static constexpr int64_t kStart = 1'600'000'000'000;
  std::atomic<int64_t> millis_{kStart};
};

// Runs `action` once, after the point of that name or of that number (from 1, of all points
// passed): it returns whether the client lives on. Without either it only notes the points.
class TestCrash : public CrashHook {
 public:
  bool After(std::string_view point) override {
    seen.emplace_back(point);
    if (fired || (point != at && static_cast<int>(seen.size()) != number)) {
      return true;
    }
    fired = true;
    return action();
  }

  std::vector<std::string> seen;
  std::string at;
  int number = 0;
  std::function<bool()> action = [] { return false; };
  bool fired = false;
};

// Gives the write number `at` (from 1) the fault, after running `before`.
class TestFaults : public FaultHook {
 public:
  Fault BeforeWrite() override {
    if (++writes != at) {
      return Fault::kNone;
    }
    if (before) {
      before();
    }
    return fault;
  }

  int at = 0;
  Fault fault = Fault::kNone;
  std::function<void()> before;
  int writes = 0;
};

struct World {
  explicit World(Place place)
      : client(ClientOf(place)),
        database("w" + std::to_string(++next)),
        store(client, database, Seams{.clock = &clock}) {}
  ~World() { EXPECT_TRUE(client.GetDatabase(database).Drop().ok()); }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  Seams seams(CrashHook* crash = nullptr, FaultHook* faults = nullptr) {
    return Seams{.clock = &clock, .crash = crash, .faults = faults};
  }

  std::vector<bson::Document> All(std::string_view collection) const {
    auto found = store.Find(collection, bson::Document());
    EXPECT_TRUE(found.ok()) << found.status().ToString();
    return found.ok() ? *std::move(found) : std::vector<bson::Document>();
  }

  // Everything but the indexes is as in the beginning; faster than a new one.
  void Clear() {
    auto names = client.GetDatabase(database).ListCollectionNames();
    EXPECT_TRUE(names.ok()) << names.status().ToString();
    for (const std::string& name : *names) {
      EXPECT_TRUE(store.DeleteMany(name, bson::Document()).ok());
    }
    clock.Reset();
  }

  // What the server does to transactions that take too long: it ends them. Their clients hear of it
  // with their next call, and begin again.
  void ExpireTransactions();

  // Every document and the time, to come back to. Indexes stay as they are.
  struct Snapshot {
    std::map<std::string, std::vector<bson::Document>> documents;
    bson::Date now;
  };
  Snapshot Take();
  void Restore(const Snapshot& snapshot);

  static inline std::atomic<int> next{0};
  Client client;
  std::string database;
  TestClock clock;
  Store store;  // for looking
};

// A scenario of the standard crash test. Each run finds its world without documents, or as `once`
// left it.
struct CrashCase {
  // Optional. Runs once: what it stores is there again at the start of each run.
  std::function<void(World*)> once;
  // Optional, with `once`: runs at the start of each run.
  std::function<void(World*)> setup;
  // The operation under test, by a client with these seams. Its status may be any.
  std::function<Status(World*, const Seams&)> operation;
  // Optional: the operation has a key, so it is repeated after an error, and by another client
  // while the first is paused. Gets what the repeat answered.
  std::function<void(const Status&)> repeated;
  // Lets enough time pass and runs the jobs until they change nothing.
  std::function<void(World*)> settle;
  // Must hold at every instant, and once everything is settled.
  std::function<void(World*)> always;
  std::function<void(World*)> settled;
  // Optional, with `repeated`: and once it was repeated in this run and everything is settled.
  std::function<void(World*)> done;
};

// Crashes the client after every step; pauses it there until the jobs have settled everything and
// lets it go on (a late writer, whose transaction has expired); fails and loses the answer of every
// write. Returns how many runs that were.
int RunCrashCase(Place place, const CrashCase& test);

// The winning plan of a find, by explain: "IXSCAN", "FETCH" ... as text; and what it examined.
struct Explained {
  std::string plan;
  int64_t keys = 0;
  int64_t documents = 0;
  int64_t returned = 0;
};
Explained Explain(const Store& store, const bson::Document& find);

}  // namespace quire::patterns
