// SPDX-License-Identifier: Apache-2.0
//
// drivers_patterns URI COMMAND...: the application systems for driver tests, which read what they
// write.
//   put DATABASE NAME       stores standard input in GridFS
//   get DATABASE NAME       writes the newest file of that name to standard output
//   range DATABASE NAME START END
//   fill DATABASE           a few documents of several systems
//   fill_live DATABASE      those of live_systems.h
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>

#include "patterns/live_systems.h"
#include "quire/patterns/attributes.h"
#include "quire/patterns/buckets.h"
#include "quire/patterns/catalog.h"
#include "quire/patterns/categories.h"
#include "quire/patterns/cms.h"
#include "quire/patterns/comments.h"
#include "quire/patterns/contacts.h"
#include "quire/patterns/event_log.h"
#include "quire/patterns/gridfs.h"
#include "quire/patterns/inventory.h"
#include "quire/patterns/migrations.h"
#include "quire/patterns/nodes.h"
#include "quire/patterns/orders.h"
#include "quire/patterns/reports.h"
#include "quire/patterns/rollups.h"
#include "quire/patterns/transfers.h"

namespace {

using quire::Client;
using quire::Status;
namespace patterns = quire::patterns;

class Bank : public patterns::PaymentGateway {
 public:
  Charged Charge(const std::string&, int64_t) override { return Charged::kCharged; }
  Cancelled Cancel(const std::string&) override { return Cancelled::kAlreadyCharged; }
};

int Fail(const Status& status) {
  std::cerr << status.ToString() << "\n";
  return 1;
}

int Put(const patterns::GridFs& files, const std::string& name) {
  const std::string bytes((std::istreambuf_iterator<char>(std::cin)),
                          std::istreambuf_iterator<char>());
  auto id = files.Upload(name, bytes);
  return id.ok() ? 0 : Fail(id.status());
}

int Get(const patterns::GridFs& files, const std::string& name, const patterns::ByteRange& range) {
  auto file = files.GetByName(name);
  if (!file.ok()) {
    return Fail(file.status());
  }
  auto bytes = files.Download(file->id.value(), range);
  if (!bytes.ok()) {
    return Fail(bytes.status());
  }
  std::cout << *bytes;
  return 0;
}

// The first of the calls that failed.
Status First(std::initializer_list<Status> calls) {
  for (const Status& one : calls) {
    if (!one.ok()) {
      return one;
    }
  }
  return Status::Ok();
}

Status FillToolkit(const Client& client, const std::string& database) {
  using quire::bson::Document;
  Status status;
  for (auto model : {patterns::ContactModel::kEmbedded, patterns::ContactModel::kReferenced}) {
    const std::string id = model == patterns::ContactModel::kEmbedded ? "3" : "4";
    patterns::Contacts book(client, database, {.model = model});
    status = First({status, book.CreateIndexes(), book.Create(id, "Jenny", "01209"),
                    book.AddNumber(id, "867-5309"), book.AddNumber(id, "555-1212")});
  }
  patterns::Nodes nodes(client, database);
  nodes.Register("page", {.required = {{"body", quire::bson::Type::kString}}});
  auto node = nodes.Insert(
      *Document::FromJson(R"({"type": "page", "url": "/a", "title": "A", "body": "text"})"));
  patterns::Migrations migrations(client, database);
  migrations.Define("short", {"nodes", *Document::FromJson(R"({"short": {"$exists": false}})"),
                              *Document::FromJson(R"({"$set": {"short": "none"}})")});
  auto changed = migrations.Step("short");
  auto none = migrations.Step("short");
  int next = 0;
  for (auto encoding : {patterns::AttributeEncoding::kDocument, patterns::AttributeEncoding::kPairs,
                        patterns::AttributeEncoding::kKeyValue}) {
    patterns::AttributeCatalog products(client, database + "_attributes", encoding, {"Seek Time"});
    status =
        First({status,
               products.Put("disk" + std::to_string(next++),
                            {{"Seek Time", quire::bson::OwnedValue(quire::bson::Value("5ms"))}})});
  }
  return First({status, node.status(), changed.status(), none.status()});
}

Status FillMoney(const Client& client, const std::string& database) {
  patterns::Transfers bank(client, database);
  Status status = First({bank.OpenAccount("a", 100), bank.OpenAccount("b", 0)});
  auto moved = bank.Transfer(60, "a", "b", "invoice");
  auto refused = bank.Transfer(60, "a", "b", "too much");
  patterns::Orders orders(client, database);
  status = First({status, orders.Create("o"), orders.Add("o", "x", 11022, 3)});
  return First(
      {status, moved.status(), refused.ok() ? Status(1, "a refusal was expected") : Status::Ok()});
}

Status FillEvents(const Client& client, const std::string& database) {
  std::stringstream lines(
      R"(127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /apache_pb.gif HTTP/1.0" 200 2326 )"
      R"line("http://www.example.com/start.html" "Mozilla/4.08 [en] (Win98; I ;Nav)")line"
      "\n");
  patterns::EventLog log(client, database, {.horizon = std::chrono::hours(24 * 365 * 100)});
  auto imported = log.Import("access.log", &lines, {});
  const quire::bson::Date time = patterns::ToDate({2000, 10, 10, 23, 59, 30});
  patterns::Reports reports(client, database);
  Status counted = reports.LogHit({time, "site-1", "/apache_pb.gif", 1});
  patterns::Rollups rollups(client, database + "_rollups",
                            {.delay = std::chrono::milliseconds(-1000)});
  Status recorded = First({rollups.CreateIndexes(), rollups.Record({"rick", time, 95})});
  auto run = rollups.Run();
  auto ids = rollups.ReserveIds("s", 50);
  return First({imported.status(), counted, recorded, run.status(), ids.status()});
}

