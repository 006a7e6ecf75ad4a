// SPDX-License-Identifier: Apache-2.0
//
// A key stands for one call of the toolkit, orders, content management, comments, ads or the social
// network with all its arguments: with any other argument, and for any other call, it is refused.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "patterns/testing/ads.h"
#include "patterns/testing/cms.h"
#include "patterns/testing/comments.h"
#include "patterns/testing/keys.h"
#include "patterns/testing/social.h"
#include "quire/patterns/attributes.h"
#include "quire/patterns/contacts.h"
#include "quire/patterns/nodes.h"
#include "quire/patterns/orders.h"
#include "quire/patterns/transfers.h"

namespace quire::patterns {
namespace {

using bson::Date;
using bson::ObjectId;

class KeyReuseTest : public BothPlaces {};

TEST_P(KeyReuseTest, Contacts) {
  for (ContactModel model : {ContactModel::kEmbedded, ContactModel::kReferenced}) {
    World world(GetParam());
    const Contacts book(world.client, world.database, {.model = model, .seams = world.seams()});
    ASSERT_TRUE(book.CreateIndexes().ok());
    ASSERT_TRUE(book.Create("1", "a", "0").ok());
    ExpectKeyStandsForOne(&world, {{"create",
                                    [&] { return book.Create("2", "b", "0", kKey); },
                                    {[&] { return book.Create("3", "b", "0", kKey); },
                                     [&] { return book.Create("2", "c", "0", kKey); },
                                     [&] { return book.Create("2", "b", "1", kKey); }}},
                                   {"add",
                                    [&] { return book.AddNumber("1", "n", kKey); },
                                    {[&] { return book.AddNumber("2", "n", kKey); },
                                     [&] { return book.AddNumber("1", "m", kKey); }}},
                                   {"remove",
                                    [&] { return book.RemoveNumber("1", "n", kKey); },
                                    {[&] { return book.RemoveNumber("2", "n", kKey); },
                                     [&] { return book.RemoveNumber("1", "m", kKey); }}},
                                   {"delete", [&] { return book.Delete("1", kKey); }, {[&] {
                                      return book.Delete("2", kKey);
                                    }}}});
  }
}

TEST_P(KeyReuseTest, AttributesNodesAccountsAndOrders) {
  const AttributeCatalog catalog(world_.client, world_.database, AttributeEncoding::kKeyValue, {},
                                 world_.seams());
  auto put = [&](const char* id, const char* name, int value) -> std::function<Status()> {
    return [=, &catalog] {
      return catalog.Put(id, {{name, bson::OwnedValue(bson::Value(value))}}, kKey);
    };
  };
  ExpectKeyStandsForOne(
      &world_, {{"put", put("p", "a", 1), {put("q", "a", 1), put("p", "b", 1), put("p", "a", 2)}},
                {"other", put("o", "a", 1), {}}});
  Nodes nodes(world_.client, world_.database, world_.seams());
  nodes.Register("page", {});
  auto insert = [&](const char* url, const char* title) -> std::function<Status()> {
    return [=, &nodes] {
      return nodes.Insert(Doc("type", "page", "url", url, "title", title), kKey).status();
    };
  };
  ExpectKeyStandsForOne(&world_, {{"insert", insert("/a", "A"), {insert("/b", "A")}},
                                  {"other", insert("/a", "B"), {}}});
  const Transfers bank(world_.client, world_.database, {.seams = world_.seams()});
  auto open = [&](const char* id, int64_t balance) -> std::function<Status()> {
    return [=, &bank] { return bank.OpenAccount(id, balance, kKey); };
  };
  ExpectKeyStandsForOne(&world_,
                        {{"open", open("a", 1), {open("b", 1)}}, {"other", open("a", 2), {}}});
  const Orders orders(world_.client, world_.database, world_.seams());
  ASSERT_TRUE(orders.Create("o").ok());
  auto add = [&](const char* order, const char* sku, int64_t price,
                 int64_t quantity) -> std::function<Status()> {
    return [=, &orders] { return orders.Add(order, sku, price, quantity, kKey); };
  };
  ExpectKeyStandsForOne(
      &world_,
      {{"create", [&] { return orders.Create("p", kKey); }, {[&] {
          return orders.Create("q", kKey);
        }}},
       {"add",
        add("o", "s", 1, 2),
        {add("p", "s", 1, 2), add("o", "t", 1, 2), add("o", "s", 2, 2), add("o", "s", 1, 1)}}});
}

TEST_P(KeyReuseTest, Cms) {
  const Cms cms = CmsOf(&world_);
  ASSERT_TRUE(cms.CreateIndexes().ok());
  const ObjectId page = *cms.CreateNode(PageNode("d"));
  const ObjectId shown = *cms.UploadPhoto({.section = "photos", .slug = "ph"}, Picture("first"));
  auto create = [&](const std::function<void(Node*)>& edit) -> std::function<Status()> {
    return [&cms, edit] {
      Node node = BlogNode("new", Date{1});
      edit(&node);
      return cms.CreateNode(node, kKey).status();
    };
  };
  auto update = [&](const char* section, const char* slug, const ObjectId& nonce,
                    const char* text) -> std::function<Status()> {
    return [=, &cms] { return cms.UpdateText(section, slug, nonce, text, kKey).status(); };
  };
  auto upload = [&](const std::function<void(Node*, Photo*)>& edit) -> std::function<Status()> {
    return [&cms, edit] {
      Node node{.section = "photos", .slug = "new"};
      Photo photo = Picture("new");
      edit(&node, &photo);
      return cms.UploadPhoto(node, photo, kKey).status();
    };
  };
  auto replace = [&](const char* slug, const ObjectId& nonce,
                     const char* filename) -> std::function<Status()> {
    return [=, &cms] {
      Photo photo = Picture("second");
      photo.filename = filename;
      return cms.ReplacePhoto("photos", slug, nonce, photo, kKey).status();
    };
  };
  using Tags = std::vector<std::string>;
  ExpectKeyStandsForOne(
      &world_,
      {{"create",
        create([](Node*) {}),
        {create([](Node* n) { n->section = "x"; }), create([](Node* n) { n->slug = "x"; }),
         create([](Node* n) { n->type = "basic-page"; }), create([](Node* n) { n->title = "x"; }),
         create([](Node* n) { n->author.id = "x"; }), create([](Node* n) { n->author.name = "x"; }),
         create([](Node* n) { n->tags = {}; }), create([](Node* n) { n->published = Date{2}; }),
         create([](Node* n) { n->published = std::nullopt; }),
         create([](Node* n) { n->detail = Doc("text", "y", "publish_on", Date{5}); })}},
       {"update",
        update("docs", "d", page, "a"),
        {update("x", "d", page, "a"), update("docs", "x", page, "a"),
         update("docs", "d", shown, "a"), update("docs", "d", page, "b")}},
       {"add tags",
        [&] { return cms.AddTags("docs", "d", {"a"}, kKey); },
        {[&] { return cms.AddTags("blog", "d", {"a"}, kKey); },
         [&] { return cms.AddTags("docs", "e", {"a"}, kKey); },
         [&] {
           return cms.AddTags("docs", "d", Tags{"a", "b"}, kKey);
         }}},
       {"remove tags",
        [&] { return cms.RemoveTags("docs", "d", {"a"}, kKey); },
        {[&] { return cms.RemoveTags("docs", "e", {"a"}, kKey); },
         [&] { return cms.RemoveTags("docs", "d", {"b"}, kKey); }}},
       {"publish",
        [&] { return cms.Publish("docs", "d", Date{1}, kKey); },
        {[&] { return cms.Publish("docs", "e", Date{1}, kKey); },
         [&] { return cms.Publish("docs", "d", Date{2}, kKey); }}},
       {"unpublish", [&] { return cms.Unpublish("docs", "d", kKey); }, {[&] {
          return cms.Unpublish("docs", "e", kKey);
        }}},
       {"upload",
        upload([](Node*, Photo*) {}),
        {upload([](Node* n, Photo*) { n->slug = "x"; }),
         upload([](Node* n, Photo*) { n->title = "x"; }),
         upload([](Node*, Photo* p) { p->filename = "x"; }),
         upload([](Node*, Photo* p) { p->content_type = "x"; }),
         upload([](Node*, Photo* p) { p->width = 9; }),
         upload([](Node*, Photo* p) { p->height = 9; }),
         upload([](Node*, Photo* p) { p->uploaded_by = "x"; })}},
       {"replace",
        replace("ph", shown, "q.jpg"),
        {replace("x", shown, "q.jpg"), replace("ph", page, "q.jpg"),
         replace("ph", shown, "r.jpg")}}});
}

TEST_P(KeyReuseTest, Comments) {
  for (CommentDesign design : kCommentDesigns) {
    World world(GetParam());
    OpenDiscussion(&world, design);
    const Comments comments = CommentsOf(&world, design);
    const std::string root = *comments.Post("d", {.text = "root"});
    auto post = [&](const char* discussion, const NewComment& comment) -> std::function<Status()> {
      return [=, &comments] { return comments.Post(discussion, comment, kKey).status(); };
    };
    ExpectKeyStandsForOne(
        &world, {{"post",
                  post("d", {{"u", "U"}, "text", root}),
                  {post("e", {{"u", "U"}, "text", root}), post("d", {{"v", "U"}, "text", root}),
                   post("d", {{"u", "V"}, "text", root}), post("d", {{"u", "U"}, "txet", root}),
                   post("d", {{"u", "U"}, "text", ""})}},
                 {"remove",
                  [&] { return comments.Remove("d", root, kKey); },
                  {[&] { return comments.Remove("e", root, kKey); },
                   [&] { return comments.Remove("d", "other", kKey); }}}});
  }
}

TEST_P(KeyReuseTest, Ads) {
  AddThree(&world_);
  const AdNetwork network = NetworkOf(&world_);
  ASSERT_TRUE(network.CreateCampaign(CarCampaign(&world_, 1000)).ok());
  const Date now = world_.clock.Now();
  const Date tomorrow{now.millis + 86'400'000};
  auto add = [&](const char* site, const char* zone, const Ad& ad) -> std::function<Status()> {
    return [=, &network] { return network.AddAd(site, zone, ad, kKey); };
  };
  auto ecpm = [&](const char* zone, const char* campaign, const char* unit,
                  int64_t price) -> std::function<Status()> {
    return [=, &network] { return network.UpdateEcpm("cnn", zone, campaign, unit, price, kKey); };
  };
  auto choose = [&](const char* zone, const char* user, const std::vector<std::string>& words,
                    size_t limit, bool require) -> std::function<Status()> {
    return [=, &network] {
      return network.ChooseAds("cnn", zone, user, words, limit, require, kKey).status();
    };
  };
  auto create = [&](const std::function<void(Campaign*)>& edit) -> std::function<Status()> {
    return [=, this, &network] {
      Campaign campaign = CarCampaign(&world_, 5);
      campaign.id = "new:c";
      edit(&campaign);
      return network.CreateCampaign(campaign, kKey);
    };
  };
  auto count = [&](const char* zone, const char* unit, Date time,
                   const AdCounts& counts) -> std::function<Status()> {
    return [=, &network] { return network.Count("audi:c1", zone, unit, time, counts, kKey); };
  };
  ExpectKeyStandsForOne(
      &world_,
      {{"add",
        add("s", "z", {"a:b", "1", 5, {"k"}, FrequencyCap{}}),
        {add("t", "z", {"a:b", "1", 5, {"k"}, FrequencyCap{}}),
         add("s", "y", {"a:b", "1", 5, {"k"}, FrequencyCap{}}),
         add("s", "z", {"a:c", "1", 5, {"k"}, FrequencyCap{}}),
         add("s", "z", {"a:b", "2", 5, {"k"}, FrequencyCap{}}),
         add("s", "z", {"a:b", "1", 6, {"k"}, FrequencyCap{}}),
         add("s", "z", {"a:b", "1", 5, {}, FrequencyCap{}}),
         add("s", "z", {"a:b", "1", 5, {"k"}, FrequencyCap{2}}),
         add("s", "z", {"a:b", "1", 5, {"k"}, {}})}},
       {"ecpm",
        ecpm("banner", "bmw:c9", "12", 9),
        {ecpm("side", "bmw:c9", "12", 9), ecpm("banner", "bmw:c8", "12", 9),
         ecpm("banner", "bmw:c9", "13", 9), ecpm("banner", "bmw:c9", "12", 8)}},
       {"choose by keywords",
        choose("banner", "u", {"car"}, 2, false),
        {choose("side", "u", {"car"}, 2, false), choose("banner", "v", {"car"}, 2, false),
         choose("banner", "u", {}, 2, false), choose("banner", "u", {"car"}, 1, false),
         choose("banner", "u", {"car"}, 2, true)}},
       {"choose",
        [&] { return network.ChooseAd("cnn", "banner", "u", kKey).status(); },
        {[&] { return network.ChooseAd("cnn", "banner", "v", kKey).status(); },
         [&] { return network.ChooseAd("cnn", "side", "u", kKey).status(); }}},
       {"create",
        create([](Campaign*) {}),
        {create([](Campaign* c) { c->id = "x:y"; }), create([](Campaign* c) { c->customer = "x"; }),
         create([](Campaign* c) { c->title = "x"; }),
         create([](Campaign* c) { c->begin = Date{1}; }),
         create([](Campaign* c) { c->end.millis += 1; }),
         create([](Campaign* c) { c->daily_budget = 6; }),
         create([](Campaign* c) { c->zones["side"].value = 41; })}},
       {"charge",
        [&] { return network.Charge("audi:c1", now, 5, kKey); },
        {[&] { return network.Charge("audi:c1", now, 6, kKey); },
         [&] { return network.Charge("audi:c1", tomorrow, 5, kKey); }}},
       {"count",
        count("side", "7", now, {1, 0, 0}),
        {count("top", "7", now, {1, 0, 0}), count("side", "8", now, {1, 0, 0}),
         count("side", "7", tomorrow, {1, 0, 0}), count("side", "7", now, {1, 0, 1})}},
       {"deactivate", [&] { return network.DeactivateCampaign("audi:c1", kKey); }, {[&] {
          return network.DeactivateCampaign("x:y", kKey);
        }}},
       {"activate", [&] { return network.ActivateCampaign("audi:c1", kKey); }, {[&] {
          return network.ActivateCampaign("x:y", kKey);
        }}}});
}

TEST_P(KeyReuseTest, Social) {
  const People people = AddPeople(&world_);
  const Social social = SocialOf(&world_);
  const ObjectId old = Send(&world_, people.max, {"10gen"});
  const ObjectId older = Send(&world_, people.max, {"10gen"});
  auto post = [&](const std::function<void(NewPost*)>& edit) -> std::function<Status()> {
    return [=, &social] {
      NewPost made{.author = people.max, .circles = {"10gen"}};
      edit(&made);
      return social.Post(made, kKey).status();
    };
  };
  ExpectKeyStandsForOne(
      &world_,
      {{"add user",
        [&] { return social.AddUser("K", Doc("age", 1), kKey).status(); },
        {[&] { return social.AddUser("L", Doc("age", 1), kKey).status(); },
         [&] { return social.AddUser("K", Doc("age", 2), kKey).status(); }}},
       {"circle",
        [&] { return social.Circle(people.zoe, people.max, "c", kKey); },
        {[&] { return social.Circle(people.fay, people.max, "c", kKey); },
         [&] { return social.Circle(people.zoe, people.fay, "c", kKey); },
         [&] { return social.Circle(people.zoe, people.max, "d", kKey); }}},
       {"uncircle",
        [&] { return social.Uncircle(people.zoe, people.max, "c", kKey); },
        {[&] { return social.Uncircle(people.zoe, people.fay, "c", kKey); },
         [&] { return social.Uncircle(people.zoe, people.max, "d", kKey); }}},
       {"post",
        post([](NewPost*) {}),
        {post([&](NewPost* p) { p->author = people.fay; }),
         post([&](NewPost* p) { p->to = people.fay; }), post([](NewPost* p) { p->circles = {}; }),
         post([](NewPost* p) { p->type = "photo"; }),
         post([](NewPost* p) { p->detail = Doc("a", 1); })}},
       {"delete",
        [&] { return social.DeletePost(people.max, old, kKey); },
        {[&] { return social.DeletePost(people.max, older, kKey); },
         [&] { return social.DeletePost(people.fay, old, kKey); }}},
       {"block",
        [&] { return social.Block(people.zoe, people.max, kKey); },
        {[&] { return social.Block(people.zoe, people.fay, kKey); },
         [&] { return social.Block(people.max, people.zoe, kKey); }}},
       {"unblock", [&] { return social.Unblock(people.zoe, people.max, kKey); }, {[&] {
          return social.Unblock(people.zoe, people.fay, kKey);
        }}}});
}

QUIRE_IN_BOTH_PLACES(KeyReuseTest);

}  // namespace
}  // namespace quire::patterns
