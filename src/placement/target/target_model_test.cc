// SPDX-License-Identifier: Apache-2.0
//
// Random keys, chunks, documents and filters: every shard that holds a matching document is asked.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "expr/collation/collator.h"
#include "expr/match/match.h"
#include "placement/target/target.h"
#include "placement/testing/maps.h"

namespace quire::placement {
namespace {

class Chance {
 public:
  explicit Chance(uint32_t seed) : random_(seed) {}
  size_t Below(size_t n) { return random_() % n; }
  bool OneIn(size_t n) { return Below(n) == 0; }
  const char* Of(std::initializer_list<const char*> choices) {
    return *(choices.begin() + Below(choices.size()));
  }

 private:
  std::mt19937 random_;
};

std::string Number(Chance& chance) {
  const int number = static_cast<int>(chance.Below(9)) - 4;
  switch (chance.Below(4)) {
    case 0:
      return std::to_string(number) + ".5";
    case 1:
      return "{$numberLong: '" + std::to_string(number) + "'}";
    default:
      return std::to_string(number);
  }
}

std::string Scalar(Chance& chance) {
  switch (chance.Below(9)) {
    case 0:
      return "null";
    case 1:
    case 2:
      return std::string("'") + chance.Of({"a", "A", "b", "B", "ab", "c", "m", "z"}) + "'";
    case 3:
      return chance.Of({"true", "false", "{$date: {$numberLong: '1000'}}", "{$minKey: 1}",
                        "{$maxKey: 1}", "{$numberDouble: 'NaN'}",
                        "{$oid: '000000000000000000000001'}"});
    default:
      return Number(chance);
  }
}

std::string Any(Chance& chance) {
  if (chance.OneIn(10)) {
    return "{b: " + Scalar(chance) + ", c: " + Scalar(chance) + "}";
  }
  return Scalar(chance);
}

const std::vector<std::string> kPaths = {"x", "y", "a.b", "a.c"};

std::string Document(Chance& chance) {
  std::string text = "{";
  if (!chance.OneIn(5)) {
    text += "x: " + (chance.OneIn(20) ? "{$undefined: true}" : Any(chance)) + ", ";
  }
  if (!chance.OneIn(5)) text += "y: " + Any(chance) + ", ";
  if (!chance.OneIn(8)) {
    text += "a: " +
            (chance.OneIn(6)
                 ? Any(chance)
                 : "{b: " + Any(chance) + (chance.OneIn(4) ? "" : ", c: " + Any(chance)) + "}") +
            ", ";
  }
  return text + "n: 1}";
}

std::string List(Chance& chance) {
  std::string text = "[";
  for (size_t i = 1 + chance.Below(4); i > 0; --i) {
    text += (text.size() > 1 ? ", " : "") + Any(chance);
  }
  return text + "]";
}

std::string Condition(Chance& chance) {
  switch (chance.Below(13)) {
    case 0:
      return "{$gt: " + Any(chance) + "}";
    case 1:
      return "{$gte: " + Any(chance) + ", $lt: " + Any(chance) + "}";
    case 2:
      return "{$lte: " + Any(chance) + "}";
    case 3:
      return "{$in: " + List(chance) + "}";
    case 4:
      return std::string("{$exists: ") + chance.Of({"true", "false"}) + "}";
    case 5:
      return "{$ne: " + Any(chance) + "}";
    case 6:
      return "{$not: {$gt: " + Any(chance) + "}}";
    case 7:
      return "{$nin: " + List(chance) + "}";
    case 8:
      return std::string("{$type: '") + chance.Of({"int", "string", "null", "object", "bool"}) +
             "'}";
    case 9:
      return std::string("{$regex: '") + chance.Of({"^a", "^A", "b", "^(a|b)", "^m"}) + "'}";
    case 10:
      return "{$mod: [2, 1]}";
    default:
      return Any(chance);
  }
}

std::string Filter(Chance& chance, int depth) {
  std::string text = "{";
  for (size_t i = 1 + chance.Below(3); i > 0; --i) {
    text += text.size() > 1 ? ", " : "";
    if (depth > 0 && chance.OneIn(4)) {
      text += std::string(chance.Of({"$or", "$and", "$nor"})) + ": [" + Filter(chance, depth - 1) +
              ", " + Filter(chance, depth - 1) + "]";
    } else if (chance.OneIn(8)) {
      text += std::string("$expr: {") + chance.Of({"$eq", "$lt", "$gte"}) + ": ['$" +
              kPaths[chance.Below(kPaths.size())] + "', " + Number(chance) + "]}";
    } else {
      text += "'" + kPaths[chance.Below(kPaths.size())] + "': " + Condition(chance);
    }
  }
  return text + "}";
}

const char* const kKeys[] = {"{x: 1}",
                             "{x: 1, y: 1}",
                             "{'a.b': 1}",
                             "{'a.b': 1, 'a.c': 1}",
                             "{x: 'hashed'}",
                             "{x: 1, 'a.b': 'hashed'}",
                             "{'a.b': 'hashed', y: 1}"};

// Borders are keys of random documents, so that documents lie on both sides of all of them.
ChunkMapPtr RandomMap(Chance& chance, const ShardKeyPattern& pattern) {
  std::set<ShardKey> borders;
  for (size_t i = chance.Below(12); i > 0; --i) {
    bson::Document document = bson::TestDocument(Document(chance));
    borders.insert(*pattern.KeyOf(document.view()));
  }
  borders.erase(pattern.Lowest());
  borders.insert(pattern.Highest());
  Chunks chunks;
  ShardKey begin = pattern.Lowest();
  for (const ShardKey& border : borders) {
    Chunk chunk;
    chunk.range = {begin, border};
    chunk.shard = "s" + std::to_string(chance.Below(4));
    chunk.version = {1, 0};
    chunks.push_back(std::make_shared<const Chunk>(std::move(chunk)));
    begin = border;
  }
  auto map = ChunkMap::Make(pattern, {}, std::move(chunks), {});
  EXPECT_TRUE(map.ok()) << map.status().ToString();
  return *map;
}

struct Counts {
  int matches = 0;
  int narrow = 0;  // asked fewer shards than there are
};

void CheckFilter(const ChunkMap& map, const std::vector<bson::Document>& documents,
                 const std::string& text, const expr::Context& context, Counts* counts) {
  bson::Document spec = bson::TestDocument(text);
  auto filter = expr::match::Filter::Parse(spec.view(), &context);
  ASSERT_TRUE(filter.ok()) << text << filter.status().ToString();
  const Targets targets = TargetFilter(map, (*filter)->root(), context);
  ASSERT_FALSE(targets.shards.empty());
  counts->narrow += targets.shards.size() < map.shards().size();
  for (const bson::Document& document : documents) {
    auto matches = (*filter)->Matches(document.view());
    ASSERT_TRUE(matches.ok());
    if (!*matches) {
      continue;
    }
    ++counts->matches;
    const ShardName shard = *TargetInsert(map, document.view());
    ASSERT_TRUE(targets.shards.contains(shard))
        << text << " matches " << bson::ToJson(document) << " on " << shard << ", key "
        << map.pattern().ToString() << ", targeted by " << NameOf(targets.by);
  }
}

TEST(TargetModel, EveryShardWithAMatchIsAsked) {
  bson::Document spec = bson::TestDocument("{locale: 'en', strength: 2}");
  auto collator = expr::Collator::Parse(spec.view());
  ASSERT_TRUE(collator.ok());
  Counts counts;
  int filters = 0;
  for (uint32_t seed = 1; seed <= 150 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Chance chance(seed);
    const ShardKeyPattern pattern = TestPattern(kKeys[chance.Below(std::size(kKeys))]);
    ChunkMapPtr map = RandomMap(chance, pattern);
    std::vector<bson::Document> documents;
    for (int i = 0; i < 60; ++i) {
      documents.push_back(bson::TestDocument(Document(chance)));
    }
    expr::Context context;
    context.collator = chance.OneIn(4) ? collator->get() : nullptr;
    for (int i = 0; i < 40; ++i, ++filters) {
      CheckFilter(*map, documents, Filter(chance, 2), context, &counts);
    }
  }
  EXPECT_GT(counts.matches, filters);
  EXPECT_GT(counts.narrow, filters / 10);
}

}  // namespace
}  // namespace quire::placement
