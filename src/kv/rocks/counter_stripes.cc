// SPDX-License-Identifier: Apache-2.0
#include "kv/rocks/counter_stripes.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/error_codes.h"
#include "base/try.h"
#include "kv/counter.h"
#include "kv/rocks/rocks_status.h"

namespace quire::kv {
namespace {

// Counters a stripe remembers at most; past that it starts over.
constexpr size_t kRemembered = 1024;

std::string StripeKey(const std::string& counter, size_t stripe) {
  return counter + static_cast<char>(stripe);
}

}  // namespace

Result<int64_t> DecodeStripe(std::string_view bytes) {
  if (bytes.size() != kCounterSize) {
    return Status(kDataCorruptionDetected, "A counter's value is damaged");
  }
  return DecodeCounter(bytes);
}

CounterStripes::Lease::Lease(CounterStripes& stripes) : stripes_(stripes) {
  stripes_.free_.acquire();  // leaves at least one bit clear
  while (true) {
    uint64_t taken = stripes_.taken_.load();
    index_ = static_cast<size_t>(std::countr_one(taken));
    if (index_ < kStripes &&
        stripes_.taken_.compare_exchange_weak(taken, taken | (uint64_t{1} << index_))) {
      return;
    }
  }
}

CounterStripes::Lease::~Lease() {
  stripes_.taken_.fetch_and(~(uint64_t{1} << index_));
  stripes_.free_.release();
}

Status CounterStripes::Lease::Apply(rocksdb::DB* db, const Sections& sections,
                                    const std::vector<Addition>& additions, BatchBuilder* batch) {
  for (const Addition& addition : additions) {
    auto it = std::find_if(next_.begin(), next_.end(),
                           [&](const auto& n) { return n.first == addition.counter; });
    if (it == next_.end()) {
      ASSIGN_OR_RETURN(int64_t current, stripes_.Current(db, sections, index_, addition.counter));
      it = next_.emplace(it, addition.counter, current);
    }
    it->second = AddCounters(it->second, addition.delta);
  }
  for (const auto& [counter, value] : next_) {
    char bytes[kCounterSize];
    EncodeCounter(value, bytes);
    const std::string key = StripeKey(counter, index_);
    batch->Put(sections.NumberedOf(key), key, {bytes, kCounterSize});
  }
  return Status::Ok();
}

void CounterStripes::Lease::Finish(bool written) {
  Values& values = stripes_.values_[index_];
  if (!written || values.size() > kRemembered) {
    values.clear();  // what is stored after a failure is read again
    return;
  }
  for (auto& [counter, value] : next_) {
    values.insert_or_assign(std::move(counter), value);
  }
}

Result<int64_t> CounterStripes::Current(rocksdb::DB* db, const Sections& sections, size_t stripe,
                                        const std::string& counter) {
  Values& values = values_[stripe];
  if (auto it = values.find(counter); it != values.end()) {
    return it->second;
  }
  std::string stored;
  const std::string key = StripeKey(counter, stripe);
  rocksdb::Status status = db->Get({}, sections.Of(key), key, &stored);
  if (status.IsNotFound()) {
    return int64_t{0};
  }
  RETURN_IF_ERROR(FromRocks(status));
  return DecodeStripe(stored);
}

void CounterStripes::Forget() {
  MutexLock lock(forget_mutex_);
  for (size_t i = 0; i < kStripes; ++i) {
    free_.acquire();
  }
  for (Values& values : values_) {
    values.clear();
  }
  free_.release(kStripes);
}

}  // namespace quire::kv
