// SPDX-License-Identifier: Apache-2.0
//
// Accumulated apart and merged gives what is accumulated at once.
#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <random>
#include <set>
#include <span>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/decimal.h"
#include "bson/number.h"
#include "bson/testing/json.h"
#include "expr/accumulate/accumulation_internal.h"
#include "expr/accumulate/accumulator.h"
#include "expr/accumulate/reduce.h"
#include "expr/script.h"

namespace quire::expr {
namespace {

using Documents = std::vector<bson::Document>;
using State = std::unique_ptr<Accumulation>;

class MergeTest : public testing::Test {
 protected:
  MergeTest() {
    eval_.context = &context_;
    eval_.arena = &arena_;
  }

  std::unique_ptr<Accumulator> Parse(const char* spec) {
    kept_.push_back(bson::TestDocument(spec));
    agg::ParseScope scope;
    scope.context = &context_;
    auto parsed = Accumulator::Parse(kept_.back().view().front(), scope);
    EXPECT_TRUE(parsed.ok()) << spec << ": " << parsed.status().ToString();
    return std::move(*parsed);
  }

  State Start(const Accumulator& accumulator) {
    return *accumulator.Start(eval_, bson::Value::Null());
  }

  State Whole(const Accumulator& accumulator, const Documents& documents, size_t from, size_t to) {
    State state = Start(accumulator);
    for (size_t i = from; i < to; ++i) {
      eval_.root = bson::Value(documents[i].view());
      Status added = state->Add(eval_);
      EXPECT_TRUE(added.ok()) << added.ToString();
    }
    return state;
  }

  void Merge(Accumulation& from, Accumulation* into) {
    auto parts = from.Partial(&arena_);
    ASSERT_TRUE(parts.ok()) << parts.status().ToString();
    for (const bson::Value& part : *parts) {
      Status merged = into->Merge(part, eval_);
      ASSERT_TRUE(merged.ok()) << merged.ToString();
    }
  }

  // The documents cut at random places, each piece accumulated, or cut again, and merged in order.
  State InPieces(const Accumulator& accumulator, const Documents& documents, size_t from, size_t to,
                 int depth) {
    State state = Start(accumulator);
    while (from < to) {
      size_t cut = from + 1 + random_() % (to - from);
      bool again = depth > 0 && random_() % 2 == 0;
      State piece = again ? InPieces(accumulator, documents, from, cut, depth - 1)
                          : Whole(accumulator, documents, from, cut);
      Merge(*piece, state.get());
      if (random_() % 4 == 0) {  // a shard without rows of the group
        Merge(*Start(accumulator), state.get());
      }
      from = cut;
    }
    return state;
  }

  // For results that are long to print.
  bool SameBytes(Accumulation& a, Accumulation& b) {
    auto first = a.Finish(&arena_);
    auto second = b.Finish(&arena_);
    return first.ok() && second.ok() && first->BinaryEquals(*second);
  }

  std::string Text(Accumulation& state) {
    auto value = state.Finish(&arena_);
    EXPECT_TRUE(value.ok()) << value.status().ToString();
    bson::Document shown = bson::Builder().Append("r", *value).Finish();
    return bson::ToCanonicalJson(shown.view());
  }

