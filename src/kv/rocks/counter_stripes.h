// SPDX-License-Identifier: Apache-2.0
//
// Counters that concurrent commits change without waiting for each other. A counter is spread over
// stripes, each stored as an entry of its own (<counter> <stripe>) with its absolute value; a
// commit takes a stripe for itself, writes its new values with its batch and gives it back. Not a
// merge operator: RocksDB applies batches with merges to the memtable one after the other, plain
// ones in parallel.
#pragma once

#include <rocksdb/db.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <semaphore>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "kv/rocks/batch_builder.h"
#include "kv/rocks/sections.h"
#include "kv/write_set.h"
#include "quire/status.h"

namespace quire::kv {

// The stored value of a stripe.
Result<int64_t> DecodeStripe(std::string_view bytes);

// Safe for concurrent use.
class CounterStripes {
 public:
  using Addition = WriteSet::Addition;

 private:
  using Values = std::unordered_map<std::string, int64_t>;

 public:
  // One stripe, taken until destroyed; waits while all are taken. REQUIRES: Finish was called after
  // an Apply, before the stripe is given back.
  class Lease {
   public:
    explicit Lease(CounterStripes& stripes);
    ~Lease();
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;

    // Puts the stripe's values after the additions into the batch.
    Status Apply(rocksdb::DB* db, const Sections& sections, const std::vector<Addition>& additions,
                 BatchBuilder* batch);
    // Tells whether the batch was written.
    void Finish(bool written);

   private:
    CounterStripes& stripes_;
    size_t index_ = 0;
    struct Next {
      Values::value_type* stored;
      int64_t value;
    };
    std::vector<Next> next_;
  };

  CounterStripes() = default;
  CounterStripes(const CounterStripes&) = delete;
  CounterStripes& operator=(const CounterStripes&) = delete;

  // Forgets the values read so far: entries of counters were deleted. Waits for every lease.
  void Forget();

 private:
  static constexpr size_t kStripes = 64;

  // The stripe's counter with its value: remembered, or read from the database. Valid until the
  // stripe forgets.
  Result<Values::value_type*> Current(rocksdb::DB* db, const Sections& sections, size_t stripe,
                                      const std::string& counter);

  Mutex forget_mutex_;  // two that wait for every stripe would wait for each other
  std::counting_semaphore<kStripes> free_{kStripes};
  std::atomic<uint64_t> taken_{0};       // a bit per stripe
  std::array<Values, kStripes> values_;  // each guarded by its bit
};

}  // namespace quire::kv
