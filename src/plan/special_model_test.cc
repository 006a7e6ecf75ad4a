// SPDX-License-Identifier: Apache-2.0
//
// Text and geo indexes against the same questions asked of every document.
#include <algorithm>
#include <cstdlib>
#include <random>

#include "expr/match/geo.h"
#include "expr/text/text.h"
#include "plan/testing/test_collection.h"

namespace quire::plan {
namespace {

using Rows = std::vector<bson::Document>;

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}

  size_t Below(size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random_); }
  double Number(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }

  std::string Pair() {
    // Often around one place, so that distances of all sizes occur.
    double spread = Below(3) == 0 ? 80 : 0.02;
    return "[" + std::to_string(10 + Number(-spread, spread)) + ", " +
           std::to_string(5 + Number(-spread, spread)) + "]";
  }

  std::string Square() {
    double x = 10 + Number(-8, 8);
    double y = 5 + Number(-8, 8);
    double side = Number(0.001, 3);
    auto corner = [&](double dx, double dy) {
      return "[" + std::to_string(x + dx * side) + ", " + std::to_string(y + dy * side) + "]";
    };
    return "[[" + corner(0, 0) + ", " + corner(1, 0) + ", " + corner(1, 1) + ", " + corner(0, 1) +
           ", " + corner(0, 0) + "]]";
  }

  std::string Place() {
    switch (Below(5)) {
      case 0:
        return Pair();
      case 1:
        return R"({"type": "Polygon", "coordinates": )" + Square() + "}";
      case 2:
        return R"({"type": "LineString", "coordinates": [)" + Pair() + ", " + Pair() + "]}";
      default:
        return R"({"type": "Point", "coordinates": )" + Pair() + "}";
    }
  }

  std::string Words(size_t most) {
    static constexpr const char* kWords[] = {"coffee", "cakes", "running", "runs",  "dog",
                                             "lazy",   "the",   "Fox",     "quick", "CAFE"};
    std::string text;
    for (size_t n = Below(most) + 1; n > 0; --n) {
      text += std::string(text.empty() ? "" : " ") + kWords[Below(std::size(kWords))];
    }
    return text;
  }

 private:
  std::mt19937_64 random_;
};

class SpecialModel {
 public:
  explicit SpecialModel(uint64_t seed) : generator_(seed) {}

  void Fill(const std::string& index, bool flat) {
    Insert(30, flat);
    bson::Document spec = Json(index);
    collection_.CreateIndex(spec);  // over documents that are there
    Insert(170, flat);
  }

  // The same documents by the index and by reading all.
  void CheckFilter(const std::string& filter, const std::string& stage) {
    SCOPED_TRACE(filter);
    EXPECT_EQ(Ids(Run(filter, "")), Ids(Run(filter, R"(, "hint": {"$natural": 1})")));
    Run(filter, "");
    EXPECT_NE(summary_.find(stage), std::string::npos) << summary_;
  }

  // Every document within reach, nearest first.
  void CheckNear(const std::string& filter, const std::string& path) {
    SCOPED_TRACE(filter);
    Rows rows = Run(filter, "");
    expr::Context context;
    bson::Document spec = Json(filter);
    auto parsed = *expr::match::Filter::Parse(spec, &context);
    const auto& near = static_cast<const expr::match::GeoNearNode&>(parsed->root());
    expr::match::Path location(path);
    size_t want = 0;
    for (const bson::Document& document : documents_) {
      want += near.Distance(document, location).has_value() ? 1 : 0;
    }
    EXPECT_EQ(rows.size(), want);
    EXPECT_EQ(Ids(rows).size(), rows.size());
    double last = 0;
    for (const bson::Document& row : rows) {
      double distance = near.Distance(row, location).value_or(-1);
      EXPECT_GE(distance, last);
      last = distance;
    }
  }

