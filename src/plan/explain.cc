// SPDX-License-Identifier: Apache-2.0
#include "plan/explain.h"

#include <algorithm>

#include "bson/json/value_text.h"
#include "exec/text_match.h"
#include "expr/match/node.h"
#include "plan/access/arrange.h"
#include "plan/count_rows.h"
#include "plan/explain_stage.h"
#include "plan/plan_cache.h"
#include "plan/query_shape.h"
#include "store/keys/index_kind.h"
#include "store/scan/near_scan.h"

namespace quire::plan {

namespace {

uint64_t Millis(std::chrono::steady_clock::duration span) {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(span).count());
}

// Stages that give no rows of their own: MongoDB counts inside them.
bool GivesNothing(NodeKind kind) {
  return kind == NodeKind::kCount || kind == NodeKind::kRecordCount;
}

class StatsWriter {
 public:
  StatsWriter(const QuerySpec& query, bson::Builder* out) : query_(query), out_(out) {}

  void Tree(const Running& running) {
    StageWriter(query_, out_).Description(*running.node, &running);
    Common(running.op->counters(), running.node->kind);
    Specific(running);
    if (running.inputs.size() == 1) {
      out_->BeginDocument("inputStage");
      Tree(running.inputs[0]);
      out_->End();
    } else if (!running.inputs.empty()) {
      out_->BeginArray("inputStages");
      for (const Running& input : running.inputs) {
        out_->PushDocument();
        Tree(input);
        out_->End();
      }
      out_->End();
    }
  }

  void Common(const exec::Counters& counters, NodeKind kind) {
    uint64_t returned = GivesNothing(kind) ? 0 : counters.returned;
    out_->Append("nReturned", Counter(returned));
    out_->Append("executionTimeMillisEstimate", Counter(counters.micros / 1000));
    out_->Append("works", Counter(counters.works));
    out_->Append("advanced", Counter(returned));
    out_->Append("needTime", Counter(counters.waits + counters.returned - returned));
    out_->Append("needYield", 0);
    out_->Append("saveState", 0);
    out_->Append("restoreState", 0);
    out_->Append("isEOF", static_cast<int32_t>(counters.ended));
  }

 private:
  void Specific(const Running& running) {
    const exec::Counters& counters = running.op->counters();
    switch (running.node->kind) {
      case NodeKind::kCollectionScan:
      case NodeKind::kClusteredScan:
        out_->Append("docsExamined", Counter(counters.docs_examined));
        break;
      case NodeKind::kIdLookup:
        out_->Append("keysExamined", Counter(counters.keys_examined));
        out_->Append("docsExamined", Counter(counters.docs_examined));
        break;
      case NodeKind::kIndexScan:
        out_->Append("keysExamined", Counter(counters.keys_examined));
        out_->Append("seeks", Counter(counters.seeks));
        Duplicates(counters);
        break;
      case NodeKind::kCountScan:
      case NodeKind::kDistinctScan:
        out_->Append("keysExamined", Counter(counters.keys_examined));
        break;
      case NodeKind::kFetch:
        out_->Append("docsExamined", Counter(counters.docs_examined));
        out_->Append("alreadyHasObj", Counter(counters.already_fetched));
        break;
      case NodeKind::kShardingFilter:
        out_->Append("chunkSkips",
                     Counter(static_cast<exec::ShardingFilter&>(*running.op).skipped()));
        break;
      case NodeKind::kTextMatch:
        out_->Append("docsRejected",
                     Counter(static_cast<exec::TextMatch&>(*running.op).rejected()));
        break;
      case NodeKind::kTextOr:
        out_->Append("docsExamined", Counter(counters.docs_examined));
        break;
      case NodeKind::kGeoNear:
        Rings(*running.node, static_cast<store::NearScan&>(*running.op).rings());
        break;
      case NodeKind::kOr:
      case NodeKind::kSortMerge:
        Duplicates(counters);
        break;
      case NodeKind::kSort:
        out_->Append("totalDataSizeSorted", Counter(counters.sorted_bytes));
        out_->Append("usedDisk", counters.spills > 0);
        out_->Append("spills", Counter(counters.spills));
        out_->Append("spilledDataStorageSize", Counter(counters.spilled_bytes));
        break;
      case NodeKind::kCount:
        out_->Append("nCounted", Counter(counters.returned));
        out_->Append(
            "nSkipped",
            Counter(static_cast<uint64_t>(static_cast<CountRows&>(*running.op).skipped())));
        break;
      default:
        break;
    }
  }

  void Rings(const PlanNode& node, const std::vector<store::NearRing>& rings) {
    out_->BeginArray("searchIntervals");
    for (const store::NearRing& ring : rings) {
      out_->PushDocument();
      out_->Append("minDistance", ring.min);
      out_->Append("maxDistance", ring.max);
      out_->Append("maxInclusive", ring.last);
      out_->Append("nBuffered", Counter(ring.buffered));
      out_->Append("nReturned", Counter(ring.returned));
      out_->End();
    }
    out_->End();
    out_->BeginArray("inputStages");
    for (const store::NearRing& ring : rings) {
      out_->PushDocument();
      RingInput(node, ring);
      out_->End();
    }
    out_->End();
  }

