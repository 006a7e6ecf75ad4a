// SPDX-License-Identifier: Apache-2.0
#include "exec/join/graph_lookup.h"

#include <deque>

#include "base/memory_charge.h"
#include "base/try.h"
#include "exec/join/hash_join.h"
#include "expr/collation/collator.h"
#include "expr/row_size.h"

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
  bson::OwnedValue start;
  std::vector<bson::Value> frontier;
  int64_t depth = 0;
  bson::Document filter;            // for the frontier that is being read
  std::unique_ptr<Operator> inner;  // null: the frontier is not read yet
  size_t memory = 0;
  MemoryCharge charge;

  void Follow(const bson::Value& value) {
    if (seen.insert(value).second) {
      frontier.push_back(value);
    }
  }
};

GraphLookup::~GraphLookup() = default;

GraphLookup::GraphLookup(std::unique_ptr<Operator> input, GraphLookupOptions options, Inner inner,
                         const expr::Context* context)
    : Unary(std::move(input)),
      options_(std::move(options)),
      inner_(std::move(inner)),
      strings_(context->collator),
      evaluation_(context) {}

bson::Document GraphLookup::FrontierFilter(const std::vector<bson::Value>& frontier) const {
  bson::Builder filter;
  bool null_asked = false;
  filter.BeginDocument(options_.connect_to).BeginArray("$in");
  for (const bson::Value& value : frontier) {
    null_asked = null_asked || value.nullish();
    filter.Push(value.nullish() ? bson::Value::Null() : value);
  }
  filter.End();
  if (null_asked) {
    filter.Append("$exists", true);  // a null leads to nulls, not to documents without the field
  }
  filter.End();
  return filter.Finish();
}

// Reads what the frontier leads to, which is the next frontier.
Status GraphLookup::ReadFrontier(OpContext& op, Search* search) {
  if (search->inner == nullptr) {
    search->filter = FrontierFilter(search->frontier);
    ASSIGN_OR_RETURN(search->inner, inner_(op, search->filter));
    search->frontier.clear();
  }
  Row row;
  for (;;) {
    RETURN_IF_ERROR(op.CheckInterrupt());
    ASSIGN_OR_RETURN(bool more, search->inner->Next(op, &row));
    if (!more) {
      break;
    }
    if (search->ids.count(row.document["_id"]) > 0) {
      continue;
    }
    bson::View kept = search->found.emplace_back(row.document).view();
    search->ids.insert(kept["_id"]);
    search->depths.push_back(search->depth);
    search->memory += kept.size();
    search->charge.Set(search->memory);
    if (search->memory > op.memory_limit) {
      return {40099, "$graphLookup reached maximum memory consumption"};
    }
    VisitPath(bson::Value(kept), options_.connect_from, 0, [&](const bson::Value& value) {
      if (!value.missing() && !value.is_array()) {
        search->Follow(value);
      }
    });
  }
  search->inner.reset();
  ++search->depth;
  return Status::Ok();
}

// Begins the search of the outer row.
Status GraphLookup::Start() {
  auto search = std::make_unique<Search>(strings_);
  ASSIGN_OR_RETURN(bson::Value start, options_.start_with->Evaluate(evaluation_.Start(outer_)));
  search->start = bson::OwnedValue(start);
  bson::Value value = search->start.value();
  if (value.is_array()) {
    for (const bson::Element& element : value.AsArray()) {
      search->Follow(element.value());
    }
  } else if (!value.missing()) {
    search->Follow(value);
  }
  search_ = std::move(search);
  return Status::Ok();
}

void GraphLookup::Show(const Search& search, Row* row) {
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
  *row = outer_;
  document_.clear();
  SetNested(outer_.document, options_.as, bson::Value::Array(all.view()), &document_);
  row->document = bson::View(document_.data());
}

Result<bool> GraphLookup::Produce(OpContext& op, Row* row) {
  if (search_ == nullptr) {
    ASSIGN_OR_RETURN(bool more, input_->Next(op, &outer_));
    if (!more) {
      return false;
    }
    RETURN_IF_ERROR(Start());
  }
  while (search_->inner != nullptr ||
         (!search_->frontier.empty() &&
          (!options_.max_depth || search_->depth <= *options_.max_depth))) {
    RETURN_IF_ERROR(ReadFrontier(op, search_.get()));
  }
  Show(*search_, row);
  charge_.Set(document_.capacity());
  RETURN_IF_ERROR(expr::CheckRowSize(document_.size()));
  search_.reset();
  return true;
}

}  // namespace quire::exec
