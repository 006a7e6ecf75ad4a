// SPDX-License-Identifier: Apache-2.0
#include "exec/geo_near.h"

#include <bit>

#include "base/try.h"

namespace quire::exec {
namespace {

// Bytes that compare like the distances, which are never negative.
std::string DistanceKey(double distance) {
  auto bits = std::bit_cast<uint64_t>(distance);
  std::string key(8, '\0');
  for (int i = 7; i >= 0; --i, bits >>= 8) {
    key[i] = static_cast<char>(bits & 0xFF);
  }
  return key;
}

}  // namespace

Result<Step> GeoNear::TakeOne(OpContext& op, Row* row) {
  ASSIGN_OR_RETURN(Step step, input_->Work(op, row));
  if (step == Step::kRow) {
    std::optional<double> distance = near_->Distance(row->document, path_);
    if (distance) {
      row->meta.geo_distance = *distance;
      row->meta.has_geo_distance = true;
      RETURN_IF_ERROR(sorter_.Add(DistanceKey(*distance), *row));
    }
  } else if (step == Step::kEnd) {
    RETURN_IF_ERROR(sorter_.Finish());
    sorted_ = true;
    counters_.memory = sorter_.peak_memory();
    counters_.sorted_bytes = sorter_.sorted_bytes();
    counters_.spills = sorter_.spills();
  }
  return Step::kAgain;
}

Result<Step> GeoNear::DoWork(OpContext& op, Row* row) {
  if (!sorted_) {
    return TakeOne(op, row);
  }
  ASSIGN_OR_RETURN(bool more, sorter_.Next(row));
  if (!more) {
    return Step::kEnd;
  }
  near_->Distance(row->document, path_, &row->meta.geo_point);
  return Step::kRow;
}

}  // namespace quire::exec
