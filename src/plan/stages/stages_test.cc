// SPDX-License-Identifier: Apache-2.0
//
// Pipelines lowered and run over collections in memory.
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <random>

#include "base/try.h"
#include "bson/testing/json.h"
#include "exec/documents.h"
#include "exec/testing/waits_at_random.h"
#include "pipeline/parse.h"
#include "pipeline/rewrite.h"
#include "plan/stages/lower_stages.h"

namespace quire::plan {
namespace {

using exec::Documents;
using pipeline::Namespace;
using pipeline::Stages;

Documents::List ListOf(bson::View array) {
  Documents::List list;
  for (const bson::Element& element : array) {
    list.emplace_back(element.value().AsDocument());
  }
  return list;
}

// Collections in memory.
class MemoryEnvironment : public PipelineEnvironment {
 public:
  explicit MemoryEnvironment(bson::View collections) {
    for (const bson::Element& collection : collections) {
      collections_[std::string(collection.name())] = ListOf(collection.value().AsArray());
    }
  }

  const expr::Context& context() const { return context_; }
  const Namespace& ns() const { return ns_; }
  bool allow_disk_use() const override { return disk; }
  const std::set<std::string>& rewrites_off() const override { return off; }

  Result<OperatorPtr> OpenPipeline(OpContext& op, const Namespace& ns, Stages stages,
                                   const expr::Context&) override {
    return waits != nullptr && (*waits)() % 2 == 0 ? exec::NotYet()
                                                   : Open(op, ns, std::move(stages));
  }
  // The whole pipeline.
  Result<OperatorPtr> OpenAll(OpContext& op, Stages stages) {
    return Open(op, ns_, std::move(stages));
  }
  bool HasIndexOn(const Namespace&, std::string_view) override { return indexed; }
  Result<OperatorPtr> OpenSource(OpContext&, std::string_view, const bson::Value&) override {
    return OperatorPtr(std::make_unique<Documents>(Documents::List()));
  }
  Result<std::unique_ptr<DocumentSink>> OpenSink(OpContext&,
                                                 const pipeline::SinkOptions&) override {
    return Status(1, "no sink");
  }

  bool indexed = false;
  bool disk = false;
  std::set<std::string> off;
  std::mt19937* waits = nullptr;  // at whose random points nothing is there yet

 private:
  Result<OperatorPtr> Open(OpContext& op, const Namespace& ns, Stages stages) {
    const Stages& kept = kept_.emplace_back(std::move(stages));
    OperatorPtr input;
    if (!pipeline::StartsWithSource(kept)) {
      input = std::make_unique<Documents>(collections_[ns.collection]);
      if (waits != nullptr) {
        input = std::make_unique<exec::WaitsAtRandom>(std::move(input), waits);
      }
    }
    return LowerStages(op, kept, std::move(input), *this);
  }

