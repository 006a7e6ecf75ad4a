// SPDX-License-Identifier: Apache-2.0
#include "expr/geo/index_build.h"

#include <s2/s2memory_tracker.h>

#include <utility>

#include "base/current_op.h"
#include "base/try.h"

namespace quire::expr::geo {

Status BuildIndex(MutableS2ShapeIndex* index) {
  constexpr int64_t kBytesBetweenChecks = 256 << 10;
  RETURN_IF_ERROR(CheckCurrentOpNow());
  Status ended = Status::Ok();
  S2MemoryTracker tracker;
  tracker.set_periodic_callback(kBytesBetweenChecks, [&] {
    ended = CheckCurrentOpNow();
    if (!ended.ok()) {
      S2Error error;
      error.Init(S2Error::CANCELLED, "ended");
      tracker.SetError(std::move(error));
    }
  });
  index->set_memory_tracker(&tracker);
  index->ForceBuild();
  index->set_memory_tracker(nullptr);
  return ended;
}

Status BuildLargeIndex(S2Polygon* polygon) {
  constexpr int kLarge = 10'000;
  if (polygon->num_vertices() < kLarge) {
    return Status::Ok();
  }
  // The polygon hands out its index to read; it is the caller's to build as is the polygon.
  return BuildIndex(const_cast<MutableS2ShapeIndex*>(&polygon->index()));
}

}  // namespace quire::expr::geo