  // The fetch and the index scan that a ring was read by.
  void RingInput(const PlanNode& node, const store::NearRing& ring) {
    exec::Counters fetch = ring.scan;
    fetch.returned = ring.buffered;
    fetch.waits = fetch.works - std::min(fetch.works, fetch.returned + 1);
    out_->Append("stage", StageName(NodeKind::kFetch));
    if (node.filter != nullptr) {
      out_->Append("filter", expr::match::Serialize(node.filter->root()));
    }
    Common(fetch, NodeKind::kFetch);
    out_->Append("docsExamined", Counter(ring.docs_examined));
    out_->Append("alreadyHasObj", 0);
    PlanNode scan(NodeKind::kIndexScan);
    scan.index = node.index;
    scan.multikey = node.multikey;
    scan.bounds = node.bounds;
    const store::CellKind& kind = *node.index->keys.parts[node.geo_part].kind->cells;
    IntervalList cells;
    for (const expr::geo::KeyRange& range : ring.ranges) {
      bson::OwnedValue low = kind.value(range.low);
      bson::OwnedValue high = kind.value(range.high);
      cells.Add(Interval::Range(low.value(), true, high.value(), true));
    }
    cells.Unite();
    scan.bounds.parts[node.geo_part] = std::move(cells);
    out_->BeginDocument("inputStage");
    StageWriter(query_, out_).Description(scan, nullptr);
    Common(ring.scan, NodeKind::kIndexScan);
    out_->Append("keysExamined", Counter(ring.scan.keys_examined));
    out_->Append("seeks", Counter(ring.scan.seeks));
    Duplicates(ring.scan);
    out_->End();
  }

  void Duplicates(const exec::Counters& counters) {
    out_->Append("dupsTested", Counter(counters.dups_tested));
    out_->Append("dupsDropped", Counter(counters.dups_dropped));
  }

  const QuerySpec& query_;
  bson::Builder* out_;
};

// What the stage that writes has counted, from what its input has.
exec::Counters WriteCounters(const QuerySpec& query, exec::Counters input) {
  if (!query.write_returns) {
    input.waits += input.returned;
    input.returned = 0;
  }
  return input;
}

// The stages above the plan of a write, down to the field inputStage, with their statistics when
// the plan was run (`input` is what it counted). Gives the number of open documents.
int BeginWriteStages(const QuerySpec& query, const exec::Counters* input, bson::Builder* out) {
  int open = 1;
  if (!query.write_fields.empty()) {
    out->Append("stage", StageName(ProjectionKind(query, query.write_fields)));
    out->Append("transformBy", query.write_fields);
    if (input != nullptr) {
      StatsWriter(query, out).Common(WriteCounters(query, *input), NodeKind::kFetch);
    }
    out->BeginDocument("inputStage");
    ++open;
  }
  out->Append("stage", query.write_stage);
  if (input != nullptr) {
    StatsWriter(query, out).Common(WriteCounters(query, *input), NodeKind::kFetch);
    if (query.write_stage == "UPDATE") {
      out->Append("nMatched", Counter(input->returned));
      out->Append("nWouldModify", Counter(input->returned));
      out->Append("nWouldUpsert", query.write_upserts && input->returned == 0 ? 1 : 0);
    } else {
      out->Append("nWouldDelete", Counter(input->returned));
    }
  }
  out->BeginDocument("inputStage");
  return open;
}

void EndStages(int open, bson::Builder* out) {
  for (; open > 0; --open) {
    out->End();
  }
}

void AppendTree(const Explained& explained, const PlanNode& root, const Running* running,
                bson::Builder* out) {
  const bool writes = !explained.query.write_stage.empty();
  const int open = writes ? BeginWriteStages(explained.query, nullptr, out) : 0;
  StageWriter(explained.query, out).Tree(root, running);
  EndStages(open, out);
}

// Whether the plan is the one that is remembered for its shape and would be used.
bool IsCached(const Explained& explained, const PlanNode& root) {
  if (explained.query.collection == nullptr) {
    return false;
  }
  const auto known = PlanMemory::Of(*explained.query.collection).Find(ShapeOf(explained.query).key);
  return known && known->active && known->signature == SignatureOf(root);
}

void AppendPlan(const Explained& explained, const PlanNode& root, const Running* running,
                bson::Builder* out) {
  out->Append("isCached", IsCached(explained, root));
  AppendTree(explained, root, running, out);
}

void AppendStages(const Explained& explained, const Running& running, bool of_winner,
                  bson::Builder* out) {
  out->BeginDocument("executionStages");
  if (of_winner) {
    out->Append("isCached", IsCached(explained, *explained.plans[explained.winner]));
  }
  const bool writes = !explained.query.write_stage.empty();
  const int open = writes ? BeginWriteStages(explained.query, &running.op->counters(), out) : 0;
  StatsWriter(explained.query, out).Tree(running);
  EndStages(open + 1, out);
}

void AppendTrials(std::string_view name, const Explained& explained, bson::Builder* out) {
  out->BeginArray(name);
  for (const Trial& trial : explained.trials) {
    if (trial.running.op == nullptr) {
      continue;  // the plan came from the cache; the others did not run
    }
    out->PushDocument();
    out->Append("nReturned", Counter(trial.counters.returned));
    out->Append("executionTimeMillisEstimate", 0);
    out->Append("totalKeysExamined", Counter(trial.counters.keys_examined));
    out->Append("totalDocsExamined", Counter(trial.counters.docs_examined));
    out->Append("score", trial.score);
    AppendStages(explained, trial.running, /*of_winner=*/false, out);
    out->End();
  }
  out->End();
}

}  // namespace

