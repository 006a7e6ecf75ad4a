// SPDX-License-Identifier: Apache-2.0
#include "store/scan/near_scan.h"

#include <algorithm>
#include <cmath>

#include "base/try.h"
#include "bson/ordered.h"
#include "store/collection.h"
#include "store/keys/index_kind.h"
#include "store/keys/special_keys.h"

namespace quire::store {

using exec::Step;
using expr::geo::KeyRange;

namespace {

constexpr double kFirstMeters = 100;
constexpr double kFirstShareOfGrid = 1e-5;
// A ring with fewer documents makes the next one wider, with more narrower.
constexpr uint64_t kFew = 300;
constexpr uint64_t kMany = 600;

double FurthestOf(const NearScanOptions& options) {
  const expr::geo::Near& near = options.near->near();
  if (near.sphere) {
    return M_PI / near.RadiansPerUnit();
  }
  const expr::geo::FlatGrid& grid = options.index->keys.special->grid;
  auto reach = [&](double center) {
    return std::max(std::abs(center - grid.min), std::abs(center - grid.max));
  };
  return std::hypot(reach(near.center.x), reach(near.center.y));
}

double FirstWidth(const NearScanOptions& options) {
  const expr::geo::Near& near = options.near->near();
  if (near.sphere) {
    return kFirstMeters / expr::geo::kEarthRadiusMeters / near.RadiansPerUnit();
  }
  const expr::geo::FlatGrid& grid = options.index->keys.special->grid;
  return (grid.max - grid.min) * kFirstShareOfGrid;
}

std::vector<KeyInterval> IntervalsOf(const IndexKeySpec& spec, size_t part,
                                     const std::vector<KeyRange>& ranges) {
  std::vector<KeyInterval> intervals;
  for (const KeyRange& range : ranges) {
    KeyInterval interval;
    bson::OwnedValue low = spec.parts[part].kind->cells->value(range.low);
    bson::OwnedValue high = spec.parts[part].kind->cells->value(range.high);
    AppendKeyPart(spec, part, low.value(), &interval.low);
    AppendKeyPart(spec, part, high.value(), &interval.high);
    intervals.push_back(std::move(interval));
  }
  std::sort(intervals.begin(), intervals.end(),
            [](const KeyInterval& a, const KeyInterval& b) { return a.low < b.low; });
  return intervals;
}

}  // namespace

NearScan::NearScan(Transaction* txn, NearScanOptions options)
    : txn_(txn),
      options_(std::move(options)),
      path_(options_.index->keys.parts[options_.geo_part].path),
      furthest_(std::min(FurthestOf(options_), options_.near->near().max_distance)),
      width_(FirstWidth(options_)) {}

std::vector<KeyRange> NearScan::Cover(double min, double max) const {
  const IndexKeySpec& keys = options_.index->keys;
  return keys.parts[options_.geo_part].kind->cells->ring(options_.near->near(), *keys.special, min,
                                                         max);
}

void NearScan::OpenRing() {
  NearRing ring;
  if (rings_.empty()) {
    ring.min = options_.near->near().min_distance;
  } else {
    const NearRing& before = rings_.back();
    ring.min = before.max;
    if (before.buffered == 0) {
      width_ *= 8;
    } else if (before.buffered < kFew) {
      width_ *= 2;
    } else if (before.buffered > kMany) {
      width_ /= 2;
    }
  }
  ring.max = ring.min + width_;
  ring.last = !(ring.max < furthest_);
  ring.max = ring.last ? furthest_ : ring.max;
  if (ring.min <= ring.max) {
    ring.ranges = Cover(ring.min, ring.max);
    expr::geo::Subtract(read_, &ring.ranges);
    read_.insert(read_.end(), ring.ranges.begin(), ring.ranges.end());
    expr::geo::Unite(&read_);
  }
  IndexScanOptions scan;
  scan.index = options_.index;
  scan.bounds = options_.bounds;
  scan.bounds.parts[options_.geo_part] =
      IntervalsOf(options_.index->keys, options_.geo_part, ring.ranges);
  scan_ = std::make_unique<IndexScan>(txn_, std::move(scan));
  rings_.push_back(std::move(ring));
}

Status NearScan::Take(RecordId id) {
  if (!seen_.insert(id).second) {
    return Status::Ok();
  }
  ASSIGN_OR_RETURN(bool there, Fetch(*txn_, *options_.collection, id, &value_));
  if (!there) {
    return Status::Ok();
  }
  ++counters_.docs_examined;
  ++rings_.back().docs_examined;
  bson::View document(value_.view().data());
  if (options_.filter != nullptr) {
    ASSIGN_OR_RETURN(bool matches, options_.filter->Matches(document, nullptr));
    if (!matches) {
      return Status::Ok();
    }
  }
  std::optional<double> distance = options_.near->Distance(document, path_);
  if (distance) {
    ++rings_.back().buffered;
    found_.push({*distance, id});
  }
  return Status::Ok();
}

Result<Step> NearScan::ReadRing(OpContext& op, exec::Row* row) {
  ASSIGN_OR_RETURN(Step step, scan_->Work(op, row));
  if (step == Step::kRow) {
    RETURN_IF_ERROR(Take(row->meta.record_id));
  } else if (step == Step::kEnd) {
    rings_.back().scan = scan_->counters();
    counters_.keys_examined += scan_->counters().keys_examined;
    counters_.seeks += scan_->counters().seeks;
    scan_.reset();
  }
  return Step::kAgain;
}

Result<Step> NearScan::GiveNearest(exec::Row* row) {
  Found nearest = found_.top();
  found_.pop();
  ASSIGN_OR_RETURN(bool there, Fetch(*txn_, *options_.collection, nearest.id, &value_));
  if (!there) {
    return Step::kAgain;
  }
  ++rings_.back().returned;
  row->document = bson::View(value_.view().data());
  row->fetched = true;
  row->meta = expr::Metadata();
  row->meta.record_id = nearest.id;
  row->meta.has_record_id = true;
  row->meta.geo_distance = nearest.distance;
  row->meta.has_geo_distance = true;
  options_.near->Distance(row->document, path_, &row->meta.geo_point);
  return Step::kRow;
}

Result<Step> NearScan::DoWork(OpContext& op, exec::Row* row) {
  RETURN_IF_ERROR(op.CheckInterrupt());
  if (scan_ != nullptr) {
    return ReadRing(op, row);
  }
  bool last = !rings_.empty() && rings_.back().last;
  if (!found_.empty() && (last || found_.top().distance < rings_.back().max)) {
    return GiveNearest(row);
  }
  if (last) {
    return Step::kEnd;
  }
  OpenRing();
  return Step::kAgain;
}

}  // namespace quire::store
