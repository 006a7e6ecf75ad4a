// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/contacts.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "patterns/testing/random_crash.h"
#include "patterns/testing/world.h"
#include "quire/patterns/advice.h"

namespace quire::patterns {
namespace {

using bson::Document;
using std::chrono::minutes;

struct Design {
  ContactModel model;
  Backend backend;
};
constexpr Design kDesigns[] = {{ContactModel::kEmbedded, Backend::kCompensating},
                               {ContactModel::kReferenced, Backend::kCompensating},
                               {ContactModel::kReferenced, Backend::kTransactional}};

Contacts BookOf(World* world, const Design& design, const Seams& seams) {
  return Contacts(world->client, world->database,
                  {.model = design.model, .backend = design.backend, .seams = seams});
}
Contacts BookOf(World* world, const Design& design) {
  return BookOf(world, design, world->seams());
}

std::string TextOf(const Result<Contact>& contact) {
  if (!contact.ok()) {
    return ErrorName(contact.status());
  }
  std::string text = contact->id + "/" + contact->name + "/" + contact->zip_code;
  for (const std::string& number : contact->numbers) {
    text += " " + number;
  }
  return text;
}

class ContactsTest : public ::testing::TestWithParam<Place> {};

TEST_P(ContactsTest, KeepsZeroesAndNumbers) {
  for (const Design& design : kDesigns) {
    World world(GetParam());
    Contacts book = BookOf(&world, design);
    EXPECT_EQ(book.MissingIndexes()->size(), book.Indexes().size());
    ASSERT_TRUE(book.CreateIndexes().ok());
    EXPECT_TRUE(book.MissingIndexes()->empty());
    ASSERT_TRUE(book.Create("3", "Jenny", "01209").ok());
    EXPECT_EQ(book.Create("3", "Other", "1").code_name(), "DuplicateKey");
    for (const char* number : {"867-5309", "555-1212", "867-5309"}) {
      ASSERT_TRUE(book.AddNumber("3", number).ok());
    }
    EXPECT_EQ(TextOf(book.Get("3")), "3/Jenny/01209 555-1212 867-5309");
    EXPECT_EQ(book.FindByNumber("867-5309")->size(), 1u);
    EXPECT_TRUE(book.FindByNumber("0")->empty());
    EXPECT_TRUE(Is(book.AddNumber("4", "1"), Error::kNotFound));
    EXPECT_TRUE(Is(book.RemoveNumber("4", "1"), Error::kNotFound));
    EXPECT_TRUE(Is(book.Delete("4"), Error::kNotFound));
    EXPECT_TRUE(book.RemoveNumber("3", "555-1212").ok());
    EXPECT_TRUE(book.Delete("3").ok());
    EXPECT_EQ(TextOf(book.Get("3")), "NotFound");
    EXPECT_TRUE(book.FindByNumber("867-5309")->empty());
  }
}

class QueryCounter : public QueryHook {
 public:
  void Asks(const Document& /*query*/) override { ++asked; }
  int asked = 0;
};

TEST_P(ContactsTest, DocumentsAndReadsAreAsDescribed) {
  for (const Design& design : kDesigns) {
    World world(GetParam());
    Contacts book = BookOf(&world, design);
    ASSERT_TRUE(book.CreateIndexes().ok());
    ASSERT_TRUE(book.Create("3", "Jenny", "01209").ok());
    ASSERT_TRUE(book.AddNumber("3", "867-5309").ok() && book.AddNumber("3", "555-1212").ok());
    const bool embedded = design.model == ContactModel::kEmbedded;
    const Document contact = Doc("_id", "3", "name", "Jenny", "zip_code", "01209");
    const Document whole = Doc("_id", "3", "name", "Jenny", "zip_code", "01209", "numbers",
                               List("867-5309", "555-1212"));
    EXPECT_EQ(world.All("contacts").at(0).bytes(), (embedded ? whole : contact).bytes());
    const std::vector<Document> numbers = world.All("numbers");
    ASSERT_EQ(numbers.size(), embedded ? 0u : 2u);
    for (const Document& number : numbers) {
      EXPECT_EQ(number.bytes(), Doc("_id", number["_id"].AsObjectId(), "contact_id", "3", "number",
                                    TextAt(number, "number"), "at", world.clock.Now())
                                    .bytes());
    }
    QueryCounter counter;
    Seams seams = world.seams();
    seams.queries = &counter;
    EXPECT_TRUE(BookOf(&world, design, seams).Get("3").ok());
    EXPECT_EQ(counter.asked, embedded ? 1 : 2);
  }
}

TEST_P(ContactsTest, AFullContactRefuses) {
  World world(GetParam());
  Contacts book = BookOf(&world, kDesigns[0]);
  ASSERT_TRUE(book.Create("1", "a", "0").ok());
  const std::string large(6 << 20, '5');
  ASSERT_TRUE(book.AddNumber("1", large + "1").ok() && book.AddNumber("1", large + "2").ok());
  EXPECT_TRUE(Is(book.AddNumber("1", large + "3"), Error::kDocumentTooLarge));
  EXPECT_EQ(book.Get("1")->numbers.size(), 2u);
}

TEST_P(ContactsTest, WhatWasRemovedIsForgottenInBatches) {
  World world(GetParam());
  Contacts book = BookOf(&world, kDesigns[1]);
  ASSERT_TRUE(book.CreateIndexes().ok());
  std::vector<Document> removed;
  for (int i = 0; i < 1001; ++i) {
    removed.push_back(Doc("_id", std::to_string(i), "contact_id", std::to_string(i), "number", "n",
                          "removed", world.clock.Now()));
  }
  for (const char* collection : {"contacts", "numbers"}) {
    ASSERT_TRUE(world.client.GetDatabase(world.database)
                    .GetCollection(collection)
                    .InsertMany(removed)
                    .ok());
  }
  world.clock.Advance(std::chrono::hours(24));
  EXPECT_EQ(book.PurgeKeys()->changed, 0);
  world.clock.Advance(std::chrono::milliseconds(1));
  EXPECT_EQ(book.PurgeKeys()->changed, 2002);
}

// The same random history on each design gives the same answers.
TEST_P(ContactsTest, ModelsAgree) {
  std::vector<std::string> answers;
  for (const Design& design : kDesigns) {
    World world(GetParam());
    Contacts book = BookOf(&world, design);
    ASSERT_TRUE(book.CreateIndexes().ok());
    std::mt19937 random(7);
    std::string answer;
    int created = 0;
    for (int i = 0; i < 150; ++i) {
      const std::string id = std::to_string(random() % (created + 1));
      const std::string number = "n" + std::to_string(random() % 5);
      Status status;
      switch (random() % 8) {
        case 0:
        case 1:
          status = book.Create(std::to_string(created++), "c", "0");
          break;
        case 2:
          status = book.RemoveNumber(id, number);
          break;
        case 3:
          status = book.Delete(id);
          break;
        default:
          status = book.AddNumber(id, number);
      }
      answer += ErrorName(status) + " " + TextOf(book.Get(id));
      auto found = book.FindByNumber(number);
      ASSERT_TRUE(found.ok());
      for (const Contact& contact : *found) {
        answer += ";" + TextOf(contact);
      }
      answer += "\n";
    }
    answers.push_back(answer);
  }
  EXPECT_EQ(answers[0], answers[1]);
  EXPECT_EQ(answers[0], answers[2]);
}

// Every operation and job of every design. Contact 2 is never touched, 3 was half deleted.
TEST_P(ContactsTest, SurvivesEveryCrashAndLateWrite) {
  const struct {
    const char* name;
    std::function<Status(const Contacts&)> run;
  } kOperations[] = {
      {"create", [](auto& book) { return book.Create("4", "d", "0"); }},
      {"add", [](auto& book) { return book.AddNumber("1", "m"); }},
      {"remove", [](auto& book) { return book.RemoveNumber("1", "n"); }},
      {"delete", [](auto& book) { return book.Delete("1"); }},
      {"sweep", [](auto& book) { return book.SweepOrphans(minutes(5)).status(); }},
  };
  for (const Design& design : kDesigns) {
    for (const auto& row : kOperations) {
      SCOPED_TRACE(row.name + std::to_string(static_cast<int>(design.model)) +
                   std::to_string(static_cast<int>(design.backend)));
      CrashCase test;
      test.setup = [&](World* world) {
        Contacts book = BookOf(world, design);
        ASSERT_TRUE(book.CreateIndexes().ok());
        for (const char* id : {"1", "2", "3"}) {
          ASSERT_TRUE(book.Create(id, "c", "0").ok());
          ASSERT_TRUE(book.AddNumber(id, "n").ok());
        }
        ASSERT_TRUE(world->store.DeleteOne("contacts", Doc("_id", "3")).ok());
        world->clock.Advance(minutes(6));
      };
      test.operation = [&](World* world, const Seams& seams) {
        return row.run(BookOf(world, design, seams));
      };
      test.settle = [&](World* world) {
        world->clock.Advance(minutes(10));
        EXPECT_TRUE(BookOf(world, design).SweepOrphans(minutes(5)).ok());
        EXPECT_EQ(BookOf(world, design).SweepOrphans(minutes(5))->changed, 0);
      };
      test.always = [&](World* world) {
        Contacts book = BookOf(world, design);
        EXPECT_EQ(TextOf(book.Get("2")), "2/c/0 n");
        EXPECT_EQ(TextOf(book.Get("3")), "NotFound");
        const auto first = book.Get("1");
        const bool listed = first.ok() && !first->numbers.empty() && first->numbers.back() == "n";
        EXPECT_EQ(book.FindByNumber("n")->size(), listed ? 2u : 1u);
      };
      test.settled = [&](World* world) {
        for (const Document& number : world->All("numbers")) {
          EXPECT_TRUE(BookOf(world, design).Get(TextAt(number, "contact_id")).ok());
        }
      };
      const bool nothing_to_sweep =
          design.model == ContactModel::kEmbedded && row.name == std::string("sweep");
      EXPECT_GE(RunCrashCase(GetParam(), test), nothing_to_sweep ? 1 : 6);
    }
  }
}

TEST_P(ContactsTest, YoungOrphansAreLeft) {
  World world(GetParam());
  Contacts book = BookOf(&world, kDesigns[1]);
  ASSERT_TRUE(book.Create("1", "a", "0").ok());
  ASSERT_TRUE(book.AddNumber("1", "n").ok());
  TestCrash crash;
  crash.at = "contacts.delete.c1";
  EXPECT_TRUE(Is(BookOf(&world, kDesigns[1], world.seams(&crash)).Delete("1"), Error::kCrashed));
  EXPECT_EQ(book.SweepOrphans(minutes(5))->skipped, 1);
  world.clock.Advance(minutes(6));
  EXPECT_EQ(book.SweepOrphans(minutes(5))->changed, 1);
}

TEST_P(ContactsTest, OneFailureDoesNotStopTheSweeper) {
  World world(GetParam());
  Contacts book = BookOf(&world, kDesigns[1]);
  ASSERT_TRUE(book.CreateIndexes().ok());
  for (const char* id : {"1", "2", "3"}) {
    ASSERT_TRUE(book.Create(id, "a", "0").ok());
    ASSERT_TRUE(book.AddNumber(id, "n").ok());
    ASSERT_TRUE(world.store.DeleteOne("contacts", Doc("_id", id)).ok());
  }
  world.clock.Advance(minutes(6));
  TestFaults faults;
  faults.at = 2;  // the first is that of the lease
  faults.fault = FaultHook::Fault::kFailBefore;
  auto report = BookOf(&world, kDesigns[1], world.seams(nullptr, &faults)).SweepOrphans(minutes(5));
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_EQ(report->errors, 1);
  EXPECT_EQ(report->changed, 2);
  EXPECT_EQ(world.All("numbers").size(), 1u);
}

TEST_P(ContactsTest, ManyThreadsAddAndRemove) {
  for (const Design& design : kDesigns) {
    World world(GetParam());
    Contacts book = BookOf(&world, design);
    ASSERT_TRUE(book.CreateIndexes().ok());
    ASSERT_TRUE(book.Create("1", "a", "0").ok());
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&book] {
        for (int i = 0; i < 10; ++i) {
          EXPECT_TRUE(book.AddNumber("1", "n" + std::to_string(i)).ok());
          EXPECT_TRUE(book.RemoveNumber("1", "n" + std::to_string(i / 2)).ok());
        }
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    EXPECT_EQ(TextOf(book.Get("1")), "1/a/0 n5 n6 n7 n8 n9");
  }
}

TEST_P(ContactsTest, NoCollectionScans) {
  for (const Design& design : kDesigns) {
    World world(GetParam());
    Contacts book = BookOf(&world, design);
    ASSERT_TRUE(book.CreateIndexes().ok());
    for (int i = 0; i < 5; ++i) {
      ASSERT_TRUE(book.Create(std::to_string(i), "a", "0").ok());
      ASSERT_TRUE(book.AddNumber(std::to_string(i), "n" + std::to_string(i % 2)).ok());
    }
    std::vector<Document> finds = {Doc("find", "contacts", "filter", Doc("numbers", "n1"))};
    if (design.model == ContactModel::kReferenced) {
      finds = {Doc("find", "numbers", "filter", Doc("number", "n1")),
               Doc("find", "numbers", "filter", Doc("contact_id", "1"), "sort",
                   Doc("contact_id", 1, "number", 1))};
    }
    for (const Document& find : finds) {
      Explained explained = Explain(world.store, find);
      EXPECT_EQ(explained.plan.find("COLLSCAN"), std::string::npos) << explained.plan;
      EXPECT_EQ(explained.plan.find("\"SORT\""), std::string::npos) << explained.plan;
      EXPECT_LE(explained.keys, explained.returned + 1);
    }
  }
}

// A few contacts and numbers in either model. What is known for sure of a number of a contact (its
// last call was answered, and no other began meanwhile) must be seen; what was deleted never.
class RandomContacts : public RandomWorkload {
 public:
  explicit RandomContacts(const Design& design) : design_(design) {}

