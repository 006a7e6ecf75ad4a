// SPDX-License-Identifier: Apache-2.0
#include "expr/match/geo.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "bson/testing/kept_json.h"
#include "expr/match/match.h"

namespace quire::expr::geo {
namespace {

bson::View Json(std::string_view text) { return bson::KeptJson(text); }

TEST(Geo, Filters) {
  const struct {
    const char* filter;
    const char* document;
    bool matches;
  } cases[] = {
      {R"({"l": {"$geoWithin": {"$box": [[5, 5], [25, 25]]}}})", R"({"l": [10, 10]})", true},
      {R"({"l": {"$geoWithin": {"$box": [[0, 0], [10, 10]]}}})", R"({"l": [[1, 1], [49, 50]]})",
       true},
      {R"({"l": {"$geoWithin": {"$center": [[20, 20], 10]}}})", R"({"l": [20, 30]})", true},
      {R"({"l": {"$geoWithin": {"$polygon": [[-1, -1], [-1, 22], [22, -1]]}}})",
       R"({"l": [0, 20]})", true},
      {R"({"l": {"$geoWithin": {"$polygon": [{"x": 5, "y": 5}, {"x": 15, "y": 5},
           {"x": 15, "y": 15}, {"x": 5, "y": 15}]}}})",
       R"({"l": [20, 20]})", false},
      {R"({"l": {"$geoWithin": {"$centerSphere": [[-73.98, 40.765], 0.001]}}})",
       R"({"l": {"type": "Point", "coordinates": [-73.97, 40.77]}})", true},
      {R"({"l": {"$geoWithin": {"$centerSphere": [[0, 0], 1]}}})",
       R"({"l": {"type": "Point", "coordinates": [139.69, 35.68]}})", false},
      {R"({"l": {"$geoWithin": {"$geometry": {"type": "Polygon", "coordinates":
           [[[0, 0], [10, 0], [10, 10], [0, 10], [0, 0]], [[4, 4], [6, 4], [6, 6], [4, 6], [4, 4]]]}}}})",
       R"({"l": [5, 5]})", false},
      {R"({"l": {"$geoWithin": {"$geometry": {"type": "Polygon", "coordinates":
           [[[0, 0], [10, 0], [10, 10], [0, 10], [0, 0]]]}}}})",
       R"({"l": {"type": "LineString", "coordinates": [[1, 1], [9, 9]]}})", true},
      {R"({"l": {"$geoIntersects": {"$geometry": {"type": "Point", "coordinates": [5, 5]}}}})",
       R"({"l": {"type": "Polygon", "coordinates": [[[0, 0], [10, 0], [10, 10], [0, 10], [0, 0]]]}})",
       true},
      {R"({"l": {"$geoIntersects": {"$geometry": {"type": "LineString",
           "coordinates": [[-1, 5], [11, 6]]}}}})",
       R"({"l": {"type": "LineString", "coordinates": [[0, 0], [10, 10.5]]}})", true},
      {R"({"l": {"$geoIntersects": {"$geometry": {"type": "Point", "coordinates": [5, 5]}}}})",
       R"({"l": {"type": "LineString", "coordinates": [[0, 0], [10, 10.5]]}})", false},
      {R"({"l": {"$geoIntersects": {"$geometry": {"type": "MultiPoint",
           "coordinates": [[60, 60], [41, 41]]}}}})",
       R"({"l": {"type": "GeometryCollection", "geometries": [
           {"type": "Point", "coordinates": [41, 41]}]}})",
       true},
      {R"({"l": {"$near": [0, 0], "$maxDistance": 5}})", R"({"l": [3, 4]})", true},
      {R"({"l": {"$near": [0, 0], "$maxDistance": 4.9}})", R"({"l": [3, 4]})", false},
  };
  Context context;
  for (const auto& c : cases) {
    auto filter = match::Filter::Parse(Json(c.filter), &context);
    ASSERT_TRUE(filter.ok()) << c.filter << filter.status().ToString();
    EXPECT_EQ(*(*filter)->Matches(Json(c.document)), c.matches) << c.filter << c.document;
  }
}

