// SPDX-License-Identifier: Apache-2.0
//
// The benchmark's data: web server events of about 400 bytes and YCSB records of 10 x 100 bytes,
// the same on every run.
#pragma once

#include <mongoc/mongoc.h>

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace quire::bench {

struct BsonFree {
  void operator()(bson_t* document) const { bson_destroy(document); }
};
using Bson = std::unique_ptr<bson_t, BsonFree>;

// A document from extended JSON. REQUIRES: it is valid.
Bson FromJson(const std::string& json);

constexpr int kHosts = 200;
constexpr int kPaths = 200;
constexpr int64_t kEventStepMs = 2500;                // between two events
constexpr int64_t kFirstEventMs = 1'700'000'000'000;  // time of event 0

std::string HostName(int host);
std::string PathName(int path);

// Event number `n`, without _id.
Bson MakeEvent(int64_t n);
// The _id of a YCSB record, and one of its 10 fields' values.
std::string YcsbKey(int64_t n);
std::string YcsbValue(std::mt19937_64& random);
// A YCSB record with its _id.
Bson MakeYcsbRecord(int64_t n);

// YCSB's zipfian choice of one of `items`.
class Zipfian {
 public:
  explicit Zipfian(int64_t items);
  // Scrambled over the items.
  int64_t Next(std::mt19937_64& random) const;
  // Small ones are chosen most.
  int64_t NextRank(std::mt19937_64& random) const;

 private:
  int64_t items_;
  double zeta_;
  double eta_;
  double alpha_;
};

}  // namespace quire::bench
