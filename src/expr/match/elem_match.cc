// SPDX-License-Identifier: Apache-2.0
#include "expr/match/elem_match.h"

#include <algorithm>

namespace quire::expr::match {
namespace {

// Whether some element satisfies `matches`; its index becomes the position of the match.
template <typename Matches>
bool AnyElement(const bson::Value& array, MatchState& state, Matches&& matches) {
  if (!array.is_array()) {
    return false;
  }
  Details* details = std::exchange(state.details, nullptr);
  bool found = false;
  for (const bson::Element& element : array.AsArray()) {
    if (matches(element.value())) {
      if (details != nullptr) {
        details->array_index = element.name();
      }
      found = true;
      break;
    }
  }
  state.details = details;
  return found;
}

}  // namespace

bool ElemMatchObjectNode::MatchesValue(const bson::Value& value, MatchState& state) const {
  return AnyElement(value, state, [&](const bson::Value& element) {
    return (element.is_document() || element.is_array()) &&
           filter_->Matches(element.AsDocument(), state);
  });
}

void ElemMatchObjectNode::SerializeOperator(bson::Builder* out) const {
  out->BeginDocument("$elemMatch");
  filter_->Serialize(out);
  out->End();
}

bool ElemMatchValueNode::MatchesValue(const bson::Value& value, MatchState& state) const {
  return AnyElement(value, state, [&](const bson::Value& element) {
    return std::all_of(conditions_.begin(), conditions_.end(), [&](const NodePtr& condition) {
      return condition->MatchesValue(element, state);
    });
  });
}

void ElemMatchValueNode::SerializeOperator(bson::Builder* out) const {
  out->BeginDocument("$elemMatch");
  for (const NodePtr& condition : conditions_) {
    condition->SerializeOperator(out);
  }
  out->End();
}

}  // namespace quire::expr::match
