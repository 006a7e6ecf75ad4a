// SPDX-License-Identifier: Apache-2.0
#include "store/text_or.h"

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

Result<Step> TextOr::DoWork(OpContext& op, exec::Row* row) {
  if (input_ < inputs_.size()) {
    return Gather(op, row);
  }
  RETURN_IF_ERROR(op.CheckInterrupt());
  if (next_ == order_.size()) {
    return Step::kEnd;
  }
  RecordId id = order_[next_++];
  ASSIGN_OR_RETURN(bool found, Fetch(*txn_, *collection_, id, &value_));
  if (!found) {
    return Step::kAgain;
  }
  ++counters_.docs_examined;
  row->document = bson::View(value_.view().data());
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