  void Setup(World* world) override {
    ASSERT_TRUE(BookOf(world, design_).CreateIndexes().ok());
    ASSERT_TRUE(Create(world, world->seams()).ok());
  }

  Status Step(World* world, const Seams& seams, Chance* chance) override {
    Contacts book = BookOf(world, design_, seams);
    const std::string id = std::to_string(chance->Below(created_ + 1));
    const std::string number = "n" + std::to_string(chance->Below(3));
    const int kind = chance->Below(10);
    if (kind == 0) {
      chance->Note("create");
      return Create(world, seams);
    }
    if (kind == 1) {
      chance->Note("sweep");
      world->clock.Advance(minutes(3));
      return book.SweepOrphans(minutes(5)).status();
    }
    if (kind == 2) {
      chance->Note("delete " + id);
      Status status = book.Delete(id);
      if (status.ok()) {
        deleted_.insert(id);
      }
      return status;
    }
    const bool add = kind % 2 == 0;
    chance->Note((add ? "add " : "remove ") + id + " " + number);
    Known& known = known_[{id, number}];
    known.sure = false;
    const int begun = ++known.calls;
    ++known.on_their_way;
    Status status = add ? book.AddNumber(id, number) : book.RemoveNumber(id, number);
    --known.on_their_way;
    if (status.ok() && known.calls == begun && known.on_their_way == 0) {
      known.sure = true;
      known.present = add;
    }
    return status;
  }

