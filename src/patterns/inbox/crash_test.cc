// SPDX-License-Identifier: Apache-2.0
//
// The inbox under crashes: every operation of every design at every point, and random histories.
#include <map>
#include <set>

#include "patterns/testing/inbox.h"
#include "patterns/testing/random_crash.h"

namespace quire::patterns {
namespace {

using bson::ObjectId;
using std::chrono::hours;
using std::chrono::minutes;

struct Operation {
  const char* name;
  std::function<Status(const Inbox&, const ObjectId& old, const CallKey& key)> run;
};

// In a world where a and b have an old message each.
const Operation kOperations[] = {
    {"send",
     [](auto& inbox, auto&, auto& key) {
       return inbox.Send("j", {"a", "b"}, "t", key).status();
     }},
    {"mark read", [](auto& inbox, auto& old, auto& key) { return inbox.MarkRead("a", old, key); }},
    {"remove", [](auto& inbox, auto& old, auto& key) { return inbox.Remove("a", old, key); }},
    {"add user", [](auto& inbox, auto&, auto& key) { return inbox.AddUser("new", key); }},
};

class InboxCrashTest : public BothPlaces {};

TEST_P(InboxCrashTest, EveryOperationAtEveryPoint) {
  for (InboxDesign design : kInboxDesigns) {
    for (const Operation& operation : kOperations) {
      for (bool keyed : KeyedAt(GetParam())) {
        SCOPED_TRACE(std::to_string(static_cast<int>(design)) + operation.name +
                     (keyed ? " with a key" : ""));
        const std::string_view name = operation.name;
        const CallKey key = keyed ? CallKey("k") : CallKey();
        ObjectId old;
        CrashCase test;
        test.once = [&](World* world) {
          AddUsers(world, design, {"a", "b"});
          old = *InboxOf(world, design).Send("j", {"a", "b"}, "old");
        };
        test.operation = [&](World* world, const Seams& seams) {
          return operation.run(InboxOf(world, design, seams), old, key);
        };
        if (keyed) {
          test.repeated = ExpectOk;
        }
        test.settle = [&](World* world) {
          world->clock.Advance(minutes(5));
          ResumeAll(world, design);
        };
        test.always = [&](World* world) { ExpectSoundInbox(InboxOf(world, design)); };
        test.settled = [&](World* world) {
          EXPECT_EQ(*world->store.Count("outbox", Doc("state", "new")), 0);
          const Inbox inbox = InboxOf(world, design);
          const size_t at_b = ReadAll(inbox, "b", 10).size();
          const std::vector<InboxMessage> at_a = ReadAll(inbox, "a", 10);
          EXPECT_GE(at_b, 1u);
          EXPECT_LE(at_b, name == "send" ? 2u : 1u);
          if (name != "remove") {
            EXPECT_EQ(at_a.size(), at_b);
          }
        };
        test.done = [&](World* world) {
          const size_t at_b = ReadAll(InboxOf(world, design), "b", 10).size();
          const std::vector<InboxMessage> at_a = ReadAll(InboxOf(world, design), "a", 10);
          EXPECT_EQ(at_b, name == "send" ? 2u : 1u);
          EXPECT_EQ(at_a.size(), name == "remove" ? 0 : at_b);
          EXPECT_TRUE(name != "mark read" || at_a[0].read);
          EXPECT_EQ(*world->store.Count("users", Doc()), name == "add user" ? 3 : 2);
        };
        EXPECT_GE(RunCrashCase(GetParam(), test), 5);
      }
    }
  }
}

// One of the recipients has removed the message before the late client goes on: it stays away.
TEST_P(InboxCrashTest, ALateDeliveryBringsNothingBack) {
  for (InboxDesign design : {InboxDesign::kFanOutOnWrite, InboxDesign::kBuckets}) {
    CrashCase test;
    test.once = [&](World* world) { AddUsers(world, design, {"a", "b"}); };
    test.operation = [&](World* world, const Seams& seams) {
      return InboxOf(world, design, seams).Send("j", {"a", "b"}, "t", "k").status();
    };
    test.repeated = ExpectOk;
    test.settle = [&](World* world) {
      world->clock.Advance(minutes(5));
      ResumeAll(world, design);
      Inbox inbox = InboxOf(world, design);
      for (const InboxMessage& message : ReadAll(inbox, "a", 10)) {
        EXPECT_TRUE(inbox.Remove("a", message.id).ok());
      }
    };
    test.always = [&](World* world) { ExpectSoundInbox(InboxOf(world, design)); };
    test.settled = [&](World* world) {
      Inbox inbox = InboxOf(world, design);
      EXPECT_LE(ReadAll(inbox, "b", 10).size(), 1u);
      EXPECT_TRUE(ReadAll(inbox, "a", 10).empty());
    };
    EXPECT_GE(RunCrashCase(GetParam(), test), 20);
  }
}

// The job itself crashes, or is paused until another worker has done its work.
TEST_P(InboxCrashTest, TheJobsAtEveryPoint) {
  for (InboxDesign design : kInboxDesigns) {
    for (bool purges : {false, true}) {
      CrashCase test;
      test.once = [&](World* world) {
        AddUsers(world, design, {"a", "b"});
        TestCrash crash;
        crash.at = "inbox.send.c1";
        (void)InboxOf(world, design, world->seams(&crash)).Send("j", {"a", "b"}, "t");
        if (purges) {
          world->clock.Advance(minutes(5));
          ResumeAll(world, design);
          Inbox inbox = InboxOf(world, design);
          for (const char* user : {"a", "b"}) {
            ASSERT_TRUE(inbox.Remove(user, ReadAll(inbox, user, 1).at(0).id).ok());
          }
          world->clock.Advance(hours(25));
        }
        world->clock.Advance(minutes(5));
      };
      test.operation = [&](World* world, const Seams& seams) {
        Inbox inbox = InboxOf(world, design, seams);
        return purges ? inbox.Purge().status() : inbox.Resume().status();
      };
      test.settle = [&](World* world) {
        world->clock.Advance(minutes(5));
        ResumeAll(world, design);
        for (int i = 0; purges && i < 3; ++i) {
          EXPECT_TRUE(InboxOf(world, design).Purge().ok());
        }
      };
      test.always = [&](World* world) { ExpectSoundInbox(InboxOf(world, design)); };
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

QUIRE_IN_BOTH_PLACES(InboxCrashTest);

// What was sent with an answer is read by all its recipients, once, until they remove it.
class RandomInbox : public RandomWorkload {
 public:
  explicit RandomInbox(InboxDesign design) : design_(design) {}

  void Setup(World* world) override { AddUsers(world, design_, kUsers); }

  Status Step(World* world, const Seams& seams, Chance* chance) override {
    const Inbox inbox = InboxOf(world, design_, seams);
    const std::string user = chance->Pick(kUsers);
    const int action = chance->Below(8);
    const CallKey key =
        chance->OneIn(2) ? CallKey("k" + std::to_string(chance->Below(8))) : CallKey();
    chance->Note(user + " does " + std::to_string(action) + (key ? " key " + *key : ""));
    if (action < 4) {
      // A key stands for one message, whoever sends it again.
      const std::string text = key ? *key : "u" + std::to_string(next_++);
      tried_.insert(text);
      auto sent = inbox.Send("j", {"a", "b"}, text, key);
      if (sent.ok()) {
        sent_.insert(text);
      }
      return sent.status();
    }
    if (action < 7) {
      auto page = InboxOf(world, design_).Read(user, {.limit = 5});
      if (!page.ok() || page->messages.empty()) {
        return page.status();
      }
      const InboxMessage message = chance->Pick(page->messages);
      if (action == 4) {
        removed_.insert(user + message.text);
        return inbox.Remove(user, message.id);
      }
      return inbox.MarkRead(user, message.id);
    }
    return chance->OneIn(2) ? inbox.Resume().status() : inbox.Purge().status();
  }

  void Settle(World* world) override {
    world->clock.Advance(minutes(5));
    ResumeAll(world, design_);
  }
  void ExpectAlways(World* world) override {
    ExpectSoundInbox(InboxOf(world, design_));
    for (const std::string& user : kUsers) {
      std::set<std::string> texts;
      for (const InboxMessage& message : ReadAll(InboxOf(world, design_), user, 7)) {
        EXPECT_TRUE(texts.insert(message.text).second) << message.text << " twice";
        EXPECT_TRUE(tried_.contains(message.text));
      }
    }
  }
  void ExpectSettled(World* world) override {
    for (const std::string& user : kUsers) {
      std::set<std::string> texts;
      for (const InboxMessage& message : ReadAll(InboxOf(world, design_), user, 7)) {
        texts.insert(message.text);
      }
      for (const std::string& text : sent_) {
        EXPECT_TRUE(texts.contains(text) || removed_.contains(user + text)) << user << " " << text;
      }
    }
  }
  void Rest(World* world) override {
    world->clock.Advance(hours(25));
    RunUntilQuiet({[&] { return InboxOf(world, design_).Resume(); },
                   [&] { return InboxOf(world, design_).Purge(); }});
    ++next_;
    // Keys are forgotten: what comes with them is new.
    for (const std::string& text : std::set<std::string>(tried_)) {
      if (text[0] == 'k') {
        tried_.erase(text);
        sent_.erase(text);
      }
    }
    for (const std::string& user : kUsers) {
      Inbox inbox = InboxOf(world, design_);
      for (const InboxMessage& message : ReadAll(inbox, user, 50)) {
        if (message.text[0] == 'k') {
          removed_.erase(user + message.text);
          EXPECT_TRUE(inbox.Remove(user, message.id).ok());
        }
      }
    }
  }

 private:
  static inline const std::vector<std::string> kUsers = {"a", "b"};

  InboxDesign design_;
  int next_ = 0;
  std::set<std::string> tried_;
  std::set<std::string> sent_;
  std::set<std::string> removed_;  // user and text, perhaps
};

const RandomSystem kRandom("Inbox", [](Chance* chance) {
  return std::make_unique<RandomInbox>(chance->Pick(kInboxDesigns));
});

}  // namespace
}  // namespace quire::patterns
