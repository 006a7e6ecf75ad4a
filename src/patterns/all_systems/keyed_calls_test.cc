// SPDX-License-Identifier: Apache-2.0
//
// The calls of the toolkit, transfers, orders and roll-ups that take a key: repeated by anyone, at
// any moment, they happen once.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "patterns/testing/world.h"
#include "quire/patterns/attributes.h"
#include "quire/patterns/contacts.h"
#include "quire/patterns/nodes.h"
#include "quire/patterns/orders.h"
#include "quire/patterns/rollups.h"
#include "quire/patterns/transfers.h"

namespace quire::patterns {
namespace {

using bson::OwnedValue;
using bson::Value;
using std::chrono::hours;
using std::chrono::minutes;

constexpr char kKey[] = "key";

// A call with a key, and what another client does that takes its effect back.
struct Keyed {
  std::string name;
  std::function<void(World*)> setup;
  std::function<Status(World*, const Seams&)> call;
  std::function<Status(World*, const Seams&)> reused;  // the same key, other arguments
  std::function<Status(World*)> undo;                  // null: nothing undoes it
  std::function<bool(World*)> done;
};

Contacts BookOf(World* world, ContactModel model, Backend backend, const Seams& seams) {
  return Contacts(world->client, world->database,
                  {.model = model, .backend = backend, .seams = seams});
}

std::vector<Keyed> ContactCalls(ContactModel model) {
  auto with = [=](World* world, const Seams& seams) {
    return BookOf(world, model, Backend::kCompensating, seams);
  };
  auto book = [=](World* world) { return with(world, world->seams()); };
  auto setup = [=](World* world) {
    ASSERT_TRUE(book(world).CreateIndexes().ok());
    ASSERT_TRUE(book(world).Create("1", "a", "0").ok());
    ASSERT_TRUE(book(world).AddNumber("1", "old").ok());
  };
  auto has = [=](World* world, const char* number) {
    return book(world).FindByNumber(number)->size() == 1;
  };
  const std::string suffix = model == ContactModel::kEmbedded ? " embedded" : " referenced";
  return {
      {"contacts.create" + suffix, setup,
       [=](World* w, const Seams& s) { return with(w, s).Create("2", "b", "01209", kKey); },
       [=](World* w, const Seams& s) { return with(w, s).Create("2", "c", "01209", kKey); },
       [=](World* w) { return book(w).Delete("2"); },
       [=](World* w) { return book(w).Get("2").ok(); }},
      {"contacts.add" + suffix, setup,
       [=](World* w, const Seams& s) { return with(w, s).AddNumber("1", "new", kKey); },
       [=](World* w, const Seams& s) { return with(w, s).AddNumber("1", "other", kKey); },
       [=](World* w) { return book(w).RemoveNumber("1", "new"); },
       [=](World* w) { return has(w, "new"); }},
      {"contacts.add_there" + suffix, setup,
       [=](World* w, const Seams& s) { return with(w, s).AddNumber("1", "old", kKey); },
       [=](World* w, const Seams& s) { return with(w, s).RemoveNumber("1", "old", kKey); },
       [=](World* w) { return book(w).RemoveNumber("1", "old", "another key"); },
       [=](World* w) { return has(w, "old"); }},
      {"contacts.remove" + suffix, setup,
       [=](World* w, const Seams& s) { return with(w, s).RemoveNumber("1", "old", kKey); },
       [=](World* w, const Seams& s) { return with(w, s).RemoveNumber("2", "old", kKey); },
       [=](World* w) { return book(w).AddNumber("1", "old"); },
       [=](World* w) { return !has(w, "old"); }},
      {"contacts.remove_absent" + suffix, setup,
       [=](World* w, const Seams& s) { return with(w, s).RemoveNumber("1", "none", kKey); },
       [=](World* w, const Seams& s) { return with(w, s).RemoveNumber("1", "old", kKey); },
       [=](World* w) { return book(w).AddNumber("1", "none", "another key"); },
       [=](World* w) { return !has(w, "none"); }},
      {"contacts.delete" + suffix, setup,
       [=](World* w, const Seams& s) { return with(w, s).Delete("1", kKey); },
       [=](World* w, const Seams& s) { return with(w, s).Delete("2", kKey); }, nullptr,
       [=](World* w) {
         return Is(book(w).Get("1").status(), Error::kNotFound) && !has(w, "old") &&
                Is(book(w).AddNumber("1", "x"), Error::kNotFound);
       }},
  };
}

Keyed NodeCall() {
  auto nodes = [](World* world, const Seams& seams) {
    Nodes made(world->client, world->database, seams);
    made.Register("page", {});
    return made;
  };
  return {
      "nodes.insert",
      [=](World* w) { ASSERT_TRUE(nodes(w, w->seams()).CreateIndexes().ok()); },
      [=](World* w, const Seams& s) {
        return nodes(w, s).Insert(Doc("type", "page", "url", "/a", "title", "A"), kKey).status();
      },
      [=](World* w, const Seams& s) {
        return nodes(w, s).Insert(Doc("type", "page", "url", "/b", "title", "A"), kKey).status();
      },
      nullptr,
      [](World* w) { return w->All("nodes").size() == 1; }};
}

Keyed AttributeCall(AttributeEncoding encoding) {
  auto put = [=](World* world, const Seams& seams, int32_t size, const CallKey& key) {
    return AttributeCatalog(world->client, world->database, encoding, {"size"}, seams)
        .Put("p", {{"size", OwnedValue(Value(size))}}, key);
  };
  auto holds = [=](World* world, int32_t size) {
    return AttributeCatalog(world->client, world->database, encoding, {"size"}, world->seams())
               .FindByAttribute("size", Value(size))
               ->size() == 1;
  };
  return {"attributes.put" + std::to_string(static_cast<int>(encoding)),
          [](World*) {},
          [=](World* w, const Seams& s) { return put(w, s, 1, kKey); },
          [=](World* w, const Seams& s) { return put(w, s, 2, kKey); },
          [=](World* w) { return put(w, w->seams(), 3, std::nullopt); },
          [=](World* w) { return holds(w, 1); }};
}

std::vector<Keyed> MoneyCalls() {
  auto bank = [](World* world, const Seams& seams) {
    return Transfers(world->client, world->database, {.seams = seams});
  };
  auto orders = [](World* world, const Seams& seams) {
    return Orders(world->client, world->database, seams);
  };
  auto nothing = [](World*) {};
  return {{"transfers.open_account", nothing,
           [=](World* w, const Seams& s) { return bank(w, s).OpenAccount("a", 10, kKey); },
           [=](World* w, const Seams& s) { return bank(w, s).OpenAccount("a", 11, kKey); }, nullptr,
           [=](World* w) { return bank(w, w->seams()).GetBalance("a").ok(); }},
          {"orders.create", nothing,
           [=](World* w, const Seams& s) { return orders(w, s).Create("o", kKey); },
           [=](World* w, const Seams& s) { return orders(w, s).Create("p", kKey); }, nullptr,
           [=](World* w) { return orders(w, w->seams()).Get("o").ok(); }}};
}

std::vector<Keyed> AllCalls() {
  std::vector<Keyed> calls = MoneyCalls();
  calls.push_back(NodeCall());
  for (AttributeEncoding encoding :
       {AttributeEncoding::kDocument, AttributeEncoding::kPairs, AttributeEncoding::kKeyValue}) {
    calls.push_back(AttributeCall(encoding));
  }
  for (ContactModel model : {ContactModel::kEmbedded, ContactModel::kReferenced}) {
    std::vector<Keyed> more = ContactCalls(model);
    calls.insert(calls.end(), more.begin(), more.end());
  }
  return calls;
}

class KeyedCallsTest : public ::testing::TestWithParam<Place> {};

TEST_P(KeyedCallsTest, AreDoneOnceThroughEveryCrash) {
  for (const Keyed& row : AllCalls()) {
    SCOPED_TRACE(row.name);
    CrashCase test;
    test.setup = row.setup;
    test.operation = row.call;
    test.repeated = [](const Status& again) { EXPECT_TRUE(again.ok()) << again.ToString(); };
    test.settle = [&](World* world) {
      world->clock.Advance(minutes(10));
      Status again = row.call(world, world->seams());
      EXPECT_TRUE(again.ok()) << again.ToString();
    };
    test.always = [](World*) {};
    test.settled = [&](World* world) {
      EXPECT_TRUE(row.done(world));
      EXPECT_TRUE(Is(row.reused(world, world->seams()), Error::kIdempotencyKeyReuse));
      EXPECT_EQ(world->All("idempotency").size(), 1u);
    };
    EXPECT_GE(RunCrashCase(GetParam(), test), 16);
  }
}

// A client is paused before each of its writes while another repeats its call and a third takes the
// effect back: what the first still sends changes nothing.
TEST_P(KeyedCallsTest, WhatWasTakenBackStaysSo) {
  for (const Keyed& row : AllCalls()) {
    if (!row.undo) {
      continue;
    }
    for (int write = 1; write <= 3; ++write) {
      SCOPED_TRACE(row.name + " write " + std::to_string(write));
      World world(GetParam());
      row.setup(&world);
      TestFaults faults;
      faults.at = write;
      faults.before = [&] {
        EXPECT_TRUE(row.call(&world, world.seams()).ok());
        EXPECT_TRUE(row.done(&world));
        EXPECT_TRUE(row.undo(&world).ok());
        EXPECT_FALSE(row.done(&world));
      };
      Status late = row.call(&world, world.seams(nullptr, &faults));
      EXPECT_TRUE(late.ok()) << late.ToString();
      EXPECT_GE(faults.writes, write);
      EXPECT_FALSE(row.done(&world));
    }
  }
}

TEST_P(KeyedCallsTest, ADeletionInATransactionIsRepeated) {
  for (const char* point : {"contacts.delete_key.c1", "contacts.delete.c1", "contacts.delete.c2",
                            "contacts.delete_key.c2"}) {
    SCOPED_TRACE(point);
    World world(GetParam());
    auto book = [&](const Seams& seams) {
      return BookOf(&world, ContactModel::kReferenced, Backend::kTransactional, seams);
    };
    ASSERT_TRUE(book(world.seams()).CreateIndexes().ok());
    ASSERT_TRUE(book(world.seams()).Create("1", "a", "0").ok());
    ASSERT_TRUE(book(world.seams()).AddNumber("1", "n").ok());
    TestCrash crash;
    crash.at = point;
    EXPECT_TRUE(Is(book(world.seams(&crash)).Delete("1", kKey), Error::kCrashed));
    EXPECT_TRUE(crash.fired);
    EXPECT_TRUE(book(world.seams()).Delete("1", kKey).ok());
    EXPECT_TRUE(Is(book(world.seams()).Get("1").status(), Error::kNotFound));
    EXPECT_TRUE(world.All("numbers").empty());
  }
}

TEST_P(KeyedCallsTest, RefusalsAreKept) {
  World world(GetParam());
  Contacts book = BookOf(&world, ContactModel::kReferenced, Backend::kCompensating, world.seams());
  ASSERT_TRUE(book.CreateIndexes().ok());
  EXPECT_TRUE(Is(book.AddNumber("1", "n", "a"), Error::kNotFound));
  EXPECT_TRUE(Is(book.Delete("1", "d"), Error::kNotFound));
  ASSERT_TRUE(book.Create("1", "a", "0").ok());
  EXPECT_TRUE(Is(book.AddNumber("1", "n", "a"), Error::kNotFound));
  EXPECT_TRUE(Is(book.Delete("1", "d"), Error::kNotFound));
  EXPECT_TRUE(book.Get("1").ok());
  EXPECT_TRUE(Is(book.AddNumber("1", "n", ""), Error::kInvalidName));
}

TEST_P(KeyedCallsTest, PurgeForgetsKeysAndTombstones) {
  for (ContactModel model : {ContactModel::kEmbedded, ContactModel::kReferenced}) {
    World world(GetParam());
    Contacts book = BookOf(&world, model, Backend::kCompensating, world.seams());
    ASSERT_TRUE(book.CreateIndexes().ok());
    for (const char* id : {"1", "2"}) {
      ASSERT_TRUE(book.Create(id, "a", "0").ok());
      ASSERT_TRUE(book.AddNumber(id, "n", std::string("add") + id).ok());
      ASSERT_TRUE(book.RemoveNumber(id, "n").ok());
    }
    ASSERT_TRUE(book.Delete("1", "delete").ok());
    EXPECT_EQ(book.PurgeKeys()->changed, 0);
    EXPECT_EQ(world.All("contacts").size(), 2u);
    world.clock.Advance(hours(25));
    EXPECT_TRUE(book.PurgeKeys().ok());
    EXPECT_TRUE(world.All("idempotency").empty());
    EXPECT_TRUE(world.All("numbers").empty());
    ASSERT_EQ(world.All("contacts").size(), 1u);
    EXPECT_TRUE(book.Get("2").ok());
    EXPECT_EQ(book.PurgeKeys()->changed, 0);
  }
}

// Gaps, but never two blocks for one key, and never a number twice.
TEST_P(KeyedCallsTest, ReservedNumbersAreKept) {
  World world(GetParam());
  auto rollups = [&](const Seams& seams) {
    return Rollups(world.client, world.database, {.seams = seams});
  };
  ASSERT_EQ(*rollups(world.seams()).ReserveIds("s", 10), 0);
  for (const char* point :
       {"rollups.reserve_ids_key.c1", "rollups.reserve_ids.c1", "rollups.reserve_ids_key.c2"}) {
    const std::string key = std::string("key ") + point;
    TestCrash crash;
    crash.at = point;
    EXPECT_TRUE(Is(rollups(world.seams(&crash)).ReserveIds("s", 5, key).status(), Error::kCrashed));
    EXPECT_TRUE(crash.fired);
    const int64_t first = *rollups(world.seams()).ReserveIds("s", 5, key);
    EXPECT_EQ(*rollups(world.seams()).ReserveIds("s", 5, key), first);
    EXPECT_GE(*rollups(world.seams()).ReserveIds("s", 1), first + 5);
    EXPECT_TRUE(
        Is(rollups(world.seams()).ReserveIds("s", 6, key).status(), Error::kIdempotencyKeyReuse));
  }
  world.clock.Advance(hours(25));
  EXPECT_EQ(rollups(world.seams()).PurgeKeys()->changed, 3);
}

INSTANTIATE_TEST_SUITE_P(Places, KeyedCallsTest,
                         ::testing::Values(Place::kEmbedded, Place::kServed),
                         [](const auto& place) { return PlaceName(place.param); });

}  // namespace
}  // namespace quire::patterns
