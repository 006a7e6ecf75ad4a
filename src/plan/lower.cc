// SPDX-License-Identifier: Apache-2.0
#include "plan/lower.h"

#include <algorithm>
#include <limits>

#include "base/try.h"
#include "bson/ordered.h"
#include "exec/combine/merge.h"
#include "exec/limit.h"
#include "exec/project.h"
#include "exec/sort/sort.h"
#include "exec/sort/sort_keys.h"
#include "exec/text_match.h"
#include "expr/asks_for_meta.h"
#include "plan/count_rows.h"
#include "store/keys/index_kind.h"
#include "store/scan/collection_scan.h"
#include "store/scan/fetch.h"
#include "store/scan/index_scan.h"
#include "store/scan/near_scan.h"
#include "store/scan/text_or.h"

namespace quire::plan {

namespace {

using store::IndexKeySpec;

std::string Encoded(const IndexKeySpec& spec, size_t part, const bson::Value& value) {
  std::string bytes;
  const bool hashed = spec.parts[part].kind->holds == store::PartHolds::kHash;
  if (hashed && value.type() != bson::Type::kMinKey && value.type() != bson::Type::kMaxKey) {
    store::AppendKeyPart(spec, part, value, &bytes);
  } else {
    bson::AppendOrdered(
        value,
        spec.parts[part].descending ? bson::Direction::kDescending : bson::Direction::kAscending,
        nullptr, &bytes, nullptr);
  }
  return bytes;
}

store::KeyInterval KeyIntervalOf(const IndexKeySpec& spec, size_t part, const Interval& interval) {
  store::KeyInterval key{Encoded(spec, part, interval.low.value()),
                         Encoded(spec, part, interval.high.value()), interval.low_inclusive,
                         interval.high_inclusive};
  if (spec.parts[part].descending) {
    std::swap(key.low, key.high);
    std::swap(key.low_inclusive, key.high_inclusive);
  }
  return key;
}

store::KeyBounds KeyBoundsOf(const PlanNode& scan) {
  store::KeyBounds bounds;
  for (size_t part = 0; part < scan.bounds.parts.size(); ++part) {
    auto& list = bounds.parts.emplace_back();
    for (const Interval& interval : scan.bounds.parts[part].intervals()) {
      list.push_back(KeyIntervalOf(scan.index->keys, part, interval));
    }
    std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.low < b.low; });
  }
  return bounds;
}

// A scan of rows that lie in no table.
class RowsScan final : public exec::SteppedOperator {
 public:
  RowsScan(std::unique_ptr<exec::Operator> rows, const expr::match::Filter* filter)
      : rows_(std::move(rows)), filter_(filter) {}

 protected:
  Result<exec::Step> DoWork(OpContext& op, exec::Row* row) override {
    RETURN_IF_ERROR(op.CheckInterrupt());
    ASSIGN_OR_RETURN(bool more, rows_->Next(op, row));
    if (!more) {
      return exec::Step::kEnd;
    }
    ++counters_.docs_examined;
    if (filter_ != nullptr) {
      ASSIGN_OR_RETURN(bool matches, filter_->Matches(row->document, &row->meta));
      if (!matches) {
        return exec::Step::kAgain;
      }
    }
    return exec::Step::kRow;
  }

 private:
  std::unique_ptr<exec::Operator> rows_;
  const expr::match::Filter* filter_;
};

exec::SortKeySource SortKeyFor(const QuerySpec& query) {
  bool asks =
      query.sort != nullptr && expr::AsksForMeta(bson::Value(query.projection_spec), "sortKey");
  return asks ? exec::SortKeySource{query.sort, query.context} : exec::SortKeySource{};
}

class Lowering {
 public:
  Lowering(const QuerySpec& query, size_t memory_limit, store::Transaction* txn)
      : query_(query), memory_limit_(memory_limit), txn_(txn) {}

  // `wanted` is how many rows of the node are read at most.
  Running Lower(const PlanNode& node, int64_t wanted = kUnlimited) {
    Running running;
    running.node = &node;
    bool below_sort = below_sort_ || node.kind == NodeKind::kSort;
    for (const auto& input : node.inputs) {
      below_sort_ = below_sort;
      running.inputs.push_back(Lower(*input, WantedOfInput(node, wanted)));
    }
    below_sort_ = false;
    running.op = Make(node, running, wanted);
    return running;
  }

 private:
  static constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

