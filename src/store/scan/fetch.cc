// SPDX-License-Identifier: Apache-2.0
#include "store/scan/fetch.h"

#include <algorithm>

#include "base/try.h"
#include "store/collection.h"

namespace quire::store {

using exec::Step;

namespace {

// Whether the row can be kept while the input gives the next one: it holds no view of the input's.
bool Keeps(const exec::Row& row) {
  return !row.fetched && row.meta.index_key.missing() && row.meta.sort_key.missing() &&
         row.meta.geo_point.missing();
}

}  // namespace

void BatchSize::Adjust(const std::vector<kv::ReadValue>& values, const std::vector<bool>& found) {
  constexpr size_t kMostBytes = 1 << 20;
  constexpr size_t kMostRows = 32;
  size_t bytes = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    bytes += found[i] ? values[i].view().size() : 0;
  }
  rows_ = bytes > kMostBytes ? 1 : std::min(kMostRows, 2 * rows_);
}

Status FetchStage::ReadDocuments() {
  if (rows_.size() == 1) {
    values_.resize(1);
    found_.resize(1);
    if (!rows_[0].fetched) {
      ASSIGN_OR_RETURN(found_[0], Fetch(*txn_, *collection_, rows_[0].meta.record_id, &values_[0]));
    }
    return Status::Ok();
  }
  ids_.clear();
  for (const exec::Row& row : rows_) {
    ids_.push_back(row.meta.record_id);
  }
  return FetchMany(*txn_, *collection_, ids_, &values_, &found_);
}

Result<Step> FetchStage::Fill(OpContext& op) {
  rows_.clear();
  next_ = 0;
  const size_t most = std::clamp<size_t>(ahead_, 1, batch_.rows());
  while (!input_ended_ && rows_.size() < most) {
    exec::Row row;
    ASSIGN_OR_RETURN(Step step, input_->Work(op, &row));
    if (step == Step::kAgain) {
      break;
    }
    if (step == Step::kEnd) {
      input_ended_ = true;
      break;
    }
    rows_.push_back(row);
    if (!Keeps(row)) {
      break;
    }
  }
  if (rows_.empty()) {
    return input_ended_ ? Step::kEnd : Step::kAgain;
  }
  RETURN_IF_ERROR(ReadDocuments());
  batch_.Adjust(values_, found_);
  ahead_ -= std::min(ahead_, rows_.size());
  return Step::kRow;
}

Result<Step> FetchStage::DoWork(OpContext& op, exec::Row* row) {
  if (next_ == rows_.size()) {
    ASSIGN_OR_RETURN(Step step, Fill(op));
    if (step != Step::kRow) {
      return step;
    }
  }
  const size_t i = next_++;
  *row = rows_[i];
  if (row->fetched) {
    ++counters_.already_fetched;
  } else {
    if (!found_[i]) {
      return Step::kAgain;
    }
    ++counters_.docs_examined;
    row->document = bson::View(values_[i].view().data());
    row->fetched = true;
  }
  if (filter_ != nullptr) {
    ASSIGN_OR_RETURN(bool matches, filter_->Matches(row->document, &row->meta));
    if (!matches) {
      return Step::kAgain;
    }
  }
  return Step::kRow;
}

Result<Step> IdLookup::DoWork(OpContext& op, exec::Row* row) {
  RETURN_IF_ERROR(op.CheckInterrupt());
  if (done_) {
    return Step::kEnd;
  }
  done_ = true;
  ++counters_.seeks;
  ASSIGN_OR_RETURN(auto id, FindById(*txn_, *collection_, id_));
  if (!id.has_value()) {
    return Step::kEnd;
  }
  ++counters_.keys_examined;
  ASSIGN_OR_RETURN(bool found, Fetch(*txn_, *collection_, *id, &value_));
  if (!found) {
    return Step::kEnd;
  }
  ++counters_.docs_examined;
  row->document = bson::View(value_.view().data());
  row->fetched = true;
  row->meta = expr::Metadata();
  row->meta.record_id = *id;
  row->meta.has_record_id = true;
  return Step::kRow;
}

}  // namespace quire::store
