// SPDX-License-Identifier: Apache-2.0
#include "exec/group/group.h"

#include <gtest/gtest.h>

#include <map>

#include "bson/testing/json.h"
#include "exec/combine/union_with.h"
#include "exec/documents.h"

namespace quire::exec {
namespace {

class GroupTest : public testing::Test {
 protected:
  // Groups by $k, with the field `f` accumulated by `spec`, and `n` a count.
  explicit GroupTest(const char* spec = "{f: {$push: '$v'}, n: {$count: {}}, id: '$k'}")
      : spec_(bson::TestDocument(spec)) {
    agg_scope_.context = &context_;
    id_ = *expr::agg::ParseExpression(spec_["id"], agg_scope_);
    for (const char* name : {"f", "n"}) {
      accumulators_.push_back(
          *expr::Accumulator::Parse(spec_[name].AsDocument().front(), agg_scope_));
    }
  }

  std::unique_ptr<Operator> Over(std::unique_ptr<Operator> input, bool merges, bool gives) {
    GroupOptions options;
    options.id = id_.get();
    options.fields = {{"f", accumulators_[0].get()}, {"n", accumulators_[1].get()}};
    options.context = &context_;
    options.merges_partials = merges;
    options.gives_partials = gives;
    options.allow_disk = true;
    return std::make_unique<Group>(std::move(input), std::move(options));
  }

  // {_id} of each row to the row.
  std::map<std::string, std::string> Collect(Operator& top, size_t* rows, size_t* largest,
                                             size_t memory = size_t{100} << 20) {
    OpContext op;
    op.memory_limit = memory;
    std::map<std::string, std::string> all;
    Row row;
    while (*top.Next(op, &row)) {
      ++*rows;
      *largest = std::max<size_t>(*largest, row.document.size());
      all[bson::ToJson(row.document["_id"])] = bson::ToJson(row.document);
    }
    return all;
  }

  bson::Document spec_;
  expr::Context context_;
  expr::agg::ParseScope agg_scope_;
  std::unique_ptr<expr::agg::Expression> id_;
  std::vector<std::unique_ptr<expr::Accumulator>> accumulators_;
};

// Documents {k, v} with values of `size` bytes.
Documents::List Rows(int from, int to, size_t size) {
  Documents::List list;
  for (int i = from; i < to; ++i) {
    bson::Builder out;
    out.Append("k", i % 3).Append("v", std::to_string(i) + std::string(size, 'x'));
    list.push_back(out.Finish());
  }
  return list;
}

TEST_F(GroupTest, PartialStatesOfTwoInputsAreMerged) {
  for (size_t size : {size_t{1}, size_t{200000}}) {
    for (size_t memory : {size_t{100} << 20, size_t{1000}}) {
      SCOPED_TRACE(size);
      size_t rows = 0;
      size_t largest = 0;
      auto whole = Over(std::make_unique<Documents>(Rows(0, 100, size)), false, false);
      auto expected = Collect(*whole, &rows, &largest);
      EXPECT_EQ(rows, 3u);
      auto first = Over(std::make_unique<Documents>(Rows(0, 60, size)), false, true);
      auto inputs = std::make_unique<UnionWith>(std::move(first), [&](OpContext&) {
        return Result<std::unique_ptr<Operator>>(
            Over(std::make_unique<Documents>(Rows(60, 100, size)), false, true));
      });
      auto merged = Over(std::move(inputs), true, false);
      EXPECT_EQ(Collect(*merged, &rows, &largest, memory), expected);
    }
  }
}

TEST_F(GroupTest, LargeStatesAreGivenInSeveralRows) {
  size_t rows = 0;
  size_t largest = 0;
  auto partials = Over(std::make_unique<Documents>(Rows(0, 150, 200000)), false, true);
  Collect(*partials, &rows, &largest);
  EXPECT_GT(rows, 9u) << "10 MB in each of three groups";
  EXPECT_LT(largest, size_t{5} << 20);
}

class ScriptGroupTest : public GroupTest {
 protected:
  ScriptGroupTest()
      : GroupTest(
            "{f: {$accumulator: {init: 'function() { return {n: 0, merged: false}; }', accumulate: "
            "'function(s) { return {n: s.n + 1, merged: s.merged}; }', accumulateArgs: [], merge: "
            "'function(a, b) { return {n: a.n + b.n, merged: true}; }', lang: 'js'}}, n: {$count: "
            "{}}, id: '$k'}") {}
};

TEST_F(ScriptGroupTest, StatesThatWereOnDiskAreMerged) {
  for (const auto& [memory, merged] : {std::pair(size_t{100} << 20, false), {size_t{1000}, true}}) {
    size_t rows = 0;
    size_t largest = 0;
    auto group = Over(std::make_unique<Documents>(Rows(0, 90, 1)), false, false);
    for (const auto& [id, row] : Collect(*group, &rows, &largest, memory)) {
      EXPECT_EQ(row, R"({"_id":)" + id + R"(,"f":{"n":30.0,"merged":)" +
                         (merged ? "true" : "false") + R"(},"n":30})");
    }
    EXPECT_EQ(rows, 3u);
    EXPECT_EQ(group->counters().spills > 0, merged);
  }
}

}  // namespace
}  // namespace quire::exec