  static int64_t WantedOfInput(const PlanNode& node, int64_t wanted) {
    switch (node.kind) {
      case NodeKind::kLimit:
        return std::min(wanted, node.amount);
      case NodeKind::kSkip:
        return wanted > kUnlimited - node.amount ? kUnlimited : wanted + node.amount;
      case NodeKind::kProjectionSimple:
      case NodeKind::kProjectionCovered:
      case NodeKind::kProjectionDefault:
      case NodeKind::kSortKeys:
      case NodeKind::kShardingFilter:  // what it leaves out is rare
        return wanted;
      default:
        return kUnlimited;
    }
  }

  // How many documents a fetch may read in advance: never one that might not be wanted.
  size_t ReadAhead(const PlanNode& fetch, int64_t wanted) const {
    bool certain = txn_->read_only() && query_.write_stage.empty() &&
                   (fetch.filter == nullptr || wanted == kUnlimited);
    return certain ? static_cast<size_t>(wanted) : 0;
  }

  std::unique_ptr<exec::Operator> Make(const PlanNode& node, const Running& running,
                                       int64_t wanted) {
    exec::Operator* input = running.inputs.empty() ? nullptr : running.inputs[0].op.get();
    switch (node.kind) {
      case NodeKind::kEof:
      case NodeKind::kRecordCount:
        return std::make_unique<exec::Eof>();
      case NodeKind::kCollectionScan:
      case NodeKind::kClusteredScan:
        return MakeCollectionScan(node);
      case NodeKind::kIdLookup:
        return std::make_unique<store::IdLookup>(query_.collection, txn_, node.id);
      case NodeKind::kIndexScan:
      case NodeKind::kCountScan:
      case NodeKind::kDistinctScan:
        return std::make_unique<store::IndexScan>(txn_, ScanOptions(node));
      case NodeKind::kFetch:
        return std::make_unique<store::FetchStage>(query_.collection, txn_, input,
                                                   node.filter.get(), ReadAhead(node, wanted));
      case NodeKind::kShardingFilter:
        return std::make_unique<exec::ShardingFilter>(input, query_.ownership.get());
      case NodeKind::kTextMatch:
        return std::make_unique<exec::TextMatch>(input, &node.text->spec, &node.text->query);
      case NodeKind::kTextOr:
        return std::make_unique<store::TextOr>(query_.collection, txn_, Inputs(running),
                                               node.filter.get());
      case NodeKind::kGeoNear:
        return MakeNearScan(node);
      case NodeKind::kOr:
        return std::make_unique<exec::Or>(Inputs(running), exec::Repeated::kDrop);
      case NodeKind::kSortMerge:
        return std::make_unique<exec::SortMerge>(Inputs(running), query_.sort, query_.context,
                                                 exec::Repeated::kDrop);
      case NodeKind::kSort:
        return std::make_unique<exec::Sort>(
            input, query_.sort, query_.context,
            exec::SorterOptions{static_cast<uint64_t>(node.amount), memory_limit_,
                                query_.allow_disk_use});
      case NodeKind::kSortKeys:
        return std::make_unique<exec::SortKeys>(input, query_.sort, query_.context);
      case NodeKind::kLimit:
        return std::make_unique<exec::Limit>(input, node.amount);
      case NodeKind::kSkip:
        return std::make_unique<exec::Skip>(input, node.amount);
      case NodeKind::kProjectionSimple:
        if (query_.projection_optional && !below_sort_ && !query_.show_record_id) {
          return std::make_unique<exec::Skip>(input, 0);
        }
        [[fallthrough]];
      case NodeKind::kProjectionCovered:
      case NodeKind::kProjectionDefault:
        return MakeProject(input);
      case NodeKind::kReturnKey:
        return std::make_unique<exec::ReturnKey>(input);
      case NodeKind::kCount:
        return std::make_unique<CountRows>(input, node.skip, node.amount);
      case NodeKind::kSubplan:
        return std::make_unique<exec::Skip>(input, 0);
    }
    return nullptr;
  }

  std::unique_ptr<exec::Operator> MakeProject(exec::Operator* input) const {
    exec::RecordIds record_ids = exec::RecordIds::kNone;
    const expr::Collator* cluster_collation = nullptr;
    if (query_.show_record_id && query_.collection->clustered) {
      record_ids = exec::RecordIds::kClusterKey;
      cluster_collation = query_.collection->indexes.front()->collator.get();
    } else if (query_.show_record_id) {
      record_ids = exec::RecordIds::kNumber;
    }
    return std::make_unique<exec::Project>(input, query_.projection, record_ids, SortKeyFor(query_),
                                           cluster_collation);
  }