  void Settle(World* world) override {
    world->clock.Advance(minutes(10));
    EXPECT_TRUE(BookOf(world, design_).SweepOrphans(minutes(5)).ok());
    EXPECT_EQ(BookOf(world, design_).SweepOrphans(minutes(5))->changed, 0);
  }

  void ExpectAlways(World* world) override {
    Contacts book = BookOf(world, design_);
    std::map<std::string, std::set<std::string>> by_number;
    for (int i = 0; i < 3; ++i) {
      const std::string number = "n" + std::to_string(i);
      const std::vector<Contact> found = *book.FindByNumber(number);
      for (const Contact& contact : found) {
        by_number[contact.id].insert(number);
      }
    }
    for (size_t i = 0; i < created_; ++i) {
      const std::string id = std::to_string(i);
      auto contact = book.Get(id);
      EXPECT_FALSE(contact.ok() && deleted_.contains(id)) << id;
      const std::set<std::string> numbers =
          contact.ok() ? std::set<std::string>(contact->numbers.begin(), contact->numbers.end())
                       : std::set<std::string>();
      EXPECT_EQ(numbers, by_number[id]) << id;
      for (const auto& [key, known] : known_) {
        if (contact.ok() && key.first == id && known.sure) {
          EXPECT_EQ(numbers.contains(key.second), known.present) << id << " " << key.second;
        }
      }
    }
  }

