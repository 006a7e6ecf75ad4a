// SPDX-License-Identifier: Apache-2.0
#include "expr/geo/crossings.h"

#include <gtest/gtest.h>
#include <s2/s2latlng.h>
#include <s2/s2polygon.h>
#include <s2/s2polyline.h>

#include <cmath>
#include <random>

#include "base/current_op.h"
#include "base/error_codes.h"
#include "expr/geo/edge_index_internal.h"
#include "expr/geo/geometry.h"
#include "expr/geo/index_build.h"
#include "expr/geo/relation.h"

namespace quire::expr::geo {
namespace {

using Points = std::vector<S2Point>;

S2Point At(double x, double y) { return S2LatLng::FromDegrees(y, x).ToPoint(); }

std::unique_ptr<S2Loop> Ring(const Points& points) {
  auto loop = std::make_unique<S2Loop>();
  loop->set_s2debug_override(S2Debug::DISABLE);
  loop->Init(points);
  return loop;
}

Loops Rings(const std::vector<Points>& all) {
  Loops rings;
  for (const Points& points : all) {
    rings.push_back(Ring(points));
    rings.back()->Normalize();
  }
  return rings;
}

Points Square(double x, double y, double size) {
  return {At(x, y), At(x + size, y), At(x + size, y + size), At(x, y + size)};
}

// Corners of a small grid: common corners and edges are frequent.
Points RandomPoints(std::mt19937* random, int count) {
  std::uniform_int_distribution<int> grid(0, 6);
  Points points;
  while (std::ssize(points) < count) {
    S2Point point = At(grid(*random), grid(*random));
    if (points.empty() || (!SamePoint(points.back(), point) && !SamePoint(points.front(), point))) {
      points.push_back(point);
    }
  }
  return points;
}

TEST(Crossings, RingsAreThoseThatS2Takes) {
  std::mt19937 random(7);
  int valid = 0;
  for (int i = 0; i < 3000; ++i) {
    auto ring = Ring(RandomPoints(&random, 3 + i % 5));
    S2Error error;
    bool wanted = !ring->FindValidationError(&error);
    valid += wanted ? 1 : 0;
    EXPECT_EQ(CheckRing(*ring).ok(), wanted) << i << " " << error.text();
  }
  EXPECT_GT(valid, 300);
  EXPECT_LT(valid, 2900);
}

TEST(Crossings, HolesAreThoseThatS2Takes) {
  std::mt19937 random(11);
  int valid = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::vector<Points> all{Square(-1, -1, 8)};
    if (i % 2 == 0) {
      all[0] = RandomPoints(&random, 4);
    }
    for (int ring = 0; ring <= i % 3; ++ring) {
      all.push_back(RandomPoints(&random, 3 + ring));
    }
    Loops rings = Rings(all);
    bool simple = true;
    for (const auto& ring : rings) {
      simple = simple && CheckRing(*ring).ok();
    }
    if (!simple) {
      continue;
    }
    bool wanted = true;
    for (size_t ring = 1; ring < rings.size(); ++ring) {
      wanted = wanted && rings[0]->Contains(*rings[ring]);
    }
    S2Polygon polygon;
    polygon.set_s2debug_override(S2Debug::DISABLE);
    polygon.InitNested(Rings(all));
    S2Error error;
    wanted = wanted && !polygon.FindValidationError(&error);
    for (int ring = 0; ring < polygon.num_loops(); ++ring) {
      wanted = wanted && polygon.loop(ring)->depth() <= 1;
    }
    valid += wanted ? 1 : 0;
    EXPECT_EQ(CheckHoles(rings).ok(), wanted) << i << " " << error.text();
  }
  EXPECT_GT(valid, 100);
}

TEST(Crossings, APolygonOfManyHolesIsTheOneS2Makes) {
  std::vector<Points> all{Square(-1, -1, 80)};
  for (int i = 0; i < 30 * 30; ++i) {
    all.push_back(Square(2 * (i % 30), 2 * (i / 30), 1));
  }
  S2Polygon wanted;
  wanted.InitNested(Rings(all));
  std::unique_ptr<S2Polygon> polygon = PolygonOf(Rings(all));
  ASSERT_NE(polygon, nullptr);
  EXPECT_EQ(polygon->num_loops(), 901);
  EXPECT_TRUE(polygon->BoundaryEquals(wanted));
  EXPECT_FALSE(polygon->Contains(At(0.5, 0.5)));
  EXPECT_TRUE(polygon->Contains(At(1.5, 1.5)));
  EXPECT_DOUBLE_EQ(polygon->GetArea(), wanted.GetArea());
}

// Polygons with common corners and edges, with holes, within each other, apart.
TEST(Relation, InStepsIsAsS2Says) {
  std::mt19937 random(13);
  std::uniform_int_distribution<int> grid(0, 5);
  auto polygon = [&] {
    while (true) {
      std::vector<Points> all{grid(random) == 0 ? Square(-1, -1, 9) : RandomPoints(&random, 4)};
      for (int holes = grid(random) - 2; holes > 0; --holes) {
        all.push_back(RandomPoints(&random, 3));
      }
      Loops rings = Rings(all);
      bool valid = true;
      for (const auto& ring : rings) {
        valid = valid && CheckRing(*ring).ok();
      }
      if (valid && CheckHoles(rings).ok()) {
        return PolygonOf(std::move(rings));
      }
    }
  };
  int met = 0;
  int held = 0;
  for (int i = 0; i < 3000; ++i) {
    auto a = polygon();
    auto b = polygon();
    met += a->Intersects(*b) ? 1 : 0;
    held += a->Contains(*b) ? 1 : 0;
    EXPECT_EQ(in_steps::Meet(*a, *b), a->Intersects(*b)) << i;
    EXPECT_EQ(in_steps::Holds(*a, *b), a->Contains(*b)) << i;
    EXPECT_TRUE(in_steps::Holds(*a, *a)) << i;
    EXPECT_TRUE(in_steps::Meet(*a, *a)) << i;
  }
  EXPECT_GT(met, 300);
  EXPECT_GT(held, 100);
}

// Off the grid, as common corners of lines and polygons are beyond what S2 tells apart.
TEST(Relation, LinesInStepsAreAsS2Says) {
  std::mt19937 random(17);
  std::uniform_real_distribution<double> place(0, 10);
  int met = 0;
  int held = 0;
  for (int i = 0; i < 2000; ++i) {
    S2Polygon area(Ring(Square(place(random), place(random), 3)));
    auto line = [&](int count) {
      Points points;
      S2LatLng at = S2LatLng::FromDegrees(place(random), place(random));
      for (int n = 0; n < count; ++n) {
        points.push_back(at.ToPoint());
        at = at + S2LatLng::FromDegrees(place(random) / 5 - 1, place(random) / 5 - 1);
      }
      return S2Polyline(points);
    };
    S2Polyline a = line(4);
    S2Polyline b = line(5);
    met += area.Intersects(a) ? 1 : 0;
    held += area.Contains(a) ? 1 : 0;
    EXPECT_EQ(in_steps::Meet(area, a), area.Intersects(a)) << i;
    EXPECT_EQ(in_steps::Holds(area, a), area.Contains(a)) << i;
    EXPECT_EQ(in_steps::Meet(a, b), a.Intersects(b)) << i;
  }
  EXPECT_GT(met, 100);
  EXPECT_GT(held, 20);
}

// A comb of long teeth: every edge lies beside all others.
std::string Comb(int teeth, double left) {
  std::string text = R"({"type": "Polygon", "coordinates": [[)";
  auto add = [&](double x, double y) {
    text += "[" + std::to_string(x) + "," + std::to_string(y) + "],";
  };
  for (int i = 0; i < teeth; ++i) {
    add(left + 20.0 * i / teeth, i % 2 == 0 ? 0.1 : 10);
  }
  add(left + 20, -1);
  add(left - 0.01, -1);
  text += "[" + std::to_string(left) + ",0.1]]]}";
  return text;
}

// Squares around a corner of a chessboard, of which some are missing: more rings than two meet
// there.
TEST(Relation, ManyRingsAtOneCorner) {
  std::mt19937 random(19);
  auto polygon = [&](int size) {
    std::vector<Points> all{Square(0, 0, size)};
    for (int x = 0; x < size; ++x) {
      for (int y = 0; y < size; ++y) {
        if ((x + y) % 2 == 0 && x + y > 0 && random() % 2 == 0) {
          all.push_back(Square(x, y, 1));
        }
      }
    }
    Loops rings = Rings(all);
    return CheckHoles(rings).ok() ? PolygonOf(std::move(rings)) : nullptr;
  };
  int compared = 0;
  int met = 0;
  int held = 0;
  for (int i = 0; i < 3000; ++i) {
    auto a = polygon(4);
    auto b = polygon(2 + i % 3);
    if (a == nullptr || b == nullptr) {
      continue;
    }
    ++compared;
    met += a->Intersects(*b) ? 1 : 0;
    held += a->Contains(*b) ? 1 : 0;
    EXPECT_EQ(in_steps::Meet(*a, *b), a->Intersects(*b)) << i;
    EXPECT_EQ(in_steps::Holds(*a, *b), a->Contains(*b)) << i;
  }
  EXPECT_GT(compared, 100);
  EXPECT_GT(met, 10);
  EXPECT_GT(held, 5);
  EXPECT_LT(held, compared);
}

TEST(Geo, LargeIndexesAreBuiltInSteps) {
  Points circle;
  for (int i = 0; i < 50'000; ++i) {
    circle.push_back(At(10 * std::cos(M_PI * i / 25'000), 10 * std::sin(M_PI * i / 25'000)));
  }
  auto polygon = PolygonOf(Rings({circle}));
  OpContext op;
  CurrentOpScope scope(&op);
  EXPECT_TRUE(BuildLargeIndex(polygon.get()).ok());
  EXPECT_TRUE(polygon->index().is_fresh());
  op.Kill();
  EXPECT_EQ(BuildLargeIndex(PolygonOf(Rings({circle})).get()).code(), kInterrupted);
}

TEST(Geo, LargeShapesEndWithTheirOperation) {
  auto comb = bson::Document::FromJson(Comb(60'000, -10));
  ASSERT_TRUE(comb.ok());
  for (bool kill : {false, true}) {
    OpContext op;
    CurrentOpScope scope(&op);
    op.SetDeadline(kill ? OpContext::Clock::time_point::max() : OpContext::Clock::now());
    if (kill) {
      op.Kill();
    }
    auto parsed = Geometry::FromGeoJson(*comb);
    ASSERT_FALSE(parsed.ok());
    EXPECT_EQ(parsed.status().code(), kill ? kInterrupted : kMaxTimeMSExpired);
  }
}

}  // namespace
}  // namespace quire::expr::geo
