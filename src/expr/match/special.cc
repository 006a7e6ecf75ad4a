// SPDX-License-Identifier: Apache-2.0
#include "expr/match/special.h"

#include <random>

#include "base/arena.h"

namespace quire::expr::match {

bool ExprNode::Matches(bson::View document, MatchState& state) const {
  Arena arena;
  agg::EvalContext eval;
  eval.context = context_;
  eval.root = bson::Value(document);
  eval.metadata = state.metadata;
  eval.arena = &arena;
  Result<bson::Value> value = expression_->Evaluate(eval);
  if (!value.ok()) {
    if (state.error.ok()) {
      state.error = value.status();
    }
    return false;
  }
  return agg::IsTrue(*value);
}

bool WhereNode::Matches(bson::View document, MatchState& state) const {
  if (!state.error.ok()) {
    return false;
  }
  Result<bool> truth = function_.Test(document);
  if (!truth.ok()) {
    state.error = truth.status();
    return false;
  }
  return *truth;
}

bool SampleRateNode::Matches(bson::View, MatchState&) const {
  thread_local std::mt19937_64 random{std::random_device{}()};
  return std::uniform_real_distribution<double>(0, 1)(random) < rate_;
}

void TextNode::Serialize(bson::Builder* out) const {
  out->BeginDocument("$text");
  out->Append("$search", options_.search);
  out->Append("$language", options_.language.empty() ? "english" : options_.language);
  out->Append("$caseSensitive", options_.case_sensitive);
  out->Append("$diacriticSensitive", options_.diacritic_sensitive);
  out->End();
}

}  // namespace quire::expr::match
