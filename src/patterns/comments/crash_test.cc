// SPDX-License-Identifier: Apache-2.0
//
// Discussions under crashes: every operation of every design at every point, and random histories.
#include <set>

#include "patterns/testing/comments.h"
#include "patterns/testing/random_crash.h"

namespace quire::patterns {
namespace {

using std::chrono::milliseconds;

struct Form {
  CommentDesign design;
  bool soft = false;
};
constexpr Form kForms[] = {{CommentDesign::kDocuments},
                           {CommentDesign::kArray},
                           {CommentDesign::kTree},
                           {CommentDesign::kPages},
                           {CommentDesign::kPages, true}};

Comments CommentsOf(World* world, const Form& form, const Seams& seams) {
  return patterns::CommentsOf(world, form.design, seams, form.soft);
}
Comments CommentsOf(World* world, const Form& form) {
  return CommentsOf(world, form, world->seams());
}

std::vector<DiscussionComment> ListOfAll(World* world, const Form& form) {
  auto list = CommentsOf(world, form).GetFrom("d", 0, 1000);
  EXPECT_TRUE(list.ok()) << list.status().ToString();
  return list.ok() ? *list : std::vector<DiscussionComment>();
}

struct Operation {
  const char* name;
  std::function<Status(const Comments&, const std::string& first, const CallKey&)> run;
  size_t posts;           // how many comments it adds
  bool of_pages = false;  // the other designs have nothing to do
};

// In a discussion of three comments, a full page.
const Operation kOperations[] = {
    {"post", [](auto& c, auto&, auto& key) { return c.Post("d", {.text = "new"}, key).status(); },
     1},
    {"reply",
     [](auto& c, auto& first, auto& key) {
       return c.Post("d", {.text = "new", .parent = first}, key).status();
     },
     1},
    {"remove", [](auto& c, auto& first, auto& key) { return c.Remove("d", first, key); }, 0},
    {"create", [](auto& c, auto&, auto&) { return c.CreateDiscussion("e"); }, 0},
    {"recount", [](auto& c, auto&, auto&) { return c.Recount("d"); }, 0, true},
    {"recount all", [](auto& c, auto&, auto&) { return c.RecountAll().status(); }, 0, true},
};

class CommentsCrashTest : public BothPlaces {};

TEST_P(CommentsCrashTest, EveryOperationAtEveryPoint) {
  for (const Form& form : kForms) {
    for (const Operation& operation : kOperations) {
      if (operation.of_pages && form.design != CommentDesign::kPages) {
        continue;
      }
      for (bool keyed : KeyedAt(GetParam())) {
        SCOPED_TRACE(std::to_string(static_cast<int>(form.design)) + (form.soft ? " soft " : " ") +
                     operation.name + (keyed ? " with a key" : ""));
        const CallKey key = keyed ? CallKey("k") : CallKey();
        std::string first;
        CrashCase test;
        test.once = [&](World* world) {
          OpenDiscussion(world, form.design);
          for (int i = 0; i < 3; ++i) {
            first = *CommentsOf(world, form).Post("d", {.text = "x"});
          }
        };
        test.operation = [&](World* world, const Seams& seams) {
          return operation.run(CommentsOf(world, form, seams), first, key);
        };
        if (keyed) {
          test.repeated = ExpectOk;
        }
        test.settle = [&](World* world) { EXPECT_TRUE(CommentsOf(world, form).Recount("d").ok()); };
        test.always = [&](World* world) {
          ExpectNothingWrong(CommentsOf(world, form).CheckInvariants("d"));
          EXPECT_LE(ListOfAll(world, form).size(), 3 + operation.posts);
        };
        test.settled = [&](World* world) {
          const size_t all = ListOfAll(world, form).size();
          EXPECT_EQ(*CommentsOf(world, form).Count("d"), static_cast<int64_t>(all));
        };
        test.done = [&](World* world) {
          EXPECT_EQ(ListOfAll(world, form).size(), 3 + operation.posts);
          EXPECT_EQ(CommentsOf(world, form).Get("d", first)->deleted,
                    operation.name == std::string_view("remove"));
        };
        EXPECT_GE(RunCrashCase(GetParam(), test), 4);
      }
    }
  }
}

QUIRE_IN_BOTH_PLACES(CommentsCrashTest);

// A comment posted with an answer is there once, with its text or removed.
class RandomComments : public RandomWorkload {
 public:
  explicit RandomComments(const Form& form) : form_(form) {}

  void Setup(World* world) override {
    OpenDiscussion(world, form_.design);
    slugs_ = {*CommentsOf(world, form_).Post("d", {.text = "root"})};
    tried_ = {"root"};
  }

  Status Step(World* world, const Seams& seams, Chance* chance) override {
    world->clock.Advance(milliseconds(1));
    const Comments comments = CommentsOf(world, form_, seams);
    const int action = chance->Below(8);
    const std::string slug = chance->Pick(slugs_);
    if (action == 7) {
      chance->Note("recount");
      return comments.Recount("d");
    }
    if (action == 6) {
      chance->Note("remove " + slug);
      removed_ = true;
      return comments.Remove("d", slug, chance->OneIn(2) ? CallKey("r" + slug) : CallKey());
    }
    const bool keyed = chance->OneIn(2);
    // A key stands for one comment, whoever posts it again.
    const std::string text =
        keyed ? "k" + std::to_string(chance->Below(8)) : "u" + std::to_string(next_++);
    const std::string parent = keyed ? slugs_[0] : action < 3 ? "" : slug;
    chance->Note("post " + text + " below " + parent);
    tried_.insert(text);
    auto posted =
        comments.Post("d", {.text = text, .parent = parent}, keyed ? CallKey(text) : CallKey());
    if (posted.ok()) {
      slugs_.push_back(*posted);
    }
    return posted.status();
  }

  void Settle(World* world) override { EXPECT_TRUE(CommentsOf(world, form_).Recount("d").ok()); }
  void ExpectAlways(World* world) override {
    ExpectNothingWrong(CommentsOf(world, form_).CheckInvariants("d"));
    std::set<std::string> texts;
    std::set<std::string> slugs;
    for (const DiscussionComment& comment : ListOfAll(world, form_)) {
      slugs.insert(comment.slug);
      EXPECT_TRUE(comment.deleted || texts.insert(comment.text).second) << comment.text;
      EXPECT_TRUE(comment.deleted ? removed_ : tried_.contains(comment.text)) << comment.text;
    }
    for (const std::string& slug : slugs_) {
      EXPECT_TRUE(slugs.contains(slug)) << slug << " is lost";
    }
  }
  // The cached number of a client that is paused after its comment is not there yet.
  void ExpectSettled(World* world) override {
    PageRequest page;
    page.limit = 1000;
    const Comments comments = CommentsOf(world, form_);
    EXPECT_EQ(comments.GetPage("d", CommentOrder::kThreaded, page)->comments.size(),
              ListOfAll(world, form_).size());
  }
  void Rest(World* world) override {
    EXPECT_TRUE(CommentsOf(world, form_).Recount("d").ok());
    EXPECT_EQ(static_cast<size_t>(*CommentsOf(world, form_).Count("d")),
              ListOfAll(world, form_).size());
  }

 private:
  Form form_;
  int next_ = 0;
  bool removed_ = false;
  std::vector<std::string> slugs_;
  std::set<std::string> tried_;
};

const RandomSystem kRandom("Comments", [](Chance* chance) {
  return std::make_unique<RandomComments>(chance->Pick(kForms));
});

}  // namespace
}  // namespace quire::patterns