  void CheckText(const std::string& search) {
    SCOPED_TRACE(search);
    expr::text::IndexSpec spec;
    spec.weights = {{"t", 2}, {"u", 1}};
    auto query = *expr::text::Query::Parse({.search = search}, "english");
    std::vector<int32_t> want;
    for (const bson::Document& document : documents_) {
      auto scores = *expr::text::ScoreDocument(spec, document);
      bool found = std::any_of(query.terms().begin(), query.terms().end(),
                               [&](const std::string& term) { return scores.contains(term); });
      if (found && *query.Matches(spec, document)) {
        want.push_back(document["_id"].AsInt32());
      }
    }
    std::sort(want.begin(), want.end());
    std::string quoted;
    for (char c : search) {
      quoted += c == '"' ? "\\\"" : std::string(1, c);
    }
    std::string filter = R"({"$text": {"$search": ")" + quoted + "\"}}";
    EXPECT_EQ(Ids(Run(filter, "")), want);
    EXPECT_EQ(Ids(Run(filter, R"(, "sort": {"s": {"$meta": "textScore"}})")), want);
  }

  Generator& generator() { return generator_; }

 private:
  void Insert(size_t n, bool flat) {
    for (size_t i = 0; i < n; ++i) {
      std::string text = R"({"_id": )" + std::to_string(documents_.size()) + R"(, "k": )" +
                         std::to_string(generator_.Below(3));
      if (generator_.Below(10) != 0) {
        text += R"(, "loc": )" + (flat ? FlatPlace() : generator_.Place());
      }
      text += R"(, "t": ")" + generator_.Words(6) + R"(", "u": ")" + generator_.Words(3) + "\"}";
      documents_.push_back(Json(text));
      Status status = collection_.Insert({documents_.back()});
      ASSERT_TRUE(status.ok()) << text << ": " << status.ToString();
    }
  }

  std::string FlatPlace() {
    std::string pair = generator_.Pair();
    return generator_.Below(4) == 0 ? "[" + pair + ", " + generator_.Pair() + "]" : pair;
  }

  Rows Run(const std::string& filter, const std::string& rest) {
    auto txn = *store::Transaction::Begin(collection_.store(), true);
    bson::Document spec = Json(R"({"filter": )" + filter + rest + "}");
    TestQuery query(collection_.info(), spec);
    auto rows = query.Run(*txn);
    EXPECT_TRUE(rows.ok()) << rows.status().ToString();
    summary_ = rows.ok() ? query.plan().Summary() : "";
    return rows.ok() ? *rows : Rows();
  }

  static std::vector<int32_t> Ids(const Rows& rows) {
    std::vector<int32_t> ids;
    for (const bson::Document& row : rows) {
      ids.push_back(row["_id"].AsInt32());
    }
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    return ids;
  }

  Generator generator_;
  TestCollection collection_;
  Rows documents_;
  std::string summary_;
};

class SpecialModelTest : public testing::TestWithParam<uint64_t> {};

TEST_P(SpecialModelTest, Sphere) {
  SpecialModel model(GetParam());
  model.Fill(R"({"key": {"loc": "2dsphere"}, "name": "s", "2dsphereIndexVersion": 3})", false);
  Generator& g = model.generator();
  for (int i = 0; i < 10; ++i) {
    std::string polygon =
        R"({"$geometry": {"type": "Polygon", "coordinates": )" + g.Square() + "}}";
    model.CheckFilter(R"({"loc": {"$geoIntersects": )" + polygon + "}}", "IXSCAN");
    model.CheckFilter(R"({"k": 1, "loc": {"$geoWithin": )" + polygon + "}}", "IXSCAN");
    model.CheckFilter(R"({"loc": {"$geoWithin": {"$centerSphere": [)" + g.Pair() + ", " +
                          std::to_string(g.Number(0, 0.4)) + "]}}}",
                      "IXSCAN");
    std::string point = R"({"$geometry": {"type": "Point", "coordinates": )" + g.Pair() + "}";
    model.CheckNear(R"({"loc": {"$near": )" + point + "}}}", "loc");
    model.CheckNear(R"({"loc": {"$nearSphere": )" + point + R"(, "$minDistance": 1000, )" +
                        R"("$maxDistance": 900000}}})",
                    "loc");
    model.CheckNear(R"({"loc": {"$nearSphere": )" + g.Pair() + "}}", "loc");
  }
}

