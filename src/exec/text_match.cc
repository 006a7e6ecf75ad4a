// SPDX-License-Identifier: Apache-2.0
#include "exec/text_match.h"

#include "base/try.h"

namespace quire::exec {

Result<Step> TextMatch::DoWork(OpContext& op, Row* row) {
  if (query_.terms().empty()) {
    return Step::kEnd;
  }
  ASSIGN_OR_RETURN(Step step, input_->Work(op, row));
  if (step != Step::kRow) {
    return step;
  }
  auto scores = expr::text::ScoreDocument(spec_, row->document);
  if (!scores.ok()) {
    return Step::kAgain;
  }
  double total = 0;
  bool found = false;
  for (const std::string& term : query_.terms()) {
    auto score = scores->find(term);
    if (score != scores->end()) {
      total += score->second;
      found = true;
    }
  }
  if (!found || !query_.Matches(spec_, row->document)) {
    return Step::kAgain;
  }
  row->meta.text_score = total;
  row->meta.has_text_score = true;
  return Step::kRow;
}

}  // namespace quire::exec