void AppendPlannerFields(const Explained& explained, bson::Builder* out) {
  const QuerySpec& query = explained.query;
  QueryShape shape = ShapeOf(query);
  bool filtered = query.collection != nullptr &&
                  PlanMemory::Of(*query.collection).FindFilter(shape.query_hash).has_value();
  if (query.filter != nullptr) {
    out->Append("parsedQuery", expr::match::Serialize(query.filter->root()));
  } else {
    out->Append("parsedQuery", bson::View());
  }
  if (query.context->collator != nullptr) {
    out->Append("collation", query.context->collator->spec());
  }
  out->Append("indexFilterSet", filtered);
  const std::string shown_hash = ExplainedHash(query, shape);
  out->Append("queryHash", shown_hash);
  out->Append("planCacheShapeHash", shown_hash);
  out->Append("planCacheKey", shape.plan_cache_key);
  out->Append("optimizationTimeMillis", Counter(Millis(explained.chosen - explained.start)));
  out->Append("maxIndexedOrSolutionsReached", false);
  out->Append("maxIndexedAndSolutionsReached", false);
  out->Append("maxScansToExplodeReached", false);
  out->Append("prunedSimilarIndexes", false);
  out->BeginDocument("winningPlan");
  AppendPlan(explained, *explained.plans[explained.winner], explained.running, out);
  out->End();
  out->BeginArray("rejectedPlans");
  for (size_t i = 0; i < explained.plans.size(); ++i) {
    if (i != explained.winner) {
      out->PushDocument();
      AppendPlan(explained, *explained.plans[i], nullptr, out);
      out->End();
    }
  }
  out->End();
}

void AppendExecutionFields(const Explained& explained, std::string_view verbosity,
                           bson::Builder* out) {
  exec::Counters totals = Totals(*explained.running);
  const QuerySpec& query = explained.query;
  bool nothing = (!query.write_stage.empty() && !query.write_returns) ||
                 GivesNothing(explained.running->node->kind);
  out->Append("executionSuccess", true);
  out->Append("nReturned", Counter(nothing ? 0 : totals.returned));
  out->Append("executionTimeMillis",
              Counter(Millis(std::chrono::steady_clock::now() - explained.start)));
  out->Append("totalKeysExamined", Counter(totals.keys_examined));
  out->Append("totalDocsExamined", Counter(totals.docs_examined));
  AppendStages(explained, *explained.running, /*of_winner=*/true, out);
  if (verbosity == "allPlansExecution") {
    AppendTrials("allPlansExecution", explained, out);
  }
}

void AppendCacheDetails(const Explained& explained, bson::Document* plan, bson::Document* trials,
                        bson::Document* scores) {
  bson::Builder tree;
  AppendTree(explained, *explained.plans[explained.winner], nullptr, &tree);
  *plan = tree.Finish();
  bson::Builder lists;
  AppendTrials("trials", explained, &lists);
  lists.BeginArray("scores");
  for (const Trial& trial : explained.trials) {
    lists.Push(trial.score);
  }
  lists.End();
  bson::Document both = lists.Finish();
  *trials = bson::Document(both["trials"].AsArray());
  *scores = bson::Document(both["scores"].AsArray());
}

namespace {

// The text of a key pattern; each thread keeps the last one, as most queries use the index of the
// one before.
const std::string& KeyPatternText(bson::View pattern) {
  thread_local std::string bytes;
  thread_local std::string text;
  if (bytes != pattern.bytes()) {
    text = bson::DocumentText(pattern);
    bytes = pattern.bytes();
  }
  return text;
}

}  // namespace

std::string SummaryOf(const PlanNode& root) {
  if (root.index != nullptr) {
    return std::string(StageName(root)) + " " + KeyPatternText(root.index->key_pattern);
  }
  if (root.inputs.size() == 1) {
    return SummaryOf(*root.inputs.front());
  }
  if (root.inputs.empty()) {
    return std::string(StageName(root));
  }
  std::string summary;
  for (const auto& input : root.inputs) {
    summary += (summary.empty() ? "" : ", ") + SummaryOf(*input);
  }
  return summary;
}

}  // namespace quire::plan
