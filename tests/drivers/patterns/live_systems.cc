// SPDX-License-Identifier: Apache-2.0
#include "patterns/live_systems.h"

#include <initializer_list>

#include "base/try.h"
#include "quire/patterns/ads.h"
#include "quire/patterns/comments.h"
#include "quire/patterns/game.h"
#include "quire/patterns/inbox.h"
#include "quire/patterns/perf.h"
#include "quire/patterns/social.h"

namespace {

using quire::Client;
using quire::Result;
using quire::Status;
using quire::bson::Date;
using quire::bson::Document;
namespace patterns = quire::patterns;

constexpr Date kDay{1'369'221'223'384};  // 2013-05-22

Status First(std::initializer_list<Status> calls) {
  for (const Status& one : calls) {
    RETURN_IF_ERROR(one);
  }
  return Status::Ok();
}

Status FillThread(const Client& client, const std::string& database) {
  patterns::Comments tree(client, database, {.design = patterns::CommentDesign::kTree});
  RETURN_IF_ERROR(tree.CreateDiscussion("thread"));
  ASSIGN_OR_RETURN(std::string root, tree.Post("thread", {.author = {"a", "Ann"}, .text = "one"}));
  return tree.Post("thread", {.author = {"b", "Bob"}, .text = "two", .parent = root}).status();
}

Status FillAds(const Client& client, const std::string& database) {
  patterns::AdNetwork ads(client, database);
  RETURN_IF_ERROR(
      First({ads.CreateIndexes(), ads.AddAd("cnn", "banner", {"bmw:c9", "12", 200, {"car"}}),
             ads.AddAd("cnn", "banner", {"mercedes:c1", "23a", 250})}));
  ASSIGN_OR_RETURN(auto shown, ads.ChooseAd("cnn", "banner", "cookie"));
  patterns::Campaign campaign{
      .id = "audi:c1", .begin = kDay, .end = Date{4'000'000'000'000}, .daily_budget = 1000};
  campaign.zones["top"] = {.site = "cnn", .zone = "top", .value = 300, .units = {"7"}};
  return First({ads.Click("cookie", shown.at(0).impression), ads.CreateCampaign(campaign),
                ads.Charge("audi:c1", kDay, 600, "k"),
                ads.Count("audi:c1", "top", "7", kDay, {.impressions = 3})});
}

Status FillSocial(const Client& client, const std::string& database) {
  patterns::Social social(client, database);
  RETURN_IF_ERROR(social.CreateIndexes());
  ASSIGN_OR_RETURN(std::string max, social.AddUser("Max"));
  ASSIGN_OR_RETURN(std::string jared, social.AddUser("Jared"));
  RETURN_IF_ERROR(social.Circle(max, jared, "10gen"));
  ASSIGN_OR_RETURN(auto post, social.Post({.author = max,
                                           .detail = *Document::FromJson(R"({"text": "hi"})"),
                                           .circles = {"10gen"}}));
  for (const char* id : {"1", "2", "3", "4"}) {
    RETURN_IF_ERROR(social.AddComment(jared, post, id, id));
  }
  return Status::Ok();
}

Status FillInbox(const Client& client, const std::string& database) {
  int design_number = 0;
  for (auto design : {patterns::InboxDesign::kFanOutOnRead, patterns::InboxDesign::kFanOutOnWrite,
                      patterns::InboxDesign::kBuckets}) {
    patterns::Inbox inbox(client, database + "_inbox" + std::to_string(++design_number),
                          {.design = design});
    RETURN_IF_ERROR(First({inbox.CreateIndexes(), inbox.AddUser("mike"), inbox.AddUser("billie")}));
    ASSIGN_OR_RETURN(auto id, inbox.Send("john", {"mike", "billie", "mike"}, "hello"));
    RETURN_IF_ERROR(inbox.MarkRead("mike", id));
  }
  return Status::Ok();
}

Status FillGame(const Client& client, const std::string& database) {
  patterns::Game game(client, database);
  RETURN_IF_ERROR(First(
      {game.CreateIndexes(),
       game.CreateTemplate({.id = "scroll", .name = "scroll of light", .weight = 1, .price = 160}),
       game.CreateLocation({.id = "shop", .shopkeeper = "keeper"}),
       game.CreateCharacter({.id = "tim", .name = "Tim", .strength = 9, .location = "shop"}),
       game.CreateCharacter({.id = "keeper", .name = "Keeper", .location = "shop"}),
       game.SpawnGold("tim", 523)}));
  ASSIGN_OR_RETURN(auto scroll, game.SpawnItem({patterns::Holder::kLocation, "shop"}, "scroll", 1));
  return game.Buy("tim", scroll);
}

Status FillPerf(const Client& client, const std::string& database) {
  patterns::Perf perf(
      client, database,
      {.horizon = std::chrono::hours(24 * 365 * 100), .delay = std::chrono::milliseconds(-1000)});
  RETURN_IF_ERROR(perf.CreateIndexes());
  RETURN_IF_ERROR(
      perf.InsertMany({{"sardar", kDay, "IFU", 0.5}, {"sardar", kDay, "IFU", 1.5}}).status());
  return perf.Rollup().status();
}

}  // namespace

Status FillLiveSystems(const Client& client, const std::string& database) {
  return First({FillThread(client, database), FillAds(client, database),
                FillSocial(client, database), FillInbox(client, database),
                FillGame(client, database), FillPerf(client, database)});
}
