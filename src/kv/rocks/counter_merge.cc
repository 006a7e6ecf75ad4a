// SPDX-License-Identifier: Apache-2.0
#include "kv/rocks/counter_merge.h"

#include <string>

#include "kv/counter.h"

namespace quire::kv {
namespace {

class CounterMerge : public rocksdb::AssociativeMergeOperator {
 public:
  bool Merge(const rocksdb::Slice& /*key*/, const rocksdb::Slice* existing,
             const rocksdb::Slice& value, std::string* result,
             rocksdb::Logger* /*logger*/) const override {
    if (value.size() != kCounterSize || (existing && existing->size() != kCounterSize)) {
      return false;
    }
    int64_t base = existing ? DecodeCounter(existing->ToStringView()) : 0;
    result->resize(kCounterSize);
    EncodeCounter(AddCounters(base, DecodeCounter(value.ToStringView())), result->data());
    return true;
  }
  // DO NOT CHANGE: stored in the database.
  const char* Name() const override { return "quire.counter"; }
};

}  // namespace

std::shared_ptr<rocksdb::MergeOperator> NewCounterMerge() {
  return std::make_shared<CounterMerge>();
}

}  // namespace quire::kv