TEST(Geo, Errors) {
  const std::pair<const char*, int> cases[] = {
      {R"({"l": {"$geoWithin": {}}})", 2},
      {R"({"l": {"$geoWithin": {"$geometry": {"type": "Point", "coordinates": [0, 0]}}}})", 2},
      {R"({"l": {"$geoIntersects": {"$geometry": {"type": "Point", "coordinates": [181, 0]}}}})",
       2},
      {R"({"l": {"$geoIntersects": {"$geometry": {"type": "Polygon", "coordinates":
           [[[0, 0], [1, 1], [0, 1], [1, 0], [0, 0]]]}}}})",
       2},
      {R"({"l": {"$geoIntersects": {"$geometry": {"type": "Polygon", "coordinates":
           [[[0, 0], [1, 1], [0, 1], [1, 0]]]}}}})",
       2},
      {R"({"l": {"$geoWithin": {"$center": [[0, 0], -1]}}})", 2},
      {R"({"l": {"$near": [0, 0], "$maxDistance": -1}})", 16896},
      {R"({"l": {"$near": [0, 0], "$minDistance": "x"}})", 16893},
      {R"({"l": {"$near": {"$geometry": {"type": "Point", "coordinates": [0, 0]}}, "$maxDistance": 1}})",
       2},
      {R"({"l": {"$near": {"type": "Point", "coordinates": [0, 0]}, "$maxDistance": "x"}})", 16895},
      {R"({"l": {"$near": {"type": "LineString", "coordinates": [[0, 0], [1, 1]]}}})", 2},
      {R"({"l": {"$near": {"type": "Point", "coordinates": [0, 100]}}})", 2},
      {R"({"$or": [{"l": {"$near": [0, 0]}}]})", 0},
      {R"({"$nor": [{"l": {"$near": [0, 0]}}]})", 2},
      {R"({"l": {"$maxDistance": 1}})", 2},
  };
  Context context;
  for (const auto& [filter, code] : cases) {
    auto parsed = match::Filter::Parse(Json(filter), &context);
    if (code != 0) {
      EXPECT_EQ(parsed.status().code(), code) << filter << parsed.status().ToString();
    }
  }
}

TEST(Geo, DistancesAndUnits) {
  Context context;
  auto distance = [&](const char* filter, const char* document) {
    auto parsed = match::Filter::Parse(Json(filter), &context);
    EXPECT_TRUE(parsed.ok()) << filter;
    return static_cast<const match::GeoNearNode&>((*parsed)->root())
        .Distance(Json(document), match::Path("a"))
        .value_or(-1);
  };
  EXPECT_NEAR(
      distance(R"({"a": {"$near": {"$geometry": {"type": "Point", "coordinates": [0, 0]}}}})",
               R"({"a": {"type": "Point", "coordinates": [1, 0]}})"),
      111319, 1);
  for (
      const char* bare :
      {R"({"a": {"$near": {"type": "Point", "coordinates": [0, 0]}}})",
       R"({"a": {"$nearSphere": {"type": "Point", "coordinates": [0, 0]}}})",
       R"({"a": {"$near": {"coordinates": [0, 0]}, "$minDistance": 2, "$maxDistance": 200000}})"}) {
    EXPECT_NEAR(distance(bare, R"({"a": {"type": "Point", "coordinates": [1, 0]}})"), 111319, 1)
        << bare;
  }
  EXPECT_EQ(distance(R"({"a": {"$near": {"type": "Point", "coordinates": [0, 0]},
                               "$maxDistance": 50}})",
                     R"({"a": {"type": "Point", "coordinates": [1, 0]}})"),
            -1);
  EXPECT_NEAR(distance(R"({"a": {"$nearSphere": [0, 0]}})", R"({"a": [1, 0]})"), 0.0174533, 1e-6);
  EXPECT_NEAR(distance(R"({"a": {"$near": [0, 0]}})", R"({"a": [[30, 40], [3, 4]]})"), 5, 1e-9);
  EXPECT_EQ(distance(R"({"a": {"$near": [0, 0]}})", R"({"b": 1})"), -1);
}

TEST(Geo, CellsOfWhatIntersectsLieInTheRanges) {
  auto polygon = Geometry::FromGeoJson(Json(
      R"({"type": "Polygon", "coordinates": [[[0, 0], [10, 0], [10, 10], [0, 10], [0, 0]]]})"));
  auto point = Geometry::FromGeoJson(Json(R"({"type": "Point", "coordinates": [5, 5]})"));
  ASSERT_TRUE(polygon.ok() && point.ok());
  auto covered = [](const Geometry& query, const Geometry& stored) {
    auto ranges = query.CellRanges();
    std::vector<uint64_t> cells = *stored.Cells();
    return std::any_of(cells.begin(), cells.end(), [&](uint64_t cell) {
      return std::any_of(ranges.begin(), ranges.end(), [&](const auto& range) {
        return cell >= range.low && cell <= range.high;
      });
    });
  };
  EXPECT_TRUE(covered(**polygon, **point));
  EXPECT_TRUE(covered(**point, **polygon));
}

TEST(Geo, PointsOfTwoListsMeetWhereTheyAreEqual) {
  auto points = [](int first, int count) {
    std::string text = R"({"type": "MultiPoint", "coordinates": [)";
    for (int i = 0; i < count; ++i) {
      int at = (first + i * 37 % count) * 2;  // in no order
      text +=
          (i == 0 ? "[" : ",[") + std::to_string(at % 180) + "," + std::to_string(at / 180) + "]";
    }
    return *Geometry::FromGeoJson(Json((text + "]}").c_str()));
  };
  auto first = points(0, 1000);
  EXPECT_TRUE(first->Intersects(*points(999, 1000)));
  EXPECT_TRUE(points(500, 3)->Intersects(*first));
  EXPECT_FALSE(first->Intersects(*points(1000, 1000)));
  EXPECT_FALSE(points(1000, 1)->Intersects(*first));
}

}  // namespace
}  // namespace quire::expr::geo
