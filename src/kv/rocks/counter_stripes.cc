// SPDX-License-Identifier: Apache-2.0
#include "kv/rocks/counter_stripes.h"

#include <algorithm>
#include <bit>

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
  next_.reserve(additions.size());
  for (const Addition& addition : additions) {
    auto it = std::find_if(next_.begin(), next_.end(), [&](const Next& next) {
      return next.stored->first == addition.counter;
    });
    if (it == next_.end()) {
      ASSIGN_OR_RETURN(Values::value_type * stored,
                       stripes_.Current(db, sections, index_, addition.counter));
      it = next_.insert(it, {stored, stored->second});
    }
    it->value = AddCounters(it->value, addition.delta);
  }
  for (const Next& next : next_) {
    char bytes[kCounterSize];
    EncodeCounter(next.value, bytes);
    const std::string key = StripeKey(next.stored->first, index_);
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
  for (const Next& next : next_) {
    next.stored->second = next.value;
  }
}

Result<CounterStripes::Values::value_type*> CounterStripes::Current(rocksdb::DB* db,
                                                                    const Sections& sections,
                                                                    size_t stripe,
                                                                    const std::string& counter) {
  Values& values = values_[stripe];
  if (auto it = values.find(counter); it != values.end()) {
    return &*it;
  }
  std::string stored;
  const std::string key = StripeKey(counter, stripe);
  rocksdb::Status status = db->Get({}, sections.Of(key), key, &stored);
  int64_t value = 0;
  if (!status.IsNotFound()) {
    RETURN_IF_ERROR(FromRocks(status));
    ASSIGN_OR_RETURN(value, DecodeStripe(stored));
  }
  return &*values.emplace(counter, value).first;
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
