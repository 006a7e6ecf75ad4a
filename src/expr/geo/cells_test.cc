// SPDX-License-Identifier: Apache-2.0
#include "expr/geo/cells.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "expr/geo/geometry.h"

namespace quire::expr::geo {

static void PrintTo(const KeyRange& range, std::ostream* out) {
  *out << "[" << range.low << ", " << range.high << "]";
}

namespace {

bool HoldsKey(const std::vector<KeyRange>& ranges, uint64_t key) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const KeyRange& range) { return key >= range.low && key <= range.high; });
}

TEST(Cells, RangesAreUnitedAndSubtracted) {
  std::vector<KeyRange> ranges = {{10, 20}, {1, 3}, {15, 30}, {40, 40}};
  Unite(&ranges);
  EXPECT_EQ(ranges, (std::vector<KeyRange>{{1, 3}, {10, 30}, {40, 40}}));
  Subtract({{2, 2}, {12, 14}, {20, 50}}, &ranges);
  EXPECT_EQ(ranges, (std::vector<KeyRange>{{1, 1}, {3, 3}, {10, 11}, {15, 19}}));
  Subtract({{0, ~uint64_t{0}}}, &ranges);
  EXPECT_TRUE(ranges.empty());
}

TEST(Cells, TheGridCoversWhatLiesInABox) {
  for (int bits : {1, 5, 26, 32}) {
    FlatGrid grid{bits, -180, 180};
    std::vector<KeyRange> ranges = grid.Cover({{-10, -10}, {10.5, 20}});
    for (FlatPoint point : {FlatPoint{-10, -10}, {10.5, 20}, {0, 0}, {3.3, 19.9}}) {
      EXPECT_TRUE(HoldsKey(ranges, *grid.CellOf(point))) << bits << ": " << point.x;
    }
    EXPECT_EQ(HoldsKey(ranges, *grid.CellOf({-170, 170})), bits == 1);
  }
  FlatGrid grid;
  EXPECT_TRUE(grid.Cover({{200, 200}, {300, 300}}).empty());
  EXPECT_TRUE(HoldsKey(grid.Cover({{-1e300, -1e300}, {1e300, 1e300}}), *grid.CellOf({180, 180})));
  EXPECT_EQ(grid.CellOf({180.1, 0}).status().code(), 13027);
}

TEST(Cells, ARingCoversWhatIsThatFarAway) {
  auto cell = [](double x, double y) {
    auto document =
        bson::Document::FromJson("{\"p\": [" + std::to_string(x) + ", " + std::to_string(y) + "]}");
    return (*(*Geometry::FromStored((*document)["p"]))->Cells())[0];
  };
  std::vector<KeyRange> ring = RingCells({0, 0}, 0.2, 0.4);  // 11 to 23 degrees
  EXPECT_TRUE(HoldsKey(ring, cell(17, 0)));
  EXPECT_TRUE(HoldsKey(ring, cell(0, -17)));
  EXPECT_FALSE(HoldsKey(ring, cell(120, 60)));
  EXPECT_TRUE(HoldsKey(RingCells({0, 0}, 0, 10), cell(120, 60)));
}

TEST(Cells, ABoxAroundAPoleGoesAllAround) {
  FlatBox box = BoxAround({10, 89}, 0.1);
  EXPECT_EQ(box.low.x, -180);
  EXPECT_EQ(box.high.x, 180);
  EXPECT_LE(box.low.y, 89 - 5.7);
  EXPECT_EQ(box.high.y, 90);
}

}  // namespace
}  // namespace quire::expr::geo
