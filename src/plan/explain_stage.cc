// SPDX-License-Identifier: Apache-2.0
#include "plan/explain_stage.h"

#include <algorithm>

#include "bson/hash/index_hash.h"
#include "bson/number.h"
#include "bson/ordered.h"
#include "expr/match/node.h"
#include "store/keys/index_kind.h"
#include "store/keys/multikey.h"

namespace quire::plan {

namespace {

constexpr uint64_t kSortMemory = uint64_t{100} << 20;

bool HasMeta(const expr::SortPattern& pattern) {
  for (const auto& part : pattern.parts()) {
    if (!part.meta.empty()) {
      return true;
    }
  }
  return false;
}

// MongoDB does not tell where text and 2d indexes met arrays.
bool KnowsArrays(const store::IndexInfo& index) {
  return std::all_of(index.keys.parts.begin(), index.keys.parts.end(),
                     [](const auto& part) { return part.kind->knows_arrays; });
}

// The points as a hashed index holds them. Null stands for undefined, too, whose hash is another.
IntervalList Hashed(const IntervalList& points, const expr::Collator* collator) {
  IntervalList hashes;
  auto add = [&](const bson::Value& value) {
    const bson::Value hash(bson::IndexHash(value, collator));
    hashes.Add(Interval::Range(hash, true, hash, true));
  };
  for (const Interval& point : points.intervals()) {
    add(point.low.value());
    if (point.low.value().type() == bson::Type::kNull) {
      add(bson::Value::Undefined());
    }
  }
  hashes.Unite();
  return hashes;
}

}  // namespace

bson::Value Counter(uint64_t n) { return bson::NarrowInt(static_cast<int64_t>(n)); }

void StageWriter::Tree(const PlanNode& node, const Running* running) {
  Description(node, running);
  auto input_of = [&](size_t i) { return running == nullptr ? nullptr : &running->inputs[i]; };
  if (node.inputs.size() == 1) {
    out_->BeginDocument("inputStage");
    Tree(*node.inputs[0], input_of(0));
    out_->End();
  } else if (!node.inputs.empty()) {
    out_->BeginArray("inputStages");
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      out_->PushDocument();
      Tree(*node.inputs[i], input_of(i));
      out_->End();
    }
    out_->End();
  }
}

void StageWriter::Description(const PlanNode& node, const Running* running) {
  out_->Append("stage", StageName(node));
  if (node.filter != nullptr) {
    out_->Append("filter", expr::match::Serialize(node.filter->root()));
  }
  switch (node.kind) {
    case NodeKind::kCollectionScan:
      out_->Append("direction", node.backward ? "backward" : "forward");
      break;
    case NodeKind::kClusteredScan:
      out_->Append("direction", node.backward ? "backward" : "forward");
      Range(node.range);
      break;
    case NodeKind::kIndexScan:
    case NodeKind::kCountScan:
    case NodeKind::kDistinctScan:
      Scan(node);
      break;
    case NodeKind::kSort:
      Sort(node);
      break;
    case NodeKind::kSortMerge:
      out_->Append("sortPattern", query_.sort_spec);
      break;
    case NodeKind::kLimit:
      out_->Append("limitAmount", Counter(static_cast<uint64_t>(node.amount)));
      break;
    case NodeKind::kSkip: {
      // What is still to be skipped.
      uint64_t skipped = running == nullptr ? 0 : running->op->counters().waits;
      auto amount = static_cast<uint64_t>(node.amount);
      out_->Append("skipAmount", Counter(amount - std::min(amount, skipped)));
      break;
    }
    case NodeKind::kProjectionSimple:
    case NodeKind::kProjectionCovered:
    case NodeKind::kProjectionDefault:
      Projection();
      break;
    case NodeKind::kTextMatch:
      TextMatch(node);
      break;
    case NodeKind::kGeoNear:
      out_->Append("keyPattern", node.index->key_pattern);
      out_->Append("indexName", node.index->name);
      out_->Append("indexVersion", 2);
      break;
    case NodeKind::kEof:
    case NodeKind::kIdLookup:
    case NodeKind::kFetch:
    case NodeKind::kShardingFilter:
    case NodeKind::kSortKeys:
    case NodeKind::kTextOr:
    case NodeKind::kOr:
    case NodeKind::kReturnKey:
    case NodeKind::kCount:
    case NodeKind::kRecordCount:
    case NodeKind::kSubplan:
      break;
  }
}