Status Fill(const Client& client, const std::string& database) {
  using quire::bson::Document;
  patterns::Catalog catalog(client, database);
  Status status = catalog.CreateIndexes();
  auto rev = catalog.Put({.sku = "s1",
                          .type = patterns::kAlbum,
                          .title = "A Love Supreme",
                          .list = 1200,
                          .retail = 1100,
                          .details = *Document::FromJson(R"({"genre": ["jazz"]})")});
  patterns::Categories tree(client, database);
  auto root = tree.Add("Ragtime", "ragtime");
  auto bop = tree.Add("Bop", "bop", *root);
  Bank bank;
  patterns::Inventory shop(client, database, {.gateway = &bank});
  (void)shop.Restock("s1", 10);
  auto cart = shop.NewCart();
  (void)shop.AddItem(*cart, {.sku = "s1", .quantity = 3, .price = 1100});
  Status paid = shop.Checkout(*cart);
  patterns::Cms cms(client, database);
  auto node = cms.CreateNode({.section = "docs",
                              .slug = "start",
                              .type = "basic-page",
                              .title = "Start",
                              .detail = *Document::FromJson(R"({"text": "hello"})")});
  patterns::Comments comments(client, database);
  (void)comments.CreateDiscussion("d");
  auto slug = comments.Post("d", {.author = {"a", "Ann"}, .text = "First!"});
  return First({status, rev.status(), bop.status(), paid, node.status(), slug.status(),
                FillToolkit(client, database), FillMoney(client, database),
                FillEvents(client, database)});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::cerr
        << "usage: drivers_patterns URI put|get|range|fill|fill_live DATABASE [NAME [START END]]\n";
    return 2;
  }
  auto client = quire::Connect(argv[1]);
  if (!client.ok()) {
    return Fail(client.status());
  }
  const std::string command = argv[2];
  const std::string database = argv[3];
  const patterns::GridFs files(*client, database);
  if (command == "fill") {
    Status status = Fill(*client, database);
    return status.ok() ? 0 : Fail(status);
  }
  if (command == "fill_live") {
    Status status = FillLiveSystems(*client, database);
    return status.ok() ? 0 : Fail(status);
  }
  if (command == "put" && argc == 5) {
    return Put(files, argv[4]);
  }
  if (command == "get" && argc == 5) {
    return Get(files, argv[4], {});
  }
  if (command == "range" && argc == 7) {
    return Get(files, argv[4], {atoll(argv[5]), atoll(argv[6])});
  }
  return 2;
}
