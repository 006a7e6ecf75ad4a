// SPDX-License-Identifier: Apache-2.0
#include "checker.h"

#include <cstring>
#include <functional>

namespace quire::crash {
namespace {

class Checker {
 public:
  Checker(const std::string& uri, std::deque<DocumentWriter>& writers, CatalogWriter& catalog)
      : connection_(uri), writers_(writers), catalog_(catalog) {}

  std::vector<std::string> Run() {
    CheckDocuments();
    CheckIndexes();
    CheckCount();
    CheckValid(kDocuments);
    CheckCollections();
    return std::move(problems_);
  }

 private:
  void ForEach(const char* collection, const bson_t* options,
               const std::function<void(const bson_t*)>& visit) {
    mongoc_collection_t* c =
        mongoc_client_get_collection(connection_.client(), kDatabase, collection);
    bson_t all = BSON_INITIALIZER;
    mongoc_cursor_t* cursor = mongoc_collection_find_with_opts(c, &all, options, nullptr);
    const bson_t* document;
    while (mongoc_cursor_next(cursor, &document)) {
      visit(document);
    }
    bson_error_t error;
    if (mongoc_cursor_error(cursor, &error)) {
      problems_.push_back(std::string("reading ") + collection + ": " + error.message);
    }
    mongoc_cursor_destroy(cursor);
    bson_destroy(&all);
    mongoc_collection_destroy(c);
  }

  void CheckDocuments() {
    std::vector<std::map<std::string, int64_t>> found(writers_.size());
    ForEach(kDocuments, nullptr, [&](const bson_t* document) {
      ReadBack read = ReadDocument(document);
      ids_.insert(read.id);
      if (!read.problem.empty()) {
        problems_.push_back(read.problem);
      } else if (read.writer < 0 || static_cast<size_t>(read.writer) >= writers_.size()) {
        problems_.push_back(read.id + " has no writer");
      } else if (!found[static_cast<size_t>(read.writer)].emplace(read.id, read.version).second) {
        problems_.push_back(read.id + " is there twice");
      }
    });
    for (size_t i = 0; i < writers_.size(); ++i) {
      for (std::string& problem : writers_[i].model().Check(found[i])) {
        problems_.push_back(std::move(problem));
      }
      writers_[i].model().Settle(found[i]);
    }
  }

  // Each index by itself leads to the same documents.
  void CheckIndexes() {
    std::set<std::string> names;
    bson_t reply;
    Outcome outcome =
        connection_.Run(kDatabase, std::string(R"({"listIndexes":")") + kDocuments + "\"}", &reply);
    if (outcome == Outcome::kRefused && connection_.error_code() != 26) {
      problems_.push_back("listIndexes: " + connection_.error());
    }
    bson_iter_t it;
    bson_iter_t batch;
    if (outcome == Outcome::kAcknowledged && bson_iter_init(&it, &reply) &&
        bson_iter_find_descendant(&it, "cursor.firstBatch", &batch)) {
      bson_iter_t index;
      for (bson_iter_recurse(&batch, &index); bson_iter_next(&index);) {
        bson_iter_t field;
        if (bson_iter_recurse(&index, &field) && bson_iter_find(&field, "name")) {
          names.insert(bson_iter_utf8(&field, nullptr));
        }
      }
    }
    bson_destroy(&reply);
    for (const std::string& name : names) {
      std::multiset<std::string> ids;
      Bson options = FromJson(R"({"hint":")" + name + R"(","projection":{"_id":1}})");
      ForEach(kDocuments, options.get(), [&](const bson_t* document) {
        bson_iter_t id;
        if (bson_iter_init_find(&id, document, "_id")) {
          ids.insert(bson_iter_utf8(&id, nullptr));
        }
      });
      if (!std::equal(ids.begin(), ids.end(), ids_.begin(), ids_.end())) {
        problems_.push_back("the index " + name + " leads to " + std::to_string(ids.size()) +
                            " documents of " + std::to_string(ids_.size()));
      }
    }
    names.erase("_id_");
    if (!catalog_.indexes().Settle(names)) {
      std::string list;
      for (const std::string& name : names) {
        list += " " + name;
      }
      problems_.push_back("these are not the indexes that were acknowledged:" + list);
    }
  }

  void CheckCount() {
    bson_t reply;
    connection_.Run(kDatabase, std::string(R"({"count":")") + kDocuments + "\"}", &reply);
    bson_iter_t it;
    if (!bson_iter_init_find(&it, &reply, "n") ||
        bson_iter_as_int64(&it) != static_cast<int64_t>(ids_.size())) {
      char* json = bson_as_relaxed_extended_json(&reply, nullptr);
      problems_.push_back("count of " + std::to_string(ids_.size()) + " documents: " + json);
      bson_free(json);
    }
    bson_destroy(&reply);
  }

  void CheckValid(const std::string& collection) {
    bson_t reply;
    Outcome outcome =
        connection_.Run(kDatabase, R"({"validate":")" + collection + R"(","full":true})", &reply);
    bson_iter_t it;
    const bool missing = outcome == Outcome::kRefused && connection_.error_code() == 26;
    if (!missing && (!bson_iter_init_find(&it, &reply, "valid") || !bson_iter_as_bool(&it))) {
      char* json = bson_as_relaxed_extended_json(&reply, nullptr);
      problems_.push_back("validate of " + collection + ": " + json);
      bson_free(json);
    }
    bson_destroy(&reply);
  }

  void CheckCollections() {
    char** names = nullptr;
    bson_error_t error{};
    mongoc_database_t* database = mongoc_client_get_database(connection_.client(), kDatabase);
    names = mongoc_database_get_collection_names_with_opts(database, nullptr, &error);
    mongoc_database_destroy(database);
    if (!names) {
      problems_.push_back(std::string("listCollections: ") + error.message);
      return;
    }
    std::map<std::string, std::set<int64_t>> found;
    for (char** name = names; *name; ++name) {
      if (strcmp(*name, kDocuments) == 0) {
        continue;
      }
      std::set<int64_t>& ids = found[*name];
      ForEach(*name, nullptr, [&](const bson_t* document) {
        bson_iter_t id;
        if (bson_iter_init_find(&id, document, "_id")) {
          ids.insert(bson_iter_as_int64(&id));
        }
      });
      CheckValid(*name);
    }
    bson_strfreev(names);
    if (!catalog_.collections().Settle(found)) {
      std::string list;
      for (const auto& [name, ids] : found) {
        list += " " + name + "(" + std::to_string(ids.size()) + ")";
      }
      problems_.push_back("these are not the collections that were acknowledged:" + list);
    }
  }

  Connection connection_;
  std::deque<DocumentWriter>& writers_;
  CatalogWriter& catalog_;
  std::multiset<std::string> ids_;
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> CheckAll(const std::string& uri, std::deque<DocumentWriter>& writers,
                                  CatalogWriter& catalog) {
  return Checker(uri, writers, catalog).Run();
}

}  // namespace quire::crash
