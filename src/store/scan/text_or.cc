// SPDX-License-Identifier: Apache-2.0
#include "store/scan/text_or.h"

#include <algorithm>

#include "base/try.h"
#include "store/collection.h"

namespace quire::store {

using exec::Step;

Result<Step> TextOr::Gather(OpContext& op, exec::Row* row) {
  ASSIGN_OR_RETURN(Step step, inputs_[input_]->Work(op, row));
  if (step == Step::kEnd) {
    ++input_;
  } else if (step == Step::kRow) {
    ++counters_.dups_tested;
    auto [found, fresh] = scores_.try_emplace(row->meta.record_id, 0.0);
    found->second += row->meta.text_score;
    if (fresh) {
      order_.push_back(row->meta.record_id);
    } else {
      ++counters_.dups_dropped;
    }
  }
  return Step::kAgain;
}

Status TextOr::ReadBatch() {
  batch_begin_ = next_;
  size_t end = std::min(order_.size(), next_ + batch_.rows());
  std::vector<RecordId> ids(order_.begin() + static_cast<std::ptrdiff_t>(next_),
                            order_.begin() + static_cast<std::ptrdiff_t>(end));
  RETURN_IF_ERROR(FetchMany(*txn_, *collection_, ids, &values_, &found_));
  batch_.Adjust(values_, found_);
  return Status::Ok();
}

Result<Step> TextOr::DoWork(OpContext& op, exec::Row* row) {
  if (input_ < inputs_.size()) {
    return Gather(op, row);
  }
  RETURN_IF_ERROR(op.CheckInterrupt());
  if (next_ == order_.size()) {
    return Step::kEnd;
  }
  if (next_ == batch_begin_ + found_.size()) {
    RETURN_IF_ERROR(ReadBatch());
  }
  const size_t i = next_ - batch_begin_;
  RecordId id = order_[next_++];
  if (!found_[i]) {
    return Step::kAgain;
  }
  ++counters_.docs_examined;
  row->document = bson::View(values_[i].view().data());
  row->fetched = true;
  row->meta = expr::Metadata();
  row->meta.record_id = id;
  row->meta.has_record_id = true;
  row->meta.text_score = scores_[id];
  row->meta.has_text_score = true;
  if (filter_ != nullptr) {
    ASSIGN_OR_RETURN(bool matches, filter_->Matches(row->document, &row->meta));
    if (!matches) {
      return Step::kAgain;
    }
  }
  return Step::kRow;
}

}  // namespace quire::store
