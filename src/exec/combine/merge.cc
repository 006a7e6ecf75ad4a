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
  if (step == Step::kRow && repeated_ == Repeated::kDrop) {
    ++counters_.dups_tested;
    if (!seen_.insert(row->meta.record_id).second) {
      ++counters_.dups_dropped;
      return Step::kAgain;
    }
  }
  return step;
}

SortMerge::SortMerge(std::vector<Operator*> inputs, const expr::SortPattern* pattern,
                     const expr::Context* context, Repeated repeated)
    : pattern_(pattern), context_(context), repeated_(repeated) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    empty_.push_back({inputs[i], i});
  }
}

SortMerge::SortMerge(std::vector<Operator*> inputs)
    : SortMerge(std::move(inputs), nullptr, nullptr, Repeated::kGive) {}

// Among equal keys the first of the list is taken: by the inputs' places where these count.
void SortMerge::AddHead(Head head) {
  auto at = heads_.end();
  if (pattern_ == nullptr) {
    at = std::find_if(heads_.begin(), heads_.end(),
                      [&](const Head& other) { return other.input.place > head.input.place; });
  }
  heads_.insert(at, std::move(head));
}

Result<Step> SortMerge::TakeIn(OpContext& op, Row* row) {
  const Input input = empty_.front();
  ASSIGN_OR_RETURN(Step step, input.op->Work(op, row));
  if (step == Step::kEnd) {
    empty_.pop_front();
  } else if (step == Step::kRow) {
    if (repeated_ == Repeated::kDrop) {
      ++counters_.dups_tested;
      if (!seen_.insert(row->meta.record_id).second) {
        ++counters_.dups_dropped;
        return Step::kAgain;
      }
    }
    if (pattern_ != nullptr) {
      key_.clear();
      RETURN_IF_ERROR(pattern_->AppendKey(row->document, &row->meta, *context_, &key_));
      row->sort_key = key_;
    }
    AddHead({input, KeptRow(*row)});
    empty_.pop_front();
  }
  return Step::kAgain;
}

Result<Step> SortMerge::DoWork(OpContext& op, Row* row) {
  if (!empty_.empty()) {
    return TakeIn(op, row);
  }
  if (heads_.empty()) {
    return Step::kEnd;
  }
  auto least = std::min_element(heads_.begin(), heads_.end(), [](const Head& a, const Head& b) {
    return a.row.sort_key() < b.row.sort_key();
  });
  current_ = std::move(*least);
  heads_.erase(least);
  empty_.push_back(current_.input);
  current_.row.ShowIn(row);
  return Step::kRow;
}

}  // namespace quire::exec