TEST_P(SpecialModelTest, SphereOfOtherLevels) {
  SpecialModel model(GetParam());
  model.Fill(
      R"({"key": {"loc": "2dsphere"}, "name": "s", "coarsestIndexedLevel": 3, "finestIndexedLevel": 9})",
      false);
  Generator& g = model.generator();
  for (int i = 0; i < 5; ++i) {
    std::string polygon =
        R"({"$geometry": {"type": "Polygon", "coordinates": )" + g.Square() + "}}";
    model.CheckFilter(R"({"loc": {"$geoIntersects": )" + polygon + "}}", "IXSCAN");
    model.CheckNear(R"({"loc": {"$nearSphere": )" + g.Pair() + "}}", "loc");
  }
}

TEST_P(SpecialModelTest, CompoundSphere) {
  SpecialModel model(GetParam());
  model.Fill(R"({"key": {"k": -1, "loc": "2dsphere"}, "name": "s"})", false);
  Generator& g = model.generator();
  for (int i = 0; i < 10; ++i) {
    std::string polygon =
        R"({"$geometry": {"type": "Polygon", "coordinates": )" + g.Square() + "}}";
    model.CheckFilter(R"({"k": {"$gte": 1}, "loc": {"$geoIntersects": )" + polygon + "}}",
                      "IXSCAN");
    model.CheckFilter(R"({"k": 1})", "COLLSCAN");
  }
}

TEST_P(SpecialModelTest, Flat) {
  SpecialModel model(GetParam());
  model.Fill(R"({"key": {"loc": "2d", "k": 1}, "name": "f"})", true);
  Generator& g = model.generator();
  for (int i = 0; i < 10; ++i) {
    model.CheckFilter(R"({"loc": {"$geoWithin": {"$box": [)" + g.Pair() + ", " + g.Pair() + "]}}}",
                      "IXSCAN");
    std::string circle = "[" + g.Pair() + ", " + std::to_string(g.Number(0, 1)) + "]";
    model.CheckFilter(R"({"k": 1, "loc": {"$geoWithin": {"$center": )" + circle + "}}}", "IXSCAN");
    model.CheckFilter(R"({"loc": {"$geoWithin": {"$centerSphere": )" + circle + "}}}", "IXSCAN");
    model.CheckFilter(R"({"loc": {"$geoWithin": {"$polygon": [)" + g.Pair() + ", " + g.Pair() +
                          ", " + g.Pair() + "]}}}",
                      "IXSCAN");
    model.CheckNear(R"({"loc": {"$near": )" + g.Pair() + "}}", "loc");
    model.CheckNear(R"({"loc": {"$near": )" + g.Pair() + R"(, "$maxDistance": 0.03}})", "loc");
    model.CheckNear(R"({"loc": {"$nearSphere": )" + g.Pair() + "}}", "loc");
  }
}

TEST_P(SpecialModelTest, Text) {
  SpecialModel model(GetParam());
  model.Fill(
      R"({"key": {"_fts": "text", "_ftsx": 1}, "name": "x", "weights": {"t": 2, "u": 1},
          "default_language": "english", "language_override": "language", "textIndexVersion": 3})",
      false);
  Generator& g = model.generator();
  for (int i = 0; i < 10; ++i) {
    model.CheckText(g.Words(3));
    model.CheckText(g.Words(2) + " -" + g.Words(1));
    model.CheckText("\"" + g.Words(2) + "\"");
  }
  model.CheckText("the");
}

INSTANTIATE_TEST_SUITE_P(Seeds, SpecialModelTest, testing::Range(uint64_t{1}, uint64_t{6}));

}  // namespace
}  // namespace quire::plan