  std::unique_ptr<exec::Operator> MakeCollectionScan(const PlanNode& node) const {
    if (query_.rows != nullptr) {
      return std::make_unique<RowsScan>(query_.rows(node.backward), node.filter.get());
    }
    store::CollectionScanOptions options;
    options.direction = node.backward ? kv::Direction::kBackward : kv::Direction::kForward;
    options.filter = node.filter.get();
    if (query_.has_scan_after) {
      options.after = query_.scan_after;
    }
    auto key_of = [](const bson::OwnedValue& stored) {
      std::string bytes;
      bson::AppendOrdered(stored.value(), bson::Direction::kAscending, nullptr, &bytes, nullptr);
      return bytes;
    };
    if (node.range.min.has_value()) {
      options.min_id = key_of(*node.range.min);
    }
    if (node.range.max.has_value()) {
      options.max_id = key_of(*node.range.max);
      options.max_inclusive = node.range.max_inclusive;
    }
    return std::make_unique<store::CollectionScan>(query_.collection, txn_, options);
  }

  std::unique_ptr<exec::Operator> MakeNearScan(const PlanNode& node) const {
    store::NearScanOptions options;
    options.collection = query_.collection;
    options.index = node.index;
    options.bounds = KeyBoundsOf(node);
    options.geo_part = node.geo_part;
    options.near = node.near;
    options.filter = node.filter.get();
    return std::make_unique<store::NearScan>(txn_, std::move(options));
  }

  static std::vector<exec::Operator*> Inputs(const Running& running) {
    std::vector<exec::Operator*> inputs;
    for (const Running& input : running.inputs) {
      inputs.push_back(input.op.get());
    }
    return inputs;
  }

  store::IndexScanOptions ScanOptions(const PlanNode& node) const {
    store::IndexScanOptions options;
    options.index = node.index;
    options.backward = node.backward;
    options.range = node.bounds.range;
    if (node.bounds.range) {
      options.begin = store::EncodeKey(node.index->keys, node.bounds.min).bytes;
      options.end = store::EncodeKey(node.index->keys, node.bounds.max).bytes;
    } else {
      options.bounds = KeyBoundsOf(node);
    }
    options.filter = node.filter == nullptr ? nullptr : &node.filter->root();
    options.show_key = node.needs_key;
    options.return_key = query_.return_key ||
                         (query_.wants_index_key && !node.score_part.has_value()) ||
                         expr::AsksForMeta(bson::Value(query_.projection_spec), "indexKey");
    options.dedup = node.multikey != 0 || node.index->state->multikey_steps.load() != 0 ||
                    node.index->keys.wildcard != nullptr;
    options.score_part = node.score_part;
    options.count = node.kind == NodeKind::kCountScan;
    if (node.kind == NodeKind::kDistinctScan) {
      options.distinct_part = node.distinct_part;
      options.dedup = false;
    }
    return options;
  }

  const QuerySpec& query_;
  size_t memory_limit_;
  store::Transaction* txn_;
  bool below_sort_ = false;  // fewer bytes to sort are worth an optional projection
};

void AddTotals(const Running& running, exec::Counters* totals) {
  const exec::Counters& own = running.op->counters();
  totals->keys_examined += own.keys_examined;
  totals->docs_examined += own.docs_examined;
  totals->seeks += own.seeks;
  totals->dups_tested += own.dups_tested;
  totals->dups_dropped += own.dups_dropped;
  totals->spills += own.spills;
  totals->spilled_bytes += own.spilled_bytes;
  totals->memory += own.memory;
  for (const Running& input : running.inputs) {
    AddTotals(input, totals);
  }
}

}  // namespace

Running Lower(const PlanNode& node, const QuerySpec& query, size_t memory_limit,
              store::Transaction* txn) {
  return Lowering(query, memory_limit, txn).Lower(node);
}

exec::Counters Totals(const Running& running) {
  exec::Counters totals;
  const exec::Counters& root = running.op->counters();
  totals.returned = root.returned;
  totals.works = root.works;
  totals.waits = root.waits;
  totals.ended = root.ended;
  AddTotals(running, &totals);
  return totals;
}

}  // namespace quire::plan
