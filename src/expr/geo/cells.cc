// SPDX-License-Identifier: Apache-2.0
#include "expr/geo/cells.h"

#include <s2/s2cap.h>
#include <s2/s2latlng_rect.h>
#include <s2/s2region_intersection.h>

#include <algorithm>
#include <cmath>

#include "bson/number.h"
#include "expr/geo/shapes_internal.h"

namespace quire::expr::geo {
namespace {

// Distances are computed in other ways than caps: a little more is covered than asked for.
constexpr double kSlack = 1e-9;

S2Cap CapOf(const S2Point& center, double radians) {
  return S2Cap(center, S1Angle::Radians(std::clamp(radians, 0.0, M_PI)));
}

// One cell of the grid while a box is being covered.
struct GridCell {
  uint64_t x = 0;  // of its corner, in steps of 2^-32 of the grid
  uint64_t y = 0;
  int level = 0;

  uint64_t side() const { return uint64_t{1} << (32 - level); }
};

uint64_t Interleave(uint64_t x, uint64_t y) {
  uint64_t cell = 0;
  for (int bit = 31; bit >= 0; --bit) {
    cell = (cell << 2) | (((x >> bit) & 1) << 1) | ((y >> bit) & 1);
  }
  return cell;
}

KeyRange RangeOf(const GridCell& cell) {
  uint64_t low = Interleave(cell.x, cell.y);
  uint64_t rest = cell.level == 0 ? ~uint64_t{0} : (uint64_t{1} << (64 - 2 * cell.level)) - 1;
  return {low, low | rest};
}

// Ends of a box in steps of the grid, both included.
struct GridBox {
  uint64_t low_x, high_x, low_y, high_y;

  bool Meets(const GridCell& cell) const {
    return cell.x <= high_x && cell.x + cell.side() > low_x && cell.y <= high_y &&
           cell.y + cell.side() > low_y;
  }
  bool Holds(const GridCell& cell) const {
    return cell.x >= low_x && cell.x + cell.side() - 1 <= high_x && cell.y >= low_y &&
           cell.y + cell.side() - 1 <= high_y;
  }
};

constexpr double kSteps = 4294967296.0;

// The step a coordinate lies in, moved by `slack` steps and held within the grid.
uint64_t StepOf(const FlatGrid& grid, double coordinate, double slack) {
  double step = std::floor((coordinate - grid.min) / (grid.max - grid.min) * kSteps) + slack;
  return static_cast<uint64_t>(std::clamp(step, 0.0, kSteps - 1));
}

}  // namespace

void Unite(std::vector<KeyRange>* ranges) {
  std::sort(ranges->begin(), ranges->end());
  size_t kept = 0;
  for (const KeyRange& range : *ranges) {
    if (kept > 0 && range.low <= (*ranges)[kept - 1].high) {
      (*ranges)[kept - 1].high = std::max((*ranges)[kept - 1].high, range.high);
    } else {
      (*ranges)[kept++] = range;
    }
  }
  ranges->resize(kept);
}

void Subtract(const std::vector<KeyRange>& taken, std::vector<KeyRange>* ranges) {
  std::vector<KeyRange> left;
  auto next = taken.begin();
  for (KeyRange range : *ranges) {
    while (next != taken.end() && next->high < range.low) {
      ++next;
    }
    bool any = true;
    for (auto it = next; any && it != taken.end() && it->low <= range.high; ++it) {
      if (it->low > range.low) {
        left.push_back({range.low, it->low - 1});
      }
      any = it->high < range.high;
      range.low = any ? it->high + 1 : range.low;
    }
    if (any) {
      left.push_back(range);
    }
  }
  *ranges = std::move(left);
}

std::vector<KeyRange> RingCells(FlatPoint center, double min_radians, double max_radians) {
  S2Point from = ToS2(center);
  std::vector<std::unique_ptr<S2Region>> regions;
  regions.push_back(std::make_unique<S2Cap>(CapOf(from, max_radians + kSlack)));
  if (min_radians > kSlack) {
    regions.push_back(std::make_unique<S2Cap>(CapOf(from, min_radians - kSlack).Complement()));
  }
  return RangesOf(CoverRegion(S2RegionIntersection(std::move(regions))));
}

FlatBox BoxAround(FlatPoint center, double radians) {
  S2LatLngRect rect = CapOf(ToS2(center), radians + kSlack).GetRectBound();
  FlatBox box{{-180, rect.lat_lo().degrees()}, {180, rect.lat_hi().degrees()}};
  if (!rect.lng().is_inverted() && !rect.lng().is_full()) {
    box.low.x = rect.lng_lo().degrees();
    box.high.x = rect.lng_hi().degrees();
  }
  return box;
}

FlatGrid FlatGrid::FromIndex(bson::View index) {
  FlatGrid grid;
  auto number = [&](std::string_view name, double otherwise) {
    bson::Value value = index[name];
    return value.is_number() ? bson::ToDouble(value) : otherwise;
  };
  grid.bits = static_cast<int>(std::clamp(number("bits", grid.bits), 1.0, 32.0));
  grid.min = number("min", grid.min);
  grid.max = number("max", grid.max);
  return grid;
}

bool FlatGrid::Holds(FlatPoint point) const {
  return point.x >= min && point.x <= max && point.y >= min && point.y <= max;
}

Result<uint64_t> FlatGrid::CellOf(FlatPoint point) const {
  if (!Holds(point)) {
    return Status(13027, "point not in interval of [ " + std::to_string(min) + ", " +
                             std::to_string(max) + " ]");
  }
  uint64_t cell = Interleave(StepOf(*this, point.x, 0), StepOf(*this, point.y, 0));
  return bits == 32 ? cell : cell & ~((uint64_t{1} << (64 - 2 * bits)) - 1);
}

std::vector<KeyRange> FlatGrid::Cover(const FlatBox& box) const {
  constexpr size_t kMostCells = 32;
  if (box.high.x < min || box.low.x > max || box.high.y < min || box.low.y > max) {
    return {};
  }
  GridBox steps{StepOf(*this, box.low.x, -1), StepOf(*this, box.high.x, 1),
                StepOf(*this, box.low.y, -1), StepOf(*this, box.high.y, 1)};
  std::vector<GridCell> open{GridCell{}};
  std::vector<KeyRange> ranges;
  // Level by level: cells that stick out of the box are divided while there is room for more.
  for (size_t i = 0; i < open.size(); ++i) {
    GridCell cell = open[i];
    bool room = ranges.size() + (open.size() - i) + 3 <= kMostCells;
    if (steps.Holds(cell) || cell.level == bits || !room) {
      ranges.push_back(RangeOf(cell));
      continue;
    }
    uint64_t half = cell.side() / 2;
    for (uint64_t quarter = 0; quarter < 4; ++quarter) {
      GridCell child{cell.x + (quarter >> 1) * half, cell.y + (quarter & 1) * half, cell.level + 1};
      if (steps.Meets(child)) {
        open.push_back(child);
      }
    }
  }
  Unite(&ranges);
  return ranges;
}

}  // namespace quire::expr::geo