  expr::Context context_;
  Namespace ns_{"test", "c"};
  std::map<std::string, Documents::List> collections_;
  std::deque<Stages> kept_;
};

struct RunOptions {
  std::set<std::string> off;
  bool indexed = false;
  bool disk = false;
  size_t memory_limit = size_t{100} << 20;
  std::mt19937* waits = nullptr;
};

// What `call` gives once it is there.
template <typename F>
auto AskAgain(F call) {
  auto result = call();
  while (!result.ok() && exec::IsNotYet(result.status())) {
    result = call();
  }
  return result;
}

// The pipeline's results as {r: [...]}.
Result<bson::Document> RunPipeline(const char* collections, const char* pipeline,
                                   const RunOptions& options = {}) {
  bson::Document data = bson::TestDocument(collections);
  bson::Document spec = bson::TestDocument(std::string("{p: ") + pipeline + "}");
  MemoryEnvironment env(data);
  env.indexed = options.indexed;
  env.disk = options.disk;
  OpContext op;
  op.memory_limit = options.memory_limit;
  pipeline::PipelineOptions parse_options;
  parse_options.ns = env.ns();
  ASSIGN_OR_RETURN(Stages stages,
                   pipeline::ParsePipeline(spec["p"].AsArray(), parse_options, &env.context()));
  RETURN_IF_ERROR(pipeline::RewriteStages(&stages, &env.context(), options.off));
  env.waits = options.waits;
  ASSIGN_OR_RETURN(auto top, env.OpenAll(op, std::move(stages)));
  bson::Builder out;
  out.BeginArray("r");
  exec::Row row;
  for (;;) {
    ASSIGN_OR_RETURN(bool more, AskAgain([&] { return top->Next(op, &row); }));
    if (!more) {
      break;
    }
    out.Push(row.document);
  }
  out.End();
  return out.Finish();
}

struct Case {
  const char* pipeline;
  const char* want;  // the array of results; "" for an error
  int error = 0;
};

void CheckOnce(const char* collections, const Case& test, const RunOptions& options) {
  SCOPED_TRACE(test.pipeline);
  auto got = RunPipeline(collections, test.pipeline, options);
  if (test.error != 0) {
    EXPECT_EQ(got.status().code(), test.error) << got.status().ToString();
    return;
  }
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  bson::Document want = bson::TestDocument(std::string("{r: ") + test.want + "}");
  EXPECT_EQ(bson::ToCanonicalJson(got->view()), bson::ToCanonicalJson(want.view()));
}

// Also over inputs that are not there yet at random points, which changes nothing.
void Check(const char* collections, const Case& test, RunOptions options = {}) {
  CheckOnce(collections, test, options);
  for (uint32_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE("waits by seed " + std::to_string(seed));
    std::mt19937 random(seed);
    options.waits = &random;
    CheckOnce(collections, test, options);
  }
}

constexpr char kSales[] =
    "{c: [{_id: 1, k: 'a', n: 5, t: [1, 2]}, {_id: 2, k: 'b', n: 3, t: []}, "
    "{_id: 3, k: 'a', n: 1}, {_id: 4, k: null, n: 9, t: 7}], "
    "o: [{_id: 10, k: 'a', p: 11}, {_id: 11, k: 'b'}, {_id: 12}]}";

TEST(Pipeline, RowStages) {
  const Case kCases[] = {
      {"[{$match: {k: 'a'}}, {$project: {n: 1}}]", "[{_id: 1, n: 5}, {_id: 3, n: 1}]"},
      {"[{$match: {_id: 3}}, {$set: {m: {$add: ['$n', 1]}, 'x.y': 1}}]",
       "[{_id: 3, k: 'a', n: 1, m: 2, x: {y: 1}}]"},
      {"[{$unset: ['k', 't']}, {$limit: 1}]", "[{_id: 1, n: 5}]"},
      {"[{$sort: {n: -1}}, {$skip: 1}, {$limit: 2}, {$project: {_id: 1}}]", "[{_id: 1}, {_id: 2}]"},
      {"[{$match: {_id: 1}}, {$replaceWith: {a: '$n'}}]", "[{a: 5}]"},
      {"[{$replaceRoot: {newRoot: '$n'}}]", "", 40228},
      {"[{$count: 'n'}]", "[{n: 4}]"},
      {"[{$match: {n: 77}}, {$count: 'n'}]", "[]"},
      {"[{$unwind: '$t'}, {$project: {t: 1}}]", "[{_id: 1, t: 1}, {_id: 1, t: 2}, {_id: 4, t: 7}]"},
      {"[{$unwind: {path: '$t', preserveNullAndEmptyArrays: true, includeArrayIndex: 'i'}}, "
       "{$project: {t: 1, i: 1}}]",
       "[{_id: 1, t: 1, i: {$numberLong: '0'}}, {_id: 1, t: 2, i: {$numberLong: '1'}}, "
       "{_id: 2, i: null}, {_id: 3, i: null}, {_id: 4, t: 7, i: null}]"},
      {"[{$match: {_id: 1}}, {$redact: {$cond: [{$eq: ['$k', 'a']}, '$$KEEP', '$$PRUNE']}}, "
       "{$project: {_id: 1}}]",
       "[{_id: 1}]"},
      {"[{$redact: 5}]", "", 17053},
      {"[{$sample: {size: 100}}, {$count: 'n'}]", "[{n: 4}]"},
      {"[{$match: {_id: 1}}, {$documents: []}]", "", 40602},
      {"[{$documents: [{a: 1}]}]", "", 73},
      {"[{$match: {_id: 1}}, {$project: {_id: 1}}, {$lookup: {pipeline: [{$documents: [{a: 1}, {a: "
       "{$add: [1, 1]}}]}], as: 'd'}}]",
       "[{_id: 1, d: [{a: 1}, {a: 2}]}]"},
  };
  for (const Case& test : kCases) {
    Check(kSales, test);
  }
}

TEST(Pipeline, Grouping) {
  const Case kCases[] = {
      {"[{$group: {_id: '$k', n: {$sum: '$n'}}}, {$sort: {_id: 1}}]",
       "[{_id: null, n: 9}, {_id: 'a', n: 6}, {_id: 'b', n: 3}]"},
      {"[{$group: {_id: null, m: {$max: '$n'}}}]", "[{_id: null, m: 9}]"},
      {"[{$sortByCount: '$k'}, {$limit: 1}]", "[{_id: 'a', count: 2}]"},
      {"[{$bucket: {groupBy: '$n', boundaries: [0, 4, 6], default: 'x'}}]",
       "[{_id: 0, count: 2}, {_id: 4, count: 1}, {_id: 'x', count: 1}]"},
      {"[{$bucketAuto: {groupBy: '$n', buckets: 2}}]",
       "[{_id: {min: 1, max: 5}, count: 2}, {_id: {min: 5, max: 9}, count: 2}]"},
      {"[{$bucketAuto: {groupBy: '$n', buckets: 2, granularity: 'R5'}}]",
       "[{_id: {min: 0.63, max: 4.0}, count: 2}, {_id: {min: 4.0, max: 10.0}, count: 2}]"},
      {"[{$facet: {a: [{$match: {k: 'b'}}, {$project: {_id: 1}}], b: [{$count: 'n'}]}}]",
       "[{a: [{_id: 2}], b: [{n: 4}]}]"},
      {"[{$group: {n: {$sum: 1}}}]", "", 15955},
      {"[{$group: {_id: {a: 1}}}]", "", 17390},
      {"[{$group: {_id: 1, 'a.b': {$sum: 1}}}]", "", 40235},
      {"[{$group: {_id: 1, a: 5}}]", "", 40234},
      {"[{$bucket: {groupBy: '$n', boundaries: [4, 0]}}]", "", 40194},
      {"[{$bucket: {groupBy: '$n', boundaries: [0, '$$NOW']}}]", "", 40191},
      {"[{$facet: {a: [{$out: 'x'}]}}]", "", 40600},
      {"[{$facet: {}}]", "", 40169},
  };
  for (const Case& test : kCases) {
    Check(kSales, test);
  }
}

TEST(Pipeline, GroupSpillsWhenAllowed) {
  const char* pipeline = "[{$group: {_id: '$n', all: {$push: '$k'}}}, {$sort: {_id: 1}}]";
  RunOptions options;
  options.memory_limit = 300;
  EXPECT_EQ(RunPipeline(kSales, pipeline, options).status().code(), 292);
  options.disk = true;
  auto spilled = RunPipeline(kSales, pipeline, options);
  auto plain = RunPipeline(kSales, pipeline);
  ASSERT_TRUE(spilled.ok()) << spilled.status().ToString();
  EXPECT_EQ(bson::ToJson(spilled->view()), bson::ToJson(plain->view()));
}

TEST(Pipeline, Joins) {
  const Case kCases[] = {
      {"[{$match: {_id: {$lt: 3}}}, {$lookup: {from: 'o', localField: 'k', foreignField: 'k', "
       "as: 'o'}}, {$project: {'o._id': 1}}]",
       "[{_id: 1, o: [{_id: 10}]}, {_id: 2, o: [{_id: 11}]}]"},
      {"[{$match: {_id: 4}}, {$lookup: {from: 'o', localField: 'k', foreignField: 'k', as: 'o'}}, "
       "{$project: {o: 1}}]",
       "[{_id: 4, o: [{_id: 12}]}]"},
      {"[{$match: {_id: 1}}, {$lookup: {from: 'o', let: {k: '$k'}, pipeline: [{$match: {$expr: "
       "{$eq: ['$k', '$$k']}}}, {$project: {p: 1}}], as: 'o'}}, {$project: {o: 1}}]",
       "[{_id: 1, o: [{_id: 10, p: 11}]}]"},
      {"[{$match: {_id: 1}}, {$project: {_id: 1}}, {$unionWith: {coll: 'o', pipeline: [{$match: "
       "{_id: 11}}]}}]",
       "[{_id: 1}, {_id: 11, k: 'b'}]"},
      {"[{$match: {_id: 1}}, {$graphLookup: {from: 'o', startWith: 10, connectFromField: 'p', "
       "connectToField: '_id', as: 'g', depthField: 'd'}}, {$project: {g: 1}}]",
       "[{_id: 1, g: [{_id: 10, k: 'a', p: 11, d: {$numberLong: '0'}}, "
       "{_id: 11, k: 'b', d: {$numberLong: '1'}}]}]"},
      {"[{$lookup: {from: 'o', pipeline: [{$out: 'x'}], as: 'y'}}]", "", 51047},
      {"[{$lookup: {from: 'o', localField: 'a', as: 'y'}}]", "", 9},
      {"[{$unionWith: {coll: 'o', pipeline: [{$out: 'x'}]}}]", "", 31441},
  };
  for (bool indexed : {false, true}) {
    RunOptions options;
    options.indexed = indexed;
    for (const Case& test : kCases) {
      Check(kSales, test, options);
    }
  }
}

TEST(Pipeline, Windows) {
  const Case kCases[] = {
      {"[{$setWindowFields: {partitionBy: '$k', sortBy: {n: 1}, output: {s: {$sum: '$n', window: "
       "{documents: ['unbounded', 'current']}}, r: {$rank: {}}}}}, {$project: {s: 1, r: 1}}]",
       "[{_id: 4, s: 9, r: 1}, {_id: 3, s: 1, r: 1}, {_id: 1, s: 6, r: 2}, {_id: 2, s: 3, r: 1}]"},
      {"[{$setWindowFields: {sortBy: {n: 1}, output: {s: {$sum: '$n', window: {range: [-2, "
       "2]}}}}}, "
       "{$project: {s: 1}}]",
       "[{_id: 3, s: 4}, {_id: 2, s: 9}, {_id: 1, s: 8}, {_id: 4, s: 9}]"},
      {"[{$setWindowFields: {sortBy: {n: 1}, output: {p: {$shift: {output: '$n', by: -1, default: "
       "0}}}}}, {$project: {p: 1}}]",
       "[{_id: 3, p: 0}, {_id: 2, p: 1}, {_id: 1, p: 3}, {_id: 4, p: 5}]"},
      {"[{$setWindowFields: {sortBy: {n: 1}, output: {d: {$derivative: {input: '$_id'}, window: "
       "{documents: [-1, 0]}}}}}, {$project: {d: 1}}]",
       "[{_id: 3, d: null}, {_id: 2, d: -0.5}, {_id: 1, d: -0.5}, {_id: 4, d: 0.75}]"},
      {"[{$setWindowFields: {output: {s: {$sum: 1, window: {documents: [-1, 0]}}}}}]", "", 5339901},
      {"[{$setWindowFields: {sortBy: {n: 1}, output: {s: {$nope: 1}}}}]", "", 9},
      {"[{$setWindowFields: {sortBy: {n: 1}, output: {s: {$sum: 1, x: 1}}}}]", "", 9},
      {"[{$setWindowFields: {sortBy: {n: 1}, output: {s: {$rank: {}, x: 1}}}}]", "", 5371601},
      {"[{$densify: {field: 'n', range: {step: 2, bounds: [1, 6]}}}, {$project: {_id: 0, n: 1}}]",
       "[{n: 1}, {n: 3}, {n: 5}, {n: 9}]"},
      {"[{$densify: {field: 'n', range: {step: 4, bounds: 'full'}}}, {$project: {n: 1}}]",
       "[{_id: 3, n: 1}, {_id: 2, n: 3}, {_id: 1, n: 5}, {_id: 4, n: 9}]"},
      {"[{$fill: {output: {k: {value: 'z'}}}}, {$match: {_id: 4}}, {$project: {k: 1}}]",
       "[{_id: 4, k: 'z'}]"},
      {"[{$fill: {sortBy: {_id: 1}, output: {k: {method: 'locf'}}}}, {$match: {_id: 4}}, "
       "{$project: {k: 1}}]",
       "[{_id: 4, k: 'a'}]"},
  };
  for (const Case& test : kCases) {
    Check(kSales, test);
  }
}

// Sliding windows against the same frames written out for each row.
TEST(Pipeline, SlidingWindows) {
  const char* const kRows =
      "{c: [{_id: 0, v: 5}, {_id: 1, v: 2.5}, {_id: 2}, {_id: 3, v: {$numberLong: '7'}}, {_id: 4, "
      "v: 'x'}, {_id: 5, v: {$numberDecimal: '1.10'}}, {_id: 6, v: {$numberDouble: 'NaN'}}, {_id: "
      "7, v: 3}, {_id: 8, v: 3}, {_id: 9, v: {$numberDouble: 'Infinity'}}, {_id: 10, v: -4}, {_id: "
      "11, v: {$numberLong: '9223372036854775807'}}, {_id: 12, v: 1}, {_id: 13, v: null}]}";
  const std::pair<const char*, const char*> kWindows[] = {
      {"[-2, 0]", "{$gte: ['$$r._id', {$subtract: ['$_id', 2]}]}, {$lte: ['$$r._id', '$_id']}"},
      {"[-1, 3]",
       "{$gte: ['$$r._id', {$subtract: ['$_id', 1]}]}, {$lte: ['$$r._id', {$add: ['$_id', 3]}]}"},
      {"[-4, -2]",
       "{$gte: ['$$r._id', {$subtract: ['$_id', 4]}]}, {$lte: ['$$r._id', {$subtract: ['$_id', "
       "2]}]}"},
      {"[2, 5]",
       "{$gte: ['$$r._id', {$add: ['$_id', 2]}]}, {$lte: ['$$r._id', {$add: ['$_id', 5]}]}"},
      {"['current', 'unbounded']", "{$gte: ['$$r._id', '$_id']}"},
  };
  for (const auto& [window, frame] : kWindows) {
    for (const char* function : {"$sum", "$avg", "$min", "$max"}) {
      SCOPED_TRACE(std::string(function) + " over " + window);
      std::string sliding = std::string("[{$setWindowFields: {sortBy: {_id: 1}, output: {w: {") +
                            function + ": '$v', window: {documents: " + window +
                            "}}}}}, {$project: {w: 1}}, {$sort: {_id: 1}}]";
      std::string each = std::string(
                             "[{$lookup: {from: 'c', as: 'all', pipeline: [{$sort: {_id: "
                             "1}}]}}, {$project: {w: {") +
                         function +
                         ": {$map: {input: {$filter: {input: '$all', as: 'r', cond: " + "{$and: [" +
                         frame + "]}}}, in: '$$this.v'}}}}}, {$sort: {_id: 1}}]";
      auto got = RunPipeline(kRows, sliding.c_str());
      auto want = RunPipeline(kRows, each.c_str());
      ASSERT_TRUE(got.ok()) << got.status().ToString();
      ASSERT_TRUE(want.ok()) << want.status().ToString();
      EXPECT_EQ(bson::ToJson(got->view()), bson::ToJson(want->view()));
    }
  }
}

TEST(Pipeline, WindowsAndDensifySpillWhenAllowed) {
  const char* const kPipelines[] = {
      "[{$setWindowFields: {sortBy: {n: 1}, output: {s: {$sum: '$n', window: {range: [-2, 2]}}}}}]",
      "[{$setWindowFields: {sortBy: {n: 1}, output: {s: {$push: '$k'}}}}]",
      "[{$densify: {field: 'n', range: {step: 2, bounds: 'full'}}}]",
      "[{$densify: {field: 'n', partitionByFields: ['k'], range: {step: 1, bounds: 'full'}}}]",
      ("[{$densify: {field: 'n', partitionByFields: ['k'], range: {step: 1, bounds: "
       "'partition'}}}]"),
  };
  for (const char* pipeline : kPipelines) {
    SCOPED_TRACE(pipeline);
    RunOptions options;
    options.memory_limit = 250;
    EXPECT_FALSE(RunPipeline(kSales, pipeline, options).ok());
    options.disk = true;
    auto spilled = RunPipeline(kSales, pipeline, options);
    auto plain = RunPipeline(kSales, pipeline);
    ASSERT_TRUE(spilled.ok()) << spilled.status().ToString();
    EXPECT_EQ(bson::ToJson(spilled->view()), bson::ToJson(plain->view()));
  }
}

TEST(Pipeline, DensifyByPartition) {
  const char* const kRows =
      "{c: [{_id: 1, p: 'b', n: 4}, {_id: 2, p: 'a', n: 1}, {_id: 3, p: 'b', n: 1}, {_id: 4, p: "
      "'a', n: 3}, {_id: 5, p: 'a'}, {_id: 6, p: 'b', n: 4}]}";
  const Case kCases[] = {
      {"[{$densify: {field: 'n', partitionByFields: ['p'], range: {step: 1, bounds: "
       "'partition'}}}]",
       "[{_id: 5, p: 'a'}, {_id: 2, p: 'a', n: 1}, {p: 'a', n: 2}, {_id: 4, p: 'a', n: 3}, "
       "{_id: 3, p: 'b', n: 1}, {p: 'b', n: 2}, {p: 'b', n: 3}, {_id: 1, p: 'b', n: 4}, "
       "{_id: 6, p: 'b', n: 4}]"},
      {"[{$densify: {field: 'n', partitionByFields: ['p'], range: {step: 2, bounds: 'full'}}}]",
       "[{_id: 5, p: 'a'}, {_id: 2, p: 'a', n: 1}, {_id: 4, p: 'a', n: 3}, {_id: 3, p: 'b', n: 1}, "
       "{p: 'b', n: 3}, {_id: 1, p: 'b', n: 4}, {_id: 6, p: 'b', n: 4}]"},
      {"[{$match: {n: 9}}, {$densify: {field: 'n', range: {step: 2, bounds: [1, 4]}}}]",
       "[{n: 1}, {n: 3}]"},
      {"[{$match: {n: 9}}, {$densify: {field: 'n', range: {step: 2, bounds: 'full'}}}]", "[]"},
  };
  for (const Case& test : kCases) {
    Check(kRows, test);
  }
}

TEST(Pipeline, RewritesKeepTheResult) {
  const char* const kPipelines[] = {
      "[{$sort: {n: 1}}, {$match: {k: 'a'}}, {$match: {n: {$gt: 1}}}, {$limit: 5}, {$limit: 2}]",
      "[{$set: {m: '$n'}}, {$match: {k: 'a'}}, {$match: {m: 1}}]",
      "[{$unwind: '$t'}, {$match: {t: 2}}]",
      "[{$unwind: '$t'}, {$match: {k: 'a'}}, {$skip: 1}, {$skip: 0}]",
      "[{$project: {k: 1, n: 1}}, {$match: {k: 'a'}}]",
      "[{$project: {k: 0}}, {$match: {k: 'a'}}]",
      "[{$sort: {n: -1}}, {$skip: 1}, {$limit: 1}]",
      "[{$limit: 2}, {$match: {k: 'a'}}]",
  };
  for (const char* pipeline : kPipelines) {
    SCOPED_TRACE(pipeline);
    RunOptions all_off;
    for (const pipeline::Rewrite& rewrite : pipeline::Rewrites()) {
      all_off.off.insert(std::string(rewrite.name));
    }
    auto plain = RunPipeline(kSales, pipeline, all_off);
    ASSERT_TRUE(plain.ok());
    auto rewritten = RunPipeline(kSales, pipeline);
    ASSERT_TRUE(rewritten.ok());
    EXPECT_EQ(bson::ToJson(rewritten->view()), bson::ToJson(plain->view()));
  }
}

}  // namespace
}  // namespace quire::plan
