// SPDX-License-Identifier: Apache-2.0
//
// Opens a folder, stores three people, asks who is over 40, and changes one of them.
#include <iostream>

#include "quire/quire.h"

using quire::bson::Document;

// A document from JSON that is known to be right.
Document Json(const char* text) { return *Document::FromJson(text); }

int main(int argc, char** argv) {
  auto client = argc > 1 ? quire::Open(argv[1]) : quire::OpenInMemory();
  if (!client.ok()) {
    std::cerr << client.status().ToString() << "\n";
    return 1;
  }
  quire::Collection people = client->GetDatabase("app").GetCollection("people");
  auto inserted = people.InsertMany({Json(R"({"_id": 1, "name": "Ada", "age": 36})"),
                                     Json(R"({"_id": 2, "name": "Grace", "age": 45})"),
                                     Json(R"({"_id": 3, "name": "Edsger", "age": 72})")});
  if (!inserted.ok()) {
    std::cerr << inserted.status().ToString() << "\n";
    return 1;
  }
  Document older = Json(R"({"age": {"$gt": 40}})");
  auto cursor = people.Find(older, {.sort = Json(R"({"name": 1})")});
  if (!cursor.ok()) {
    std::cerr << cursor.status().ToString() << "\n";
    return 1;
  }
  while (cursor->Next()) {
    std::cout << quire::bson::ToJson(cursor->current()) << "\n";
  }
  Document ada = Json(R"({"_id": 1})");
  Document birthday = Json(R"({"$inc": {"age": 1}})");
  auto after = people.FindOneAndUpdate(ada, birthday, {.return_new = true});
  if (after.ok() && *after) {
    std::cout << quire::bson::ToJson(**after) << "\n";
  }
  return cursor->status().ok() && after.ok() ? 0 : 1;
}
