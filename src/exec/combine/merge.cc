// SPDX-License-Identifier: Apache-2.0
#include "exec/combine/merge.h"

#include <algorithm>

#include "base/try.h"

namespace quire::exec {

Result<Step> Or::DoWork(OpContext& op, Row* row) {
  if (current_ == inputs_.size()) {
    return Step::kEnd;
  }
  ASSIGN_OR_RETURN(Step step, inputs_[current_]->Work(op, row));
  if (step == Step::kEnd) {
    ++current_;
    return current_ == inputs_.size() ? Step::kEnd : Step::kAgain;
  }
  if (step == Step::kRow) {
    ++counters_.dups_tested;
    if (!seen_.insert(row->meta.record_id).second) {
      ++counters_.dups_dropped;
      return Step::kAgain;
    }
  }
  return step;
}

SortMerge::SortMerge(std::vector<Operator*> inputs, const expr::SortPattern* pattern,
                     const expr::Context* context)
    : pattern_(pattern), context_(context), empty_(inputs.begin(), inputs.end()) {}

Status SortMerge::Keep(const Row& row, Head* head) {
  RETURN_IF_ERROR(pattern_->AppendKey(row.document, &row.meta, *context_, &head->key));
  head->document.assign(row.document.bytes());
  head->row = row;
  if (row.meta.index_key.is_document()) {
    head->index_key.assign(row.meta.index_key.AsDocument().bytes());
  }
  return Status::Ok();
}

Result<Step> SortMerge::DoWork(OpContext& op, Row* row) {
  if (!empty_.empty()) {
    Operator* input = empty_.front();
    ASSIGN_OR_RETURN(Step step, input->Work(op, row));
    if (step == Step::kEnd) {
      empty_.pop_front();
    } else if (step == Step::kRow) {
      ++counters_.dups_tested;
      if (!seen_.insert(row->meta.record_id).second) {
        ++counters_.dups_dropped;
        return Step::kAgain;
      }
      Head head;
      head.input = input;
      RETURN_IF_ERROR(Keep(*row, &head));
      heads_.push_back(std::move(head));
      empty_.pop_front();
    }
    return Step::kAgain;
  }
  if (heads_.empty()) {
    return Step::kEnd;
  }
  auto least = std::min_element(heads_.begin(), heads_.end(),
                                [](const Head& a, const Head& b) { return a.key < b.key; });
  current_ = std::move(*least);
  heads_.erase(least);
  empty_.push_back(current_.input);
  *row = current_.row;
  row->document = bson::View(current_.document.data());
  if (!current_.index_key.empty()) {
    row->meta.index_key = bson::Value(bson::View(current_.index_key.data()));
  }
  return Step::kRow;
}

}  // namespace quire::exec