  void ExpectSettled(World* world) override {
    const std::vector<Document> numbers = *world->store.Find("numbers", Doc());
    for (const Document& number : numbers) {
      EXPECT_TRUE(BookOf(world, design_).Get(TextAt(number, "contact_id")).ok());
    }
  }

 private:
  struct Known {
    int calls = 0;
    int on_their_way = 0;
    bool sure = false;
    bool present = false;
  };

  // Ids are not used again, whether or not the contact came to be.
  Status Create(World* world, const Seams& seams) {
    return BookOf(world, design_, seams).Create(std::to_string(created_++), "c", "0");
  }

  Design design_;
  size_t created_ = 0;
  std::set<std::string> deleted_;
  std::map<std::pair<std::string, std::string>, Known> known_;
};

const RandomSystem kRandom("Contacts", [](Chance* chance) {
  return std::make_unique<RandomContacts>(chance->Pick(kDesigns));
});

INSTANTIATE_TEST_SUITE_P(Places, ContactsTest, ::testing::Values(Place::kEmbedded, Place::kServed),
                         [](const auto& place) { return PlaceName(place.param); });

TEST(AdviseTest, FollowsTheRules) {
  struct {
    const char* what;
    ModelFacts facts;
    ModelChoice choice;
  } const kRows[] = {
      {"a few read together", {.max_children = 5}, ModelChoice::kEmbed},
      {"unbounded", {.unbounded = true, .changed_atomically = true}, ModelChoice::kReference},
      {"at the limit", {.max_children = 1000}, ModelChoice::kEmbed},
      {"above the limit", {.max_children = 1001}, ModelChoice::kReference},
      {"large", {.max_children = 11, .child_bytes = 100'000}, ModelChoice::kReference},
      {"1 MiB", {.max_children = 16, .child_bytes = 65'536}, ModelChoice::kEmbed},
      {"above 1 MiB", {.max_children = 16, .child_bytes = 65'537}, ModelChoice::kReference},
      {"without end", {.max_children = INT64_MAX, .child_bytes = 1000}, ModelChoice::kReference},
      {"atomic, queried alone",
       {.max_children = 5, .queried_alone = true, .changed_atomically = true},
       ModelChoice::kReference},
      {"atomic, many to many",
       {.max_children = 5, .changed_atomically = true, .parents_per_child = 3},
       ModelChoice::kEmbed},
      {"queried alone", {.max_children = 5, .queried_alone = true}, ModelChoice::kReference},
      {"atomic", {.max_children = 5, .changed_atomically = true}, ModelChoice::kEmbed},
      {"many to many", {.max_children = 5, .parents_per_child = 3}, ModelChoice::kEmbedIds},
      {"busy", {.max_children = 5, .updates_per_second = 500}, ModelChoice::kReference},
      {"nothing known", {.read_together = false}, ModelChoice::kEmbed},
  };
  for (const auto& row : kRows) {
    ModelAdvice advice = Advise(row.facts);
    EXPECT_EQ(advice.choice, row.choice) << row.what;
    EXPECT_FALSE(advice.reasons.empty()) << row.what;
  }
  EXPECT_EQ(Advise({.unbounded = true, .changed_atomically = true}).reasons.size(), 3u);
}

}  // namespace
}  // namespace quire::patterns
