// SPDX-License-Identifier: Apache-2.0
#include "exec/join/graph_lookup.h"

#include <algorithm>
#include <deque>

#include "base/memory_charge.h"
#include "base/try.h"
#include "exec/join/hash_join.h"
#include "expr/collation/collator.h"

namespace quire::exec {

// What one row's search has reached.
struct GraphLookup::Search {
  explicit Search(const bson::StringCompare* strings)
      : seen(16, bson::ValueHash{strings}, bson::ValueEqual{strings}),
        ids(16, bson::ValueHash{nullptr}, bson::ValueEqual{nullptr}) {}

  ValueSet seen;  // values already searched for
  ValueSet ids;   // of the documents found
  std::deque<bson::Document> found;
  std::vector<int64_t> depths;
  std::deque<bson::OwnedValue> start;
  std::vector<bson::Value> frontier;
  size_t memory = 0;
  MemoryCharge charge;

  void Follow(const bson::Value& value) {
    if (seen.insert(value).second) {
      frontier.push_back(value);
    }
  }
};

GraphLookup::GraphLookup(std::unique_ptr<Operator> input, GraphLookupOptions options, Inner inner,
                         const expr::Context* context)
    : Unary(std::move(input)),
      options_(std::move(options)),
      connect_to_path_(SplitFieldPath(options_.connect_to)),
      inner_(std::move(inner)),
      strings_(context->collator),
      evaluation_(context) {}

bson::Document GraphLookup::FrontierFilter(const std::vector<bson::Value>& frontier) const {
  bson::Builder filter;
  bool only_nulls = false;
  filter.BeginDocument(options_.connect_to).BeginArray("$in");
  for (const bson::Value& value : frontier) {
    if (value.nullish() && null_known_) {
      only_nulls = true;
    } else {
      filter.Push(value.nullish() ? bson::Value::Null() : value);
    }
  }
  filter.End().End();
  bson::Document in = filter.Finish();
  if (!only_nulls) {
    return in;
  }
  bson::Builder either;
  either.BeginArray("$or").Push(in.view()).PushDocument().BeginDocument(options_.connect_to);
  either.Append("$type", "null").End().End().End();
  return either.Finish();
}

bool GraphLookup::HoldsNull(bson::View document) const {
  bool holds = false;
  VisitPath(bson::Value(document), connect_to_path_, 0,
            [&](const bson::Value& value) { holds |= value.type() == bson::Type::kNull; });
  return holds;
}

Status GraphLookup::Explore(OpContext& op, Search* search) {
  for (int64_t depth = 0;
       !search->frontier.empty() && (!options_.max_depth || depth <= *options_.max_depth);
       ++depth) {
    bson::Document filter = FrontierFilter(search->frontier);
    const bool null_asked = std::any_of(search->frontier.begin(), search->frontier.end(),
                                        [](const bson::Value& value) { return value.nullish(); });
    search->frontier.clear();
    ASSIGN_OR_RETURN(auto inner, inner_(op, filter));
    Row row;
    for (;;) {
      RETURN_IF_ERROR(op.CheckInterrupt());
      ASSIGN_OR_RETURN(bool more, inner->Next(op, &row));
      if (!more) {
        break;
      }
      if (search->ids.count(row.document["_id"]) > 0) {
        continue;
      }
      bson::View kept = search->found.emplace_back(row.document).view();
      search->ids.insert(kept["_id"]);
      search->depths.push_back(depth);
      search->memory += kept.size();
      search->charge.Set(search->memory);
      if (search->memory > op.memory_limit) {
        return Status(40099, "$graphLookup reached maximum memory consumption");
      }
      null_known_ = null_known_ || (null_asked && HoldsNull(kept));
      VisitPath(bson::Value(kept), options_.connect_from, 0, [&](const bson::Value& value) {
        if (!value.missing() && !value.is_array()) {
          search->Follow(value);
        }
      });
    }
  }
  return Status::Ok();
}

Result<bool> GraphLookup::Produce(OpContext& op, Row* row) {
  ASSIGN_OR_RETURN(bool more, input_->Next(op, row));
  if (!more) {
    return false;
  }
  Search search(strings_);
  ASSIGN_OR_RETURN(bson::Value start, options_.start_with->Evaluate(evaluation_.Start(*row)));
  const bson::OwnedValue& kept = search.start.emplace_back(start);
  bson::Value value = kept.value();
  if (value.is_array()) {
    for (const bson::Element& element : value.AsArray()) {
      search.Follow(element.value());
    }
  } else if (!value.missing()) {
    search.Follow(value);
  }
  RETURN_IF_ERROR(Explore(op, &search));
  bson::Builder array;
  std::string with_depth;
  for (size_t i = 0; i < search.found.size(); ++i) {
    bson::View document = search.found[i].view();
    if (!options_.depth_field.empty()) {
      with_depth.clear();
      SetNested(document, options_.depth_field, bson::Value(search.depths[i]), &with_depth);
      document = bson::View(with_depth.data());
    }
    array.Push(document);
  }
  bson::Document all = array.Finish();
  document_.clear();
  SetNested(row->document, options_.as, bson::Value::Array(all.view()), &document_);
  row->document = bson::View(document_.data());
  return true;
}

}  // namespace quire::exec
