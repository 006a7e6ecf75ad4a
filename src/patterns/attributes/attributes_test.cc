// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/attributes.h"

#include <gtest/gtest.h>

#include <random>

#include "patterns/testing/world.h"
#include "quire/patterns/field_names.h"
#include "quire/patterns/names.h"

namespace quire::patterns {
namespace {

using bson::Document;
using bson::OwnedValue;
using bson::Value;

constexpr AttributeEncoding kEncodings[] = {AttributeEncoding::kDocument, AttributeEncoding::kPairs,
                                            AttributeEncoding::kKeyValue};

const Attributes kDisk = {{"Seek Time", OwnedValue(Value("5ms"))},
                          {"Rotational Speed", OwnedValue(Value("15k RPM"))},
                          {"a.b$%", OwnedValue(Value(7))}};

class AttributesTest : public ::testing::TestWithParam<Place> {};

TEST_P(AttributesTest, EncodingsAnswerAlike) {
  for (AttributeEncoding encoding : kEncodings) {
    World world(GetParam());
    AttributeCatalog catalog(world.client, world.database, encoding,
                             {"Seek Time", "a.b$%", "capacity"}, world.seams());
    ASSERT_TRUE(catalog.CreateIndexes().ok());
    EXPECT_TRUE(catalog.MissingIndexes()->empty());
    ASSERT_TRUE(catalog.Put("disk", kDisk).ok());
    for (int i = 0; i < 10; ++i) {
      ASSERT_TRUE(catalog
                      .Put("p" + std::to_string(i), {{"capacity", OwnedValue(Value(i * 100))},
                                                     {"weight", OwnedValue(Value(i))}})
                      .ok());
    }
    ASSERT_TRUE(catalog.Put("p9", {{"capacity", OwnedValue(Value(1))}}).ok());
    using Ids = std::vector<std::string>;
    EXPECT_EQ(*catalog.FindByAttribute("Seek Time", Value("5ms")), Ids{"disk"});
    EXPECT_EQ(*catalog.FindByAttribute("a.b$%", Value(7)), Ids{"disk"});
    EXPECT_EQ(*catalog.FindByAttribute("5ms", Value("Seek Time")), Ids{});
    EXPECT_EQ(*catalog.FindByAttribute("capacity", Value(900)), Ids{});
    EXPECT_EQ(*catalog.FindByRange("capacity", Value(200), Value(500)), (Ids{"p2", "p3", "p4"}));
    EXPECT_TRUE(Is(catalog.FindByAttribute("", Value(1)).status(), Error::kInvalidName));
    EXPECT_TRUE(Is(catalog.Get("none").status(), Error::kNotFound));
    EXPECT_EQ(catalog.Get("disk")->at(2).first, "a.b$%");

    const bool pairs = encoding == AttributeEncoding::kPairs;
    std::vector<Document> filters = {*catalog.EqualityFilter("capacity", Value(300))};
    if (!pairs) {  // the order of pairs is not one of the index's ranges
      filters.push_back(*catalog.RangeFilter("capacity", Value(200), Value(500)));
    }
    for (const Document& filter : filters) {
      Explained explained = Explain(world.store, Doc("find", "products", "filter", filter));
      EXPECT_EQ(explained.plan.find("COLLSCAN"), std::string::npos) << explained.plan;
      const int64_t intervals = pairs ? 2 : 1;  // the pair as an element, and as the whole array
      EXPECT_LE(explained.keys, explained.returned + intervals) << explained.plan;
    }
  }
}

// Values that MongoDB's dotted paths would find elsewhere, too: in arrays, and where there is none.
TEST_P(AttributesTest, EncodingsAnswerAlikeForEveryValue) {
  const Document values =
      Doc("null", Value::Null(), "one", 1, "list", List(1, 2), "lists", List(List(1, 2), 3),
          "document", Doc("$gt", 0), "text", "1", "empty", List());
  for (AttributeEncoding encoding : kEncodings) {
    World world(GetParam());
    AttributeCatalog catalog(world.client, world.database, encoding, {"x"}, world.seams());
    ASSERT_TRUE(catalog.CreateIndexes().ok());
    for (const bson::Element& value : values.view()) {
      ASSERT_TRUE(catalog.Put(value.name(), {{"x", OwnedValue(value.value())}}).ok());
    }
    ASSERT_TRUE(catalog.Put("none", {{"y", OwnedValue(Value(1))}}).ok());
    for (const bson::Element& value : values.view()) {
      auto found = catalog.FindByAttribute("x", value.value());
      ASSERT_TRUE(found.ok()) << found.status().ToString();
      EXPECT_EQ(*found, std::vector<std::string>{std::string(value.name())})
          << static_cast<int>(encoding);
    }
    EXPECT_EQ(*catalog.FindByRange("x", Value(0), Value(9)), std::vector<std::string>{"one"});
  }
}

TEST_P(AttributesTest, PutIsDoneOrNot) {
  for (AttributeEncoding encoding : kEncodings) {
    auto catalog = [&](World* world, const Seams& seams) {
      return AttributeCatalog(world->client, world->database, encoding, {"a", "b"}, seams);
    };
    CrashCase test;
    test.setup = [&](World* world) {
      ASSERT_TRUE(catalog(world, world->seams()).CreateIndexes().ok());
      ASSERT_TRUE(catalog(world, world->seams()).Put("p", {{"a", OwnedValue(Value(1))}}).ok());
    };
    test.operation = [&](World* world, const Seams& seams) {
      return catalog(world, seams).Put("p", {{"b", OwnedValue(Value(2))}});
    };
    test.settle = [](World*) {};
    test.always = [&](World* world) {
      AttributeCatalog products = catalog(world, world->seams());
      EXPECT_EQ(products.FindByAttribute("a", Value(1))->size() +
                    products.FindByAttribute("b", Value(2))->size(),
                1u);
    };
    test.settled = test.always;
    EXPECT_GE(RunCrashCase(GetParam(), test), 6);
  }
}

INSTANTIATE_TEST_SUITE_P(Places, AttributesTest,
                         ::testing::Values(Place::kEmbedded, Place::kServed),
                         [](const auto& place) { return PlaceName(place.param); });

TEST(AttributeEncodingTest, RoundTrips) {
  for (AttributeEncoding encoding : kEncodings) {
    auto encoded = EncodeAttributes(kDisk, encoding);
    ASSERT_TRUE(encoded.ok());
    auto decoded = DecodeAttributes(encoded->value(), encoding);
    ASSERT_TRUE(decoded.ok());
    ASSERT_EQ(decoded->size(), kDisk.size());
    for (size_t i = 0; i < kDisk.size(); ++i) {
      EXPECT_EQ((*decoded)[i].first, kDisk[i].first);
      EXPECT_TRUE((*decoded)[i].second.value().BinaryEquals(kDisk[i].second.value()));
    }
    EXPECT_TRUE(Is(DecodeAttributes(Value(1), encoding).status(), Error::kWrongType));
    Attributes twice = {kDisk[0], kDisk[0]};
    EXPECT_TRUE(Is(EncodeAttributes(twice, encoding).status(), Error::kNameClash));
    EXPECT_TRUE(
        Is(EncodeAttributes({{"", OwnedValue(Value(1))}}, encoding).status(), Error::kInvalidName));
  }
  Document pairs = Doc("p", List(List("a")));
  EXPECT_TRUE(
      Is(DecodeAttributes(pairs["p"], AttributeEncoding::kPairs).status(), Error::kWrongType));
}

TEST(NamesTest, EncodeAndDecode) {
  struct {
    std::string plain;
    const char* encoded;
  } const kRows[] = {{"family", "family"}, {"a.b", "a%2Eb"}, {"$x", "%24x"},
                     {"100%", "100%25"},   {"%2E", "%252E"}, {std::string("a\0b", 3), "a%00b"}};
  for (const auto& row : kRows) {
    EXPECT_EQ(*EncodeName(row.plain), row.encoded);
    EXPECT_EQ(DecodeName(row.encoded), row.plain);
  }
  EXPECT_TRUE(Is(EncodeName("").status(), Error::kInvalidName));
}

Document Json(std::string_view text) { return *Document::FromJson(text); }

TEST(FieldNamesTest, ShortensEverywhere) {
  auto names = FieldNames::Make({{"name", "n"}, {"address", "a"}, {"street", "s"}});
  ASSERT_TRUE(names.ok());
  struct {
    const char* longer;
    const char* shorter;
  } const kRows[] = {
      {R"({"name": "x", "address": {"street": "y"}})", R"({"n": "x", "a": {"s": "y"}})"},
      {R"({"address.street": {"$in": ["name"]}})", R"({"a.s": {"$in": ["name"]}})"},
      {R"({"$set": {"address.0.street": 1, "address.$[i].name": 2}})",
       R"({"$set": {"a.0.s": 1, "a.$[i].n": 2}})"},
      {R"({"$rename": {"name": "address.name"}})", R"({"$rename": {"n": "a.n"}})"},
      {R"({"$or": [{"name": 1}, {"other": 2}]})", R"({"$or": [{"n": 1}, {"other": 2}]})"},
      {R"({"n": 1, "~n": 2, "name": 3})", R"({"~n": 1, "~~n": 2, "n": 3})"},
      {R"({"_id": 1, "": {"": []}})", R"({"_id": 1, "": {"": []}})"},
  };
  for (const auto& row : kRows) {
    Document document = Json(row.longer);
    Document stored = names->Shorten(document);
    Document expected = Json(row.shorter);
    EXPECT_EQ(bson::ToJson(stored.view()), bson::ToJson(expected.view()));
    Document back = names->Lengthen(stored);
    EXPECT_EQ(bson::ToJson(back.view()), bson::ToJson(document.view()));
  }
  EXPECT_EQ(names->ShortenPath("address.street"), "a.s");
  EXPECT_EQ(names->LengthenPath("a.s"), "address.street");
}

TEST(FieldNamesTest, RandomDocumentsRoundTrip) {
  auto names = FieldNames::Make({{"aa", "b"}, {"b", "c"}, {"x", "aa"}});
  ASSERT_TRUE(names.ok());
  std::mt19937 random(3);
  const char* const kNames[] = {"aa", "b", "c", "x", "~b", "~", "aa.b", "$b", "~~c.x", "$rename"};
  for (int i = 0; i < 500; ++i) {
    bson::Builder out;
    int open = 0;
    for (int field = 0; field < 12; ++field) {
      const char* name = kNames[random() % std::size(kNames)];
      if (random() % 3 == 0) {
        random() % 2 == 0 ? out.BeginDocument(name) : out.BeginArray(name);
        ++open;
      } else if (random() % 3 == 0) {
        out.Append(name, kNames[random() % std::size(kNames)]);
      } else if (open > 0 && random() % 3 == 0) {
        out.End();
        --open;
      } else {
        out.Append(name, field);
      }
    }
    for (; open > 0; --open) {
      out.End();
    }
    Document document = out.Finish();
    Document stored = names->Shorten(document);
    Document back = names->Lengthen(stored);
    ASSERT_EQ(back.bytes(), document.bytes()) << bson::ToJson(document.view());
  }
}

TEST(FieldNamesTest, IsInjectiveAndVersioned) {
  EXPECT_TRUE(Is(FieldNames::Make({{"a", "x"}, {"b", "x"}}).status(), Error::kNameClash));
  EXPECT_TRUE(Is(FieldNames::Make({{"a", "x"}, {"a", "y"}}).status(), Error::kNameClash));
  for (const char* bad : {"", "a.b", "$a", "~a", "12"}) {
    EXPECT_TRUE(Is(FieldNames::Make({{"a", bad}}).status(), Error::kInvalidName)) << bad;
    EXPECT_TRUE(Is(FieldNames::Make({{bad, "a"}}).status(), Error::kInvalidName)) << bad;
  }
  auto names = FieldNames::Make({{"name", "n"}});
  ASSERT_TRUE(names.ok());
  EXPECT_EQ(names->version(), 1);
  auto more = names->Extend({{"title", "t"}});
  ASSERT_TRUE(more.ok());
  EXPECT_EQ(more->version(), 2);
  EXPECT_EQ(more->ShortenPath("name.title"), "n.t");
  EXPECT_TRUE(Is(names->Extend({{"number", "n"}}).status(), Error::kNameClash));
}

}  // namespace
}  // namespace quire::patterns
