// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/inbox.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <thread>

#include "patterns/test_world.h"

namespace quire::patterns {
namespace {

using bson::Document;
using bson::ObjectId;
using std::chrono::hours;
using std::chrono::minutes;

constexpr InboxDesign kDesigns[] = {InboxDesign::kFanOutOnRead, InboxDesign::kFanOutOnWrite,
                                    InboxDesign::kBuckets};

Inbox InboxOf(World* world, InboxDesign design, const Seams& seams) {
  return Inbox(world->client, world->database, {.design = design, .seams = seams});
}
Inbox InboxOf(World* world, InboxDesign design) { return InboxOf(world, design, world->seams()); }

void AddUsers(World* world, InboxDesign design, const std::vector<std::string>& users) {
  Inbox inbox = InboxOf(world, design);
  ASSERT_TRUE(inbox.CreateIndexes().ok());
  for (const std::string& user : users) {
    ASSERT_TRUE(inbox.AddUser(user).ok());
  }
}

// The whole inbox, by pages of that size.
std::vector<InboxMessage> ReadAll(const Inbox& inbox, std::string_view user, int64_t limit) {
  std::vector<InboxMessage> all;
  PageRequest request{.limit = limit};
  do {
    auto page = inbox.Read(user, request);
    EXPECT_TRUE(page.ok()) << page.status().ToString();
    if (!page.ok()) {
      break;
    }
    EXPECT_LE(static_cast<int64_t>(page->messages.size()), limit);
    EXPECT_TRUE(page->next.empty() || static_cast<int64_t>(page->messages.size()) == limit);
    all.insert(all.end(), page->messages.begin(), page->messages.end());
    request.after = page->next;
  } while (!request.after.empty());
  return all;
}

std::vector<std::string> Texts(const std::vector<InboxMessage>& messages) {
  std::vector<std::string> texts;
  for (const InboxMessage& message : messages) {
    texts.push_back(message.from + ":" + message.text + (message.read ? "!" : ""));
  }
  return texts;
}

void ExpectSound(const Inbox& inbox) {
  auto wrong = inbox.CheckInvariants();
  ASSERT_TRUE(wrong.ok()) << wrong.status().ToString();
  EXPECT_TRUE(wrong->empty()) << wrong->front();
}

void RunJobs(World* world, InboxDesign design) {
  Inbox inbox = InboxOf(world, design);
  for (int i = 0; i < 10; ++i) {
    auto report = inbox.Resume();
    ASSERT_TRUE(report.ok()) << report.status().ToString();
    if (report->changed + report->errors == 0) {
      return;
    }
  }
  FAIL() << "the job never ends";
}

class InboxTest : public ::testing::TestWithParam<Place> {
 protected:
  World world_{GetParam()};
};

TEST_P(InboxTest, DeliversOnceToEachOrSaysWhyNot) {
  for (InboxDesign design : kDesigns) {
    World world(GetParam());
    AddUsers(&world, design, {"mike", "billie", "a.b$%"});
    Inbox inbox(world.client, world.database,
                {.design = design, .max_recipients = 3, .seams = world.seams()});
    auto id = inbox.Send("john", {"mike", "billie", "mike"}, "hi");
    ASSERT_TRUE(id.ok()) << id.status().ToString();
    EXPECT_EQ(Texts(ReadAll(inbox, "mike", 10)), std::vector<std::string>{"john:hi"});
    std::vector<InboxMessage> read = ReadAll(inbox, "billie", 10);
    ASSERT_EQ(read.size(), 1u);
    EXPECT_TRUE(read[0].id == *id);
    EXPECT_EQ(read[0].to, (std::vector<std::string>{"mike", "billie"}));
    EXPECT_EQ(read[0].sent, world.clock.Now());
    EXPECT_TRUE(inbox.Send("john", {"a.b$%"}, "odd").ok());
    EXPECT_EQ(ReadAll(inbox, "a.b$%", 10).size(), 1u);

    struct {
      std::vector<std::string> to;
      size_t length;
      const char* error;
    } const kRefused[] = {
        {{}, 1, "NoRecipients"},
        {{"mike", "nobody", "noone"}, 1, "UnknownRecipient"},
        {{"mike", "billie", "a.b$%", "four"}, 1, "TooManyRecipients"},
        {{"mike"}, Inbox::kMaxTextBytes + 1, "MessageTooLarge"},
        {{std::string(300'000, 'x')}, 1, "MessageTooLarge"},
    };
    for (const auto& row : kRefused) {
      auto refused = inbox.Send("john", row.to, std::string(row.length, 't'));
      EXPECT_EQ(ErrorName(refused.status()), row.error);
    }
    EXPECT_NE(inbox.Send("john", {"nobody", "noone"}, "t").status().message().find("nobody, noone"),
              std::string::npos);
    EXPECT_EQ(ReadAll(inbox, "mike", 10).size(), 1u);
    EXPECT_TRUE(inbox.Send("john", {"mike"}, std::string(Inbox::kMaxTextBytes, 't')).ok());
    EXPECT_TRUE(IsDuplicateKey(inbox.AddUser("mike")));
    EXPECT_TRUE(Is(inbox.AddUser(""), Error::kInvalidName));
    EXPECT_TRUE(Is(inbox.Read("mike", {.after = "junk"}).status(), Error::kBadCursor));
    ExpectSound(inbox);
  }
}

TEST_P(InboxTest, AKeyHasOneOutcome) {
  for (InboxDesign design : kDesigns) {
    World world(GetParam());
    AddUsers(&world, design, {"a", "b"});
    Inbox inbox = InboxOf(&world, design);
    auto first = inbox.Send("j", {"a", "b"}, "t", "k");
    world.clock.Advance(minutes(1));
    auto again = inbox.Send("j", {"a", "b"}, "t", "k");
    ASSERT_TRUE(first.ok() && again.ok());
    EXPECT_TRUE(*first == *again);
    EXPECT_EQ(ReadAll(inbox, "b", 10).size(), 1u);
    EXPECT_TRUE(Is(inbox.Send("j", {"a"}, "t", "k").status(), Error::kIdempotencyKeyReuse));
    EXPECT_TRUE(Is(inbox.Send("j", {"x"}, "t", "bad").status(), Error::kUnknownRecipient));
    ASSERT_TRUE(inbox.AddUser("x").ok());
    EXPECT_TRUE(Is(inbox.Send("j", {"x"}, "t", "bad").status(), Error::kUnknownRecipient));
  }
}

// 49, 50 and 51 messages, and 120 as in the books.
TEST_P(InboxTest, BucketsEndAtFifty) {
  AddUsers(&world_, InboxDesign::kBuckets, {"m"});
  Inbox inbox = InboxOf(&world_, InboxDesign::kBuckets);
  std::map<int, std::vector<int64_t>> const kSizes = {
      {1, {1}},        {49, {49}},         {50, {50}},         {51, {50, 1}},
      {100, {50, 50}}, {101, {50, 50, 1}}, {120, {50, 50, 20}}};
  for (int n = 1; n <= 120; ++n) {
    ASSERT_TRUE(inbox.Send("j", {"m"}, std::to_string(n)).ok());
    auto expected = kSizes.find(n);
    if (expected == kSizes.end()) {
      continue;
    }
    auto buckets =
        world_.store.Find("inbox_bucket", Doc("owner", "m"), {.sort = Doc("sequence", 1)});
    std::vector<int64_t> sizes;
    for (const Document& bucket : *buckets) {
      EXPECT_EQ(IntegerAt(bucket, "sequence"), static_cast<int64_t>(sizes.size()));
      sizes.push_back(static_cast<int64_t>(bucket["messages"].AsArray().Count()));
    }
    EXPECT_EQ(sizes, expected->second) << n;
  }
  auto page = inbox.Read("m", {.limit = 30});
  ASSERT_EQ(page->messages.size(), 30u);
  EXPECT_EQ(page->messages.front().text, "120");
  EXPECT_EQ(page->messages.back().text, "91");
  page = inbox.Read("m", {.limit = 30, .after = page->next});
  EXPECT_EQ(page->messages.front().text, "90");
  ExpectSound(inbox);
}

// The same random history in three worlds: sends, reads, removals and pages of all sizes.
TEST_P(InboxTest, TheDesignsGiveTheSameAnswers) {
  const std::vector<std::string> users = {"a", "b", "c"};
  std::mt19937 random(7);
  auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  struct Side {
    explicit Side(Place place, InboxDesign design) : world(place), inbox(InboxOf(&world, design)) {}
    World world;
    Inbox inbox;
    std::vector<ObjectId> sent;
  };
  std::vector<std::unique_ptr<Side>> sides;
  for (InboxDesign design : kDesigns) {
    sides.push_back(std::make_unique<Side>(GetParam(), design));
    AddUsers(&sides.back()->world, design, users);
  }
  for (int step = 0; step < 330; ++step) {
    const size_t action = below(10);
    const std::string& user = users[below(users.size())];
    const size_t message = sides[0]->sent.empty() ? 0 : below(sides[0]->sent.size());
    const size_t to = 1 + below(7);
    const auto limit = static_cast<int64_t>(1 + below(60));
    const auto pause = std::chrono::milliseconds(below(2) * 1000);
    std::set<std::string> answers;
    for (auto& side : sides) {
      side->world.clock.Advance(pause);
      std::string answer;
      if (action < 6 || side->sent.empty()) {
        std::vector<std::string> recipients;
        for (size_t i = 0; i < users.size(); ++i) {
          if (to & 1u << i) {
            recipients.push_back(users[i]);
          }
        }
        auto id = side->inbox.Send("j", recipients, std::to_string(step));
        ASSERT_TRUE(id.ok()) << id.status().ToString();
        side->sent.push_back(*id);
      } else if (action == 6) {
        answer = ErrorName(side->inbox.MarkRead(user, side->sent[message]));
      } else if (action == 7) {
        answer = ErrorName(side->inbox.Remove(user, side->sent[message]));
      } else if (action == 8) {
        answer = std::to_string(*side->inbox.UnreadCount(user));
      } else {
        for (const std::string& text : Texts(ReadAll(side->inbox, user, limit))) {
          answer += text + " ";
        }
      }
      answers.insert(answer);
    }
    ASSERT_EQ(answers.size(), 1u) << step << " action " << action;
  }
  for (int64_t limit : {1, 49, 50, 51, 1000}) {
    for (const std::string& user : users) {
      const auto expected = Texts(ReadAll(sides[0]->inbox, user, limit));
      EXPECT_EQ(Texts(ReadAll(sides[1]->inbox, user, limit)), expected);
      EXPECT_EQ(Texts(ReadAll(sides[2]->inbox, user, limit)), expected);
      EXPECT_GT(expected.size(), 51u);
    }
  }
  for (auto& side : sides) {
    ExpectSound(side->inbox);
  }
}

TEST_P(InboxTest, RemovedMessagesAreForgottenInTime) {
  for (InboxDesign design : kDesigns) {
    World world(GetParam());
    AddUsers(&world, design, {"a", "b"});
    Inbox inbox = InboxOf(&world, design);
    ObjectId both = *inbox.Send("j", {"a", "b"}, "both");
    ObjectId mine = *inbox.Send("j", {"a"}, "mine", "k");
    EXPECT_EQ(*inbox.UnreadCount("a"), 2);
    EXPECT_TRUE(inbox.MarkRead("a", mine).ok());
    EXPECT_EQ(*inbox.UnreadCount("a"), 1);
    for (int i = 0; i < 2; ++i) {
      EXPECT_TRUE(inbox.Remove("a", both).ok());
      EXPECT_TRUE(inbox.Remove("a", mine).ok());
    }
    EXPECT_EQ(*inbox.UnreadCount("a"), 0);
    EXPECT_TRUE(Is(inbox.MarkRead("a", both), Error::kNotFound));
    EXPECT_TRUE(Is(inbox.Remove("b", mine), Error::kNotFound));
    EXPECT_TRUE(Is(inbox.MarkRead("b", mine), Error::kNotFound));
    EXPECT_EQ(inbox.Purge()->changed, 0);
    world.clock.Advance(hours(25));
    EXPECT_GT(inbox.Purge()->changed, 0);
    EXPECT_EQ(inbox.Purge()->changed, 0);
    EXPECT_TRUE(ReadAll(inbox, "a", 10).empty());
    EXPECT_EQ(ReadAll(inbox, "b", 10).size(), 1u);
    EXPECT_EQ(*inbox.UnreadCount("b"), 1);
    EXPECT_TRUE(Is(inbox.Remove("a", mine), Error::kNotFound));
    EXPECT_EQ(*world.store.Count("outbox", Doc()), 0);
    EXPECT_EQ(*world.store.Count("idempotency", Doc()), 0);
    ExpectSound(inbox);
  }
}

// Every point of a delivery to two; in `removes` one of them has removed the message before the
// late client goes on, and must not get it back.
TEST_P(InboxTest, SurvivesEveryCrashAndLateWrite) {
  struct {
    InboxDesign design;
    bool again;  // the caller repeats the key after an error
    bool removes;
    int min_runs;
  } const kCases[] = {
      {InboxDesign::kFanOutOnRead, true, false, 10},
      {InboxDesign::kFanOutOnWrite, false, false, 15},
      {InboxDesign::kFanOutOnWrite, true, true, 20},
      {InboxDesign::kBuckets, false, false, 30},
      {InboxDesign::kBuckets, true, true, 40},
  };
  for (const auto& row : kCases) {
    SCOPED_TRACE(std::to_string(static_cast<int>(row.design)) + (row.again ? " again" : ""));
    CrashCase test;
    test.setup = [&](World* world) { AddUsers(world, row.design, {"a", "b"}); };
    test.operation = [&](World* world, const Seams& seams) {
      const CallKey key = row.again ? CallKey("k") : CallKey();
      Status first = InboxOf(world, row.design, seams).Send("j", {"a", "b"}, "t", key).status();
      if (!first.ok() && row.again) {
        Status again = InboxOf(world, row.design).Send("j", {"a", "b"}, "t", key).status();
        EXPECT_TRUE(again.ok()) << again.ToString();
      }
      return first;
    };
    test.settle = [&](World* world) {
      world->clock.Advance(minutes(5));
      RunJobs(world, row.design);
      Inbox inbox = InboxOf(world, row.design);
      for (const InboxMessage& message : ReadAll(inbox, "a", 10)) {
        EXPECT_TRUE(!row.removes || inbox.Remove("a", message.id).ok());
      }
    };
    test.always = [&](World* world) { ExpectSound(InboxOf(world, row.design)); };
    test.settled = [&](World* world) {
      EXPECT_EQ(*world->store.Count("outbox", Doc("state", "new")), 0);
      Inbox inbox = InboxOf(world, row.design);
      const size_t delivered = ReadAll(inbox, "b", 10).size();
      EXPECT_LE(delivered, 1u);
      EXPECT_EQ(ReadAll(inbox, "a", 10).size(), row.removes ? 0 : delivered);
    };
    EXPECT_GE(RunCrashCase(GetParam(), test), row.min_runs);
  }
}

// The job itself crashes, or is paused until another worker has done its work.
TEST_P(InboxTest, ResumeAndPurgeSurviveTheirOwnCrashes) {
  for (InboxDesign design : kDesigns) {
    for (bool purges : {false, true}) {
      CrashCase test;
      test.setup = [&](World* world) {
        AddUsers(world, design, {"a", "b"});
        TestCrash crash;
        crash.at = "inbox.send.c1";
        (void)InboxOf(world, design, world->seams(&crash)).Send("j", {"a", "b"}, "t");
        if (purges) {
          world->clock.Advance(minutes(5));
          RunJobs(world, design);
          Inbox inbox = InboxOf(world, design);
          for (const char* user : {"a", "b"}) {
            ASSERT_TRUE(inbox.Remove(user, ReadAll(inbox, user, 1).at(0).id).ok());
          }
        }
        world->clock.Advance(purges ? hours(25) : minutes(5));
      };
      test.operation = [&](World* world, const Seams& seams) {
        Inbox inbox = InboxOf(world, design, seams);
        return purges ? inbox.Purge().status() : inbox.Resume().status();
      };
      test.settle = [&](World* world) {
        world->clock.Advance(minutes(5));
        RunJobs(world, design);
        for (int i = 0; purges && i < 3; ++i) {
          EXPECT_TRUE(InboxOf(world, design).Purge().ok());
        }
      };
      test.always = [&](World* world) { ExpectSound(InboxOf(world, design)); };
      test.settled = [&](World* world) {
        Inbox inbox = InboxOf(world, design);
        for (const char* user : {"a", "b"}) {
          EXPECT_EQ(ReadAll(inbox, user, 10).size(), purges ? 0u : 1u);
        }
        if (purges) {
          for (const char* left : {"inbox_read", "inbox_flags", "inbox_write", "outbox"}) {
            EXPECT_EQ(*world->store.Count(left, Doc()), 0) << left;
          }
        }
      };
      EXPECT_GE(RunCrashCase(GetParam(), test), 3);
    }
  }
}

TEST_P(InboxTest, ManySendersAndWorkersDeliverExactlyOnce) {
  for (InboxDesign design : kDesigns) {
    World world(GetParam());
    const std::vector<std::string> users = {"a", "b", "c"};
    AddUsers(&world, design, users);
    std::atomic<int> sent{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        Inbox inbox = InboxOf(&world, design);
        for (int i = 0; i < 30; ++i) {
          auto id = inbox.Send("j" + std::to_string(t), users, std::to_string(i));
          EXPECT_TRUE(id.ok()) << id.status().ToString();
          sent += id.ok() ? 1 : 0;
        }
      });
    }
    for (int t = 0; t < 2; ++t) {
      threads.emplace_back([&, t] {
        Inbox inbox(world.client, world.database,
                    {.design = design,
                     .grace = std::chrono::milliseconds(0),
                     .worker = "w" + std::to_string(t),
                     .seams = world.seams()});
        for (int i = 0; i < 20; ++i) {
          world.clock.Advance(std::chrono::seconds(40));
          EXPECT_TRUE(inbox.Resume().ok());
        }
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    Inbox inbox = InboxOf(&world, design);
    ExpectSound(inbox);
    for (const std::string& user : users) {
      std::set<std::string> distinct;
      std::vector<InboxMessage> all = ReadAll(inbox, user, 37);
      for (const InboxMessage& message : all) {
        distinct.insert(message.id.ToHex());
      }
      EXPECT_EQ(all.size(), static_cast<size_t>(sent.load()));
      EXPECT_EQ(distinct.size(), all.size());
    }
  }
}

TEST_P(InboxTest, QueriesUseTheIndexes) {
  struct {
    InboxDesign design;
    Document find;
  } const kQueries[] = {
      {InboxDesign::kFanOutOnRead, Doc("find", "inbox_read", "filter", Doc("to", "a"), "sort",
                                       Doc("sent", -1, "_id", -1), "limit", 5)},
      {InboxDesign::kFanOutOnRead, Doc("find", "inbox_flags", "filter", Doc("user", "a"))},
      {InboxDesign::kFanOutOnRead,
       Doc("find", "inbox_flags", "filter", Doc("removed", Doc("$lt", bson::Date{1})))},
      {InboxDesign::kFanOutOnWrite, Doc("find", "inbox_write", "filter", Doc("recipient", "a"),
                                        "sort", Doc("sent", -1, "msg", -1), "limit", 5)},
      {InboxDesign::kFanOutOnWrite,
       Doc("find", "inbox_write", "filter", Doc("recipient", "a", "read", false))},
      {InboxDesign::kFanOutOnWrite,
       Doc("find", "inbox_write", "filter", Doc("removed", Doc("$lt", bson::Date{1})))},
      {InboxDesign::kBuckets, Doc("find", "inbox_bucket", "filter", Doc("owner", "a"), "sort",
                                  Doc("sequence", -1), "limit", 2)},
      {InboxDesign::kBuckets,
       Doc("find", "inbox_bucket", "filter", Doc("messages.removed", Doc("$lt", bson::Date{1})))},
      {InboxDesign::kBuckets,
       Doc("find", "outbox", "filter", Doc("state", "new", "sent", Doc("$lt", bson::Date{1})),
           "sort", Doc("sent", 1))},
      {InboxDesign::kBuckets,
       Doc("find", "users", "filter", Doc("user_name", Doc("$in", List("a", "b"))))},
  };
  for (InboxDesign design : kDesigns) {
    World world(GetParam());
    EXPECT_EQ(InboxOf(&world, design).MissingIndexes()->size(), Inbox::Indexes(design).size());
    EXPECT_FALSE(Inbox::ShardKeys(design).empty());
    AddUsers(&world, design, {"a", "b", "c"});
    Inbox inbox = InboxOf(&world, design);
    EXPECT_TRUE(inbox.MissingIndexes()->empty());
    for (int i = 0; i < 20; ++i) {
      ASSERT_TRUE(inbox.Send("j", {"a", i % 2 ? "b" : "c"}, "t").ok());
    }
    for (const auto& query : kQueries) {
      if (query.design != design) {
        continue;
      }
      Explained explained = Explain(world.store, query.find);
      EXPECT_EQ(explained.plan.find("COLLSCAN"), std::string::npos) << explained.plan;
      EXPECT_EQ(explained.plan.find("\"SORT\""), std::string::npos) << explained.plan;
      EXPECT_LE(explained.keys, explained.returned + 1) << explained.plan;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Places, InboxTest, ::testing::Values(Place::kEmbedded, Place::kServed),
                         [](const auto& place) { return PlaceName(place.param); });

}  // namespace
}  // namespace quire::patterns