void StageWriter::Scan(const PlanNode& node) {
  const store::IndexInfo& index = *node.index;
  out_->Append("keyPattern", index.key_pattern);
  out_->Append("indexName", index.name);
  if (index.collator != nullptr) {
    out_->Append("collation", index.collator->spec());
  }
  out_->Append("isMultiKey", node.multikey != 0);
  if (KnowsArrays(index)) {
    out_->BeginDocument("multiKeyPaths");
    for (size_t part = 0; part < index.keys.parts.size(); ++part) {
      out_->BeginArray(index.keys.parts[part].path);
      for (const std::string& prefix : store::MultikeyPrefixes(index.keys, node.multikey, part)) {
        out_->Push(prefix);
      }
      out_->End();
    }
    out_->End();
  }
  out_->Append("isUnique", index.unique || index.is_id);
  out_->Append("isSparse", index.sparse);
  out_->Append("isPartial", index.partial_filter != nullptr);
  bson::Value version = index.spec["v"];
  out_->Append("indexVersion", version.missing() ? bson::Value(2) : version);
  if (node.kind == NodeKind::kCountScan) {
    CountBounds(node);
    return;
  }
  out_->Append("direction", node.backward ? "backward" : "forward");
  Bounds(node);
}

void StageWriter::Range(const RecordRange& range) {
  auto append = [&](std::string_view name, const std::optional<bson::OwnedValue>& end) {
    if (end.has_value()) {
      bson::AppendAsOrdered(name, end->value(), nullptr, out_);
    }
  };
  append("minRecord", range.min);
  append("maxRecord", range.max);
}

void StageWriter::TextMatch(const PlanNode& node) {
  const expr::text::Query& query = node.text->query;
  auto list = [&](std::string_view name, const auto& words) {
    out_->BeginArray(name);
    for (const std::string& word : words) {
      out_->Push(word);
    }
    out_->End();
  };
  out_->Append("indexPrefix", node.text->prefix);
  out_->Append("indexName", node.index->name);
  out_->BeginDocument("parsedTextQuery");
  list("terms", query.terms());
  list("negatedTerms", query.negated_terms());
  list("phrases", query.phrases());
  list("negatedPhrases", query.negated_phrases());
  out_->End();
  out_->Append("textIndexVersion", node.index->spec["textIndexVersion"]);
}

void StageWriter::Bounds(const PlanNode& node) {
  out_->BeginDocument("indexBounds");
  if (node.text != nullptr) {  // one term: MongoDB shows nothing
    out_->End();
    return;
  }
  for (size_t part = 0; part < node.bounds.parts.size(); ++part) {
    const auto& spec = node.index->keys.parts[part];
    const IntervalList& list = node.bounds.parts[part];
    const bool hashed = spec.kind->holds == store::PartHolds::kHash && list.IsPoints();
    (hashed ? Hashed(list, node.index->collator.get()) : list)
        .AppendTo(spec.path, spec.descending != node.backward, out_);
  }
  out_->End();
}

void StageWriter::CountBounds(const PlanNode& node) {
  auto key = [&](std::string_view name, bool start) {
    bool inclusive = true;
    out_->BeginDocument(name);
    for (size_t part = 0; part < node.bounds.parts.size(); ++part) {
      const auto& spec = node.index->keys.parts[part];
      const Interval& only = node.bounds.parts[part].intervals().front();
      bool low = start != spec.descending;
      out_->Append(spec.path, low ? only.low.value() : only.high.value());
      inclusive = inclusive && (low ? only.low_inclusive : only.high_inclusive);
    }
    out_->End();
    out_->Append(std::string(name) + "Inclusive", inclusive);
  };
  out_->BeginDocument("indexBounds");
  key("startKey", true);
  key("endKey", false);
  out_->End();
}

void StageWriter::Sort(const PlanNode& node) {
  out_->Append("sortPattern", query_.sort_spec);
  out_->Append("memLimit", Counter(kSortMemory));
  if (node.amount > 0) {
    out_->Append("limitAmount", Counter(static_cast<uint64_t>(node.amount)));
  }
  bool simple = node.inputs[0]->Fetched() && !HasMeta(*query_.sort);
  out_->Append("type", simple ? "simple" : "default");
}

void StageWriter::Projection() {
  if (query_.projection == nullptr && !query_.distinct_path.empty()) {
    out_->BeginDocument("transformBy");
    out_->Append("_id", 0).Append(query_.distinct_path, 1).End();
    return;
  }
  out_->BeginDocument("transformBy");
  out_->AppendFields(query_.projection_spec);
  if (query_.show_record_id) {
    out_->BeginDocument("$recordId").Append("$meta", "recordId").End();
  }
  out_->End();
}

}  // namespace quire::plan
