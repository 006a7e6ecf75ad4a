// SPDX-License-Identifier: Apache-2.0
#include "plan/lower.h"

#include "exec/limit.h"
#include "exec/project.h"
#include "exec/sort.h"
#include "store/collection_scan.h"
#include "store/fetch.h"

namespace quire::plan {

namespace {

class Lowering {
 public:
  Lowering(const Query& query, size_t memory_limit, store::Transaction* txn)
      : query_(query), memory_limit_(memory_limit), txn_(txn) {}

  Running Lower(const PlanNode& node) {
    Running running;
    running.node = &node;
    for (const auto& input : node.inputs) {
      running.inputs.push_back(Lower(*input));
    }
    running.op = Make(node, running);
    return running;
  }

 private:
  std::unique_ptr<exec::Operator> Make(const PlanNode& node, const Running& running) {
    exec::Operator* input = running.inputs.empty() ? nullptr : running.inputs[0].op.get();
    switch (node.kind) {
      case StageKind::kEof:
        return std::make_unique<exec::Eof>();
      case StageKind::kCollectionScan:
        return std::make_unique<store::CollectionScan>(
            query_.collection, txn_,
            store::CollectionScanOptions{node.direction, node.filter.get(), query_.tailable});
      case StageKind::kIdLookup:
        return std::make_unique<store::IdLookup>(query_.collection, txn_, node.id);
      case StageKind::kFetch:
        return std::make_unique<store::FetchStage>(query_.collection, txn_, input,
                                                   node.filter.get());
      case StageKind::kSort:
        return std::make_unique<exec::Sort>(
            input, query_.sort, query_.context,
            exec::SorterOptions{static_cast<uint64_t>(node.amount), memory_limit_,
                                query_.allow_disk_use});
      case StageKind::kLimit:
        return std::make_unique<exec::Limit>(input, node.amount);
      case StageKind::kSkip:
        return std::make_unique<exec::Skip>(input, node.amount);
      case StageKind::kProjectionSimple:
      case StageKind::kProjectionCovered:
      case StageKind::kProjectionDefault:
        return std::make_unique<exec::Project>(input, query_.projection, query_.show_record_id);
      case StageKind::kReturnKey:
        return std::make_unique<exec::ReturnKey>(input);
    }
    return nullptr;
  }

  const Query& query_;
  size_t memory_limit_;
  store::Transaction* txn_;
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

Running Lower(const PlanNode& node, const Query& query, size_t memory_limit,
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
