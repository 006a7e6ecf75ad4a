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
#include <iostream>
#include <iterator>
#include <string>

#include "patterns/live_systems.h"
#include "quire/patterns/catalog.h"
#include "quire/patterns/categories.h"
#include "quire/patterns/cms.h"
#include "quire/patterns/comments.h"
#include "quire/patterns/gridfs.h"
#include "quire/patterns/inventory.h"

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
  for (const Status& one :
       {status, rev.status(), bop.status(), paid, node.status(), slug.status()}) {
    if (!one.ok()) {
      return one;
    }
  }
  return Status::Ok();
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
