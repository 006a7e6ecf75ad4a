// SPDX-License-Identifier: Apache-2.0
//
// The threads that write until the server is gone, telling the models what they sent and what was
// acknowledged.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "connection.h"
#include "model.h"

namespace quire::crash {

constexpr const char* kDatabase = "crash";
constexpr const char* kDocuments = "documents";

// Bytes of the document `id` at `version` as every writer makes them.
Bson MakeDocument(int writer, const std::string& id, int64_t version);
// The version of a document read back, or a description of what is wrong with it.
struct ReadBack {
  int writer = -1;
  std::string id;
  int64_t version = 0;
  std::string problem;
};
ReadBack ReadDocument(const bson_t* document);

// One writer of documents: inserts, batches, updates, deletes and transactions at random. Its model
// is read by others only while it does not run.
class DocumentWriter {
 public:
  DocumentWriter(int number, uint64_t seed) : number_(number), random_(seed) {}

  // Writes until the server stops answering. Errors the server should not give go to problems().
  void Run(const std::string& uri);

  DocumentModel& model() { return model_; }
  std::vector<std::string>& problems() { return problems_; }
  int64_t acknowledged() const { return acknowledged_; }

 private:
  std::string NewId();
  std::string AnyPresent();
  Outcome Finish(const std::vector<std::string>& ids, const std::vector<int64_t>& versions,
                 Outcome outcome, const Connection& connection);

  Outcome InsertOne(Connection& connection);
  Outcome InsertMany(Connection& connection);
  Outcome UpdateOne(Connection& connection);
  Outcome DeleteOne(Connection& connection);
  Outcome Transaction(Connection& connection);

  const int number_;
  std::mt19937_64 random_;
  DocumentModel model_;
  int64_t next_id_ = 0;
  int64_t acknowledged_ = 0;
  std::vector<std::string> present_;
  std::vector<std::string> problems_;
};

// Creates, renames and drops collections and indexes at random.
class CatalogWriter {
 public:
  explicit CatalogWriter(uint64_t seed) : random_(seed) {}

  void Run(const std::string& uri);

  IndexModel& indexes() { return indexes_; }
  CatalogModel& collections() { return collections_; }
  std::vector<std::string>& problems() { return problems_; }

 private:
  Outcome ChangeIndex(Connection& connection);
  Outcome ChangeCollection(Connection& connection);

  std::mt19937_64 random_;
  IndexModel indexes_;
  CatalogModel collections_;
  int64_t next_id_ = 0;
  std::vector<std::string> problems_;
};

}  // namespace quire::crash
