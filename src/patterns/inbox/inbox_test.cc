// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/inbox.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <thread>

#include "patterns/testing/inbox.h"
#include "patterns/testing/query_paths.h"

namespace quire::patterns {
namespace {

using bson::Document;
using bson::ObjectId;
using std::chrono::hours;
using std::chrono::minutes;

class InboxTest : public BothPlaces {};

TEST_P(InboxTest, DeliversOnceToEachOrSaysWhyNot) {
  for (InboxDesign design : kInboxDesigns) {
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
    ExpectSoundInbox(inbox);
  }
}

TEST_P(InboxTest, AKeyHasOneOutcome) {
  for (InboxDesign design : kInboxDesigns) {
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
  ExpectSoundInbox(inbox);
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
  for (InboxDesign design : kInboxDesigns) {
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
    ExpectSoundInbox(side->inbox);
  }
}

TEST_P(InboxTest, RemovedMessagesAreForgottenInTime) {
  for (InboxDesign design : kInboxDesigns) {
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
    ExpectSoundInbox(inbox);
  }
}

TEST_P(InboxTest, ManySendersAndWorkersDeliverExactlyOnce) {
  for (InboxDesign design : kInboxDesigns) {
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
          ExpectSoundInbox(inbox);
        }
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    Inbox inbox = InboxOf(&world, design);
    ExpectSoundInbox(inbox);
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
  for (InboxDesign design : kInboxDesigns) {
    SCOPED_TRACE(static_cast<int>(design));
    World world(GetParam());
    QueryPaths paths;
    Seams seams = world.seams();
    seams.queries = &paths;
    const Inbox inbox = InboxOf(&world, design, seams);
    EXPECT_EQ(inbox.MissingIndexes()->size(), Inbox::Indexes(design).size());
    EXPECT_FALSE(Inbox::ShardKeys(design).empty());
    AddUsers(&world, design, {"a", "b", "c"});
    EXPECT_TRUE(inbox.MissingIndexes()->empty());
    std::vector<ObjectId> sent;
    for (int i = 0; i < 60; ++i) {
      world.clock.Advance(std::chrono::seconds(1));
      sent.push_back(*inbox.Send("j", {"a", i % 2 ? "b" : "c"}, "t",
                                 i % 3 == 0 ? CallKey("k" + std::to_string(i)) : CallKey()));
    }
    for (int64_t limit : {7, 1000}) {
      EXPECT_EQ(ReadAll(inbox, "a", limit).size(), 60u);
      EXPECT_EQ(ReadAll(inbox, "b", limit).size(), 30u);
    }
    for (size_t i = 0; i < 20; ++i) {
      ASSERT_TRUE(inbox.MarkRead("a", sent[i]).ok());
      ASSERT_TRUE(i % 2 == 1 || inbox.Remove("a", sent[i]).ok());
      ASSERT_TRUE(i % 4 != 0 || inbox.Remove("c", sent[i]).ok());
    }
    EXPECT_EQ(*inbox.UnreadCount("a"), 40);
    TestCrash crash;
    crash.at = "inbox.send.c1";
    (void)InboxOf(&world, design, world.seams(&crash)).Send("j", {"a", "b"}, "t");
    world.clock.Advance(hours(25));
    ASSERT_TRUE(inbox.Resume().ok());
    ASSERT_TRUE(inbox.Purge().ok());
    ASSERT_TRUE(inbox.Purge(2).ok());
    paths.ExpectIndexed(world.store);
  }
}

QUIRE_IN_BOTH_PLACES(InboxTest);

}  // namespace
}  // namespace quire::patterns
