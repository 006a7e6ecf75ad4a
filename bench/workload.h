// SPDX-License-Identifier: Apache-2.0
//
// The workloads: one row each. A connection runs a row's operation over and over.
#pragma once

#include <mongoc/mongoc.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "dataset.h"

namespace quire::bench {

constexpr const char* kDatabase = "quire_bench";

struct ClientFree {
  void operator()(mongoc_client_t* client) const { mongoc_client_destroy(client); }
};
struct CollectionFree {
  void operator()(mongoc_collection_t* collection) const { mongoc_collection_destroy(collection); }
};
using Client = std::unique_ptr<mongoc_client_t, ClientFree>;
using Collection = std::unique_ptr<mongoc_collection_t, CollectionFree>;

// What all connections to one server share.
struct Shared {
  explicit Shared(int64_t documents);

  const int64_t size;            // documents of each data set
  std::vector<Bson> events;      // a sample to insert
  const Zipfian zipfian;         // over the YCSB records
  std::atomic<int64_t> next{0};  // numbers inserted documents
  std::atomic<int64_t> records;  // YCSB records there are, or are being inserted
};

// One connection of a running workload. Used by one thread.
struct Connection {
  Shared& shared;
  Client client;
  Collection collection;  // the row's
  std::mt19937_64 random;
  bson_error_t error{};  // of the last operation that failed
};

struct Workload {
  const char* name;
  const char* help;
  const char* collection;  // where it works
  // Before the first operation: indexes to create on an empty collection, or null when it works on
  // the loaded data.
  const char* indexes;
  bool one_connection;  // makes sense on one connection only
  // Does one operation; how many documents it stands for (1 for most), or -1 and connection.error.
  int64_t (*run)(Connection& connection);
  // Fills the empty collection; null: it stays empty.
  bool (*fill)(mongoc_client_t* client, bson_error_t* error) = nullptr;
  // One operation reads every event once: its time is also shown as that of a document, as a
  // multiple of what RocksDB's iterator takes to pass one.
  bool reads_all = false;
};

// In the order they are run.
std::vector<Workload> Workloads();

// Runs a command given as extended JSON on the database; false and *error when it fails.
bool RunJson(mongoc_client_t* client, const char* database, const std::string& json,
             bson_error_t* error);
// Shards the empty collection by its hashed _id when the server is a router.
bool SpreadOverShards(mongoc_client_t* client, const std::string& collection, bson_error_t* error);
// Fills the collections `events` and `ycsb` and creates the events' indexes.
bool LoadData(mongoc_client_t* client, const Shared& shared, bson_error_t* error);

}  // namespace quire::bench