  std::mt19937 random_{20240229};
  Context context_;
  Arena arena_;
  agg::EvalContext eval_;
  std::deque<bson::Document> kept_;
};

// Values whose sums are exact in every order, and that meet each other in several types.
void AppendMixed(std::mt19937& random, bson::Builder* out) {
  const auto small = static_cast<int32_t>(random() % 9) - 4;
  switch (random() % 9) {
    case 0:
      out->Append("v", small);
      break;
    case 1:
      out->Append("v", int64_t{small} * 3000000000);
      break;
    case 2:
      out->Append("v", small * 0.25);
      break;
    case 3:
      out->Append("v", static_cast<double>(small));
      break;
    case 4:
      out->Append(
          "v", bson::decimal::Divide(bson::decimal::FromInt64(small), bson::decimal::FromInt64(8)));
      break;
    case 5:
      out->Append("v", std::string(1 + random() % 3, static_cast<char>('a' + random() % 3)));
      break;
    case 6:
      out->Append("v", bson::Value::Null());
      break;
    case 7:
      out->Append("v", int64_t{small});
      break;
    default:
      break;  // missing
  }
}

Documents RandomDocuments(std::mt19937& random) {
  Documents documents;
  const size_t count = random() % 40;
  for (size_t i = 0; i < count; ++i) {
    bson::Builder out;
    AppendMixed(random, &out);
    out.Append("i", static_cast<int32_t>(random() % 10));
    out.Append("k", static_cast<int32_t>(random() % 5));
    if (random() % 4 != 0) {
      out.BeginArray("a");
      for (size_t n = random() % 4; n > 0; --n) {
        out.Push(static_cast<int32_t>(random() % 6));
      }
      out.End();
    }
    if (random() % 4 != 0) {
      out.BeginDocument("o");
      for (size_t n = random() % 3; n > 0; --n) {
        out.Append("f" + std::to_string(n), static_cast<int32_t>(random() % 6));
      }
      out.End();
    }
    documents.push_back(out.Finish());
  }
  return documents;
}

// Of every accumulator at least one, or of those whose last digits depend on the order.
const char* const kExact[] = {
    "{$sum: '$v'}",
    "{$sum: '$i'}",
    "{$count: {}}",
    "{$avg: '$v'}",
    "{$avg: '$i'}",
    "{$min: '$v'}",
    "{$max: '$v'}",
    "{$first: '$v'}",
    "{$last: '$v'}",
    "{$push: '$v'}",
    "{$addToSet: '$v'}",
    "{$concatArrays: '$a'}",
    "{$setUnion: '$a'}",
    "{$mergeObjects: '$o'}",
    "{$firstN: {n: 3, input: '$v'}}",
    "{$lastN: {n: 3, input: '$v'}}",
    "{$minN: {n: 3, input: '$v'}}",
    "{$maxN: {n: 3, input: '$v'}}",
    "{$top: {output: '$v', sortBy: {k: 1}}}",
    "{$bottom: {output: '$v', sortBy: {k: 1}}}",
    "{$topN: {n: 3, output: '$v', sortBy: {k: 1, i: -1}}}",
    "{$bottomN: {n: 3, output: '$v', sortBy: {k: -1}}}",
    "{$median: {input: '$v', method: 'approximate'}}",
    "{$percentile: {input: '$v', p: [0, 0.3, 1], method: 'approximate'}}",
    "{$accumulator: {init: 'function() { return {n: 0, t: []}; }', accumulate: 'function(s, i) { "
    "return {n: s.n + i, t: s.t.concat([i])}; }', accumulateArgs: ['$i'], merge: 'function(a, b) "
    "{ return {n: a.n + b.n, t: a.t.concat(b.t)}; }', finalize: 'function(s) { return [s.n, "
    "s.t]; }', lang: 'js'}}",
};
const char* const kNear[] = {
    "{$sum: '$v'}",
    "{$avg: '$v'}",
    "{$stdDevPop: '$v'}",
    "{$stdDevSamp: '$v'}",
};

TEST_F(MergeTest, NoAccumulatorIsLeftOut) {
  std::set<std::string> tried;
  for (const auto& specs : {std::span<const char* const>(kExact), {kNear}}) {
    for (const char* spec : specs) {
      const bson::Document parsed = bson::TestDocument(spec);
      tried.emplace(parsed.view().front().name());
    }
  }
  for (const AccumulatorRow& row : AccumulatorRows()) {
    EXPECT_TRUE(tried.contains(std::string(row.name))) << row.name << " is merged by no test";
  }
}

TEST_F(MergeTest, PiecesGiveTheSameAsTheWhole) {
  for (const char* spec : kExact) {
    SCOPED_TRACE(spec);
    auto accumulator = Parse(spec);
    for (int round = 0; round < 60; ++round) {
      Documents documents = RandomDocuments(random_);
      State whole = Whole(*accumulator, documents, 0, documents.size());
      State merged = InPieces(*accumulator, documents, 0, documents.size(), 2);
      ASSERT_EQ(Text(*merged), Text(*whole)) << "round " << round;
      arena_.Reset();
    }
  }
}

TEST_F(MergeTest, ReducedValues) {
  auto reduce =
      MakeReduce(js::Function(ScriptScope(context_),
                              "function(key, values) { var n = 0; for (var i in values) { n += "
                              "values[i]; } return n; }"));
  for (int round = 0; round < 20; ++round) {
    Documents documents;
    for (size_t i = random_() % 30 + 1; i > 0; --i) {
      documents.push_back(
          bson::Builder().Append("v", static_cast<int32_t>(random_() % 10)).Finish());
    }
    State whole = Whole(*reduce, documents, 0, documents.size());
    State merged = InPieces(*reduce, documents, 0, documents.size(), 2);
    ASSERT_EQ(Text(*merged), Text(*whole));
  }
}

TEST_F(MergeTest, RandomDoublesAreNear) {
  for (const char* spec : kNear) {
    SCOPED_TRACE(spec);
    auto accumulator = Parse(spec);
    for (int round = 0; round < 40; ++round) {
      std::normal_distribution<double> normal(100, 15);
      Documents documents;
      for (size_t i = random_() % 60; i > 0; --i) {
        documents.push_back(bson::Builder().Append("v", normal(random_)).Finish());
      }
      State whole = Whole(*accumulator, documents, 0, documents.size());
      State merged = InPieces(*accumulator, documents, 0, documents.size(), 2);
      auto expected = whole->Finish(&arena_);
      auto got = merged->Finish(&arena_);
      ASSERT_TRUE(expected.ok() && got.ok());
      ASSERT_EQ(got->type(), expected->type());
      if (expected->is_number()) {
        const double want = bson::ToDouble(*expected);
        ASSERT_NEAR(bson::ToDouble(*got), want, 1e-12 * std::max(1.0, std::abs(want)));
      }
    }
  }
}

// What is not finite stays so, and what a rounding would lose is kept.
TEST_F(MergeTest, SumsKeepTheirWholeState) {
  struct SumCase {
    const char* spec;
    const char* first;
    const char* second;
  };
  const SumCase kCases[] = {
      {"{$sum: '$v'}", "[{v: 1e16}, {v: 1.0}]", "[{v: 1.0}, {v: -1e16}]"},
      {"{$sum: '$v'}", "[{v: {$numberDouble: 'Infinity'}}]", "[{v: 1}]"},
      {"{$sum: '$v'}", "[{v: 1}]", "[{v: {$numberDouble: '-Infinity'}}]"},
      {"{$sum: '$v'}", "[{v: {$numberDouble: 'Infinity'}}]", "[{v: {$numberDouble: '-Infinity'}}]"},
      {"{$sum: '$v'}", "[{v: 2147483647}]", "[{v: 1}]"},
      {"{$sum: '$v'}", "[{v: {$numberLong: '9223372036854775807'}}]", "[{v: 1}]"},
      {"{$sum: '$v'}", "[{v: 0.1}]", "[{v: {$numberDecimal: '0.1'}}, {v: 0.2}]"},
      {"{$sum: '$v'}", "[]", "[{v: 'x'}]"},
      {"{$avg: '$v'}", "[]", "[{v: 'x'}]"},
      {"{$avg: '$v'}", "[{v: {$numberDecimal: '1'}}]", "[{v: 2}]"},
      {"{$stdDevPop: '$v'}", "[{v: {$numberDouble: 'NaN'}}]", "[{v: 2}]"},
      {"{$stdDevSamp: '$v'}", "[{v: 1}]", "[{v: 3}]"},
      {"{$stdDevSamp: '$v'}", "[]", "[{v: 3}]"},
  };
  for (const SumCase& test : kCases) {
    SCOPED_TRACE(std::string(test.spec) + test.first + test.second);
    auto accumulator = Parse(test.spec);
    Documents documents;
    size_t cut = 0;
    for (const char* list : {test.first, test.second}) {
      cut = documents.size();
      bson::Document parsed = bson::TestDocument(std::string("{d: ") + list + "}");
      for (const bson::Element& element : parsed["d"].AsArray()) {
        documents.emplace_back(element.value().AsDocument());
      }
    }
    State whole = Whole(*accumulator, documents, 0, documents.size());
    State merged = Start(*accumulator);
    Merge(*Whole(*accumulator, documents, 0, cut), merged.get());
    Merge(*Whole(*accumulator, documents, cut, documents.size()), merged.get());
    EXPECT_EQ(Text(*merged), Text(*whole));
  }
}

// Large states come in several parts, each far from the limit of documents.
TEST_F(MergeTest, LargeStatesHaveSeveralParts) {
  const char* const kAccumulators[] = {
      "{$push: '$v'}",
      "{$addToSet: '$v'}",
      "{$concatArrays: '$w'}",
      "{$setUnion: '$w'}",
      "{$mergeObjects: {$arrayToObject: [[{k: '$v', v: '$v'}]]}}",
      "{$firstN: {n: 100, input: '$v'}}",
      "{$lastN: {n: 100, input: '$v'}}",
      "{$minN: {n: 100, input: '$v'}}",
      "{$topN: {n: 100, output: '$v', sortBy: {i: 1}}}",
  };
  Documents documents;
  for (int i = 0; i < 70; ++i) {
    std::string text(40000, 'x');
    text += std::to_string(i);
    bson::Builder out;
    out.Append("v", text).BeginArray("w").Push(text).End().Append("i", i);
    documents.push_back(out.Finish());
  }
  for (const char* spec : kAccumulators) {
    SCOPED_TRACE(spec);
    auto accumulator = Parse(spec);
    State whole = Whole(*accumulator, documents, 0, documents.size());
    auto parts = whole->Partial(&arena_);
    ASSERT_TRUE(parts.ok());
    EXPECT_GT(parts->size(), 2u);
    for (const bson::Value& part : *parts) {
      EXPECT_LT(part.AsDocument().size(), Accumulation::kPartBytes + 100000);
    }
    State merged = Start(*accumulator);
    Merge(*whole, merged.get());
    EXPECT_TRUE(SameBytes(*merged, *whole));
    arena_.Reset();
  }
}

TEST_F(MergeTest, LargePercentilesHaveSeveralParts) {
  auto accumulator = Parse("{$percentile: {input: '$v', p: [0.1, 0.9], method: 'approximate'}}");
  State whole = Start(*accumulator);
  bson::Document document;
  for (int i = 0; i < 300000; ++i) {
    document = bson::Builder().Append("v", static_cast<double>(random_())).Finish();
    eval_.root = bson::Value(document.view());
    ASSERT_TRUE(whole->Add(eval_).ok());
  }
  auto parts = whole->Partial(&arena_);
  ASSERT_TRUE(parts.ok());
  EXPECT_EQ(parts->size(), 3u);
  State merged = Start(*accumulator);
  Merge(*whole, merged.get());
  EXPECT_EQ(Text(*merged), Text(*whole));
}

TEST_F(MergeTest, RefusesWhatIsNoPart) {
  const char* const kAccumulators[] = {
      "{$sum: '$v'}",
      "{$avg: '$v'}",
      "{$stdDevPop: '$v'}",
      "{$push: '$v'}",
      "{$addToSet: '$v'}",
      "{$mergeObjects: '$v'}",
      "{$firstN: {n: 3, input: '$v'}}",
      "{$maxN: {n: 3, input: '$v'}}",
      "{$topN: {n: 3, output: '$v', sortBy: {k: 1}}}",
      "{$median: {input: '$v', method: 'approximate'}}",
  };
  bson::Document bad = bson::TestDocument("{s: 'x', sums: [1, 2], pairs: [{}]}");
  for (const char* spec : kAccumulators) {
    SCOPED_TRACE(spec);
    auto accumulator = Parse(spec);
    State state = Start(*accumulator);
    EXPECT_EQ(state->Merge(bad["s"], eval_).code(), kFailedToParse);
  }
  EXPECT_EQ(Start(*Parse("{$sum: '$v'}"))->Merge(bad["sums"], eval_).code(), kFailedToParse);
  EXPECT_EQ(Start(*Parse("{$topN: {n: 3, output: '$v', sortBy: {k: 1}}}"))
                ->Merge(bad["pairs"], eval_)
                .code(),
            kFailedToParse);
}

}  // namespace
}  // namespace quire::expr
