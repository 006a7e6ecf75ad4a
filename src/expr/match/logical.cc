// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "bson/walk/form_walk.h"
#include "expr/match/node.h"

namespace quire::expr::match {
namespace {

const std::string kNoPath;

void SerializeList(std::string_view name, std::span<const NodePtr> children, bson::Builder* out) {
  out->BeginArray(name);
  for (const NodePtr& child : children) {
    out->PushDocument();
    child->Serialize(out);
    out->End();
  }
  out->End();
}

// Short names are compared here and now, without a call.
bool IsSame(std::string_view a, std::string_view b) {
  uint32_t first[2];
  uint32_t last[2];
  if (a.size() != b.size()) {
    return false;
  }
  if (a.size() < sizeof first[0] || a.size() > 2 * sizeof first[0]) {
    return a == b;
  }
  memcpy(&first[0], a.data(), sizeof first[0]);
  memcpy(&first[1], b.data(), sizeof first[0]);
  memcpy(&last[0], a.data() + a.size() - sizeof last[0], sizeof last[0]);
  memcpy(&last[1], b.data() + b.size() - sizeof last[0], sizeof last[0]);
  return first[0] == first[1] && last[0] == last[1];
}

// Matches below a negation or an alternative tell nothing about array positions.
class WithoutDetails {
 public:
  explicit WithoutDetails(MatchState& state) : state_(state), saved_(state.details) {
    state.details = nullptr;
  }
  ~WithoutDetails() { state_.details = saved_; }
  WithoutDetails(const WithoutDetails&) = delete;
  WithoutDetails& operator=(const WithoutDetails&) = delete;

 private:
  MatchState& state_;
  Details* saved_;
};

}  // namespace

const std::string& Node::path() const { return kNoPath; }

bson::Document Serialize(const Node& node) {
  bson::Builder out;
  node.Serialize(&out);
  return out.Finish();
}

int CompareShape(const Node& a, const Node& b) {
  if (a.kind() != b.kind()) {
    return a.kind() < b.kind() ? -1 : 1;
  }
  bool composed = !a.children().empty() && a.kind() != Kind::kElemMatchObject &&
                  a.kind() != Kind::kElemMatchValue;
  if (int order = composed ? 0 : a.path().compare(b.path()); order != 0) {
    return order;
  }
  auto left = a.children();
  auto right = b.children();
  for (size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
    if (int order = CompareShape(*left[i], *right[i]); order != 0) {
      return order;
    }
  }
  return left.size() == right.size() ? 0 : (left.size() < right.size() ? -1 : 1);
}

// ------------------------------------------------------------------ $and
AndNode::AndNode(std::vector<NodePtr> children) : Node(Kind::kAnd), children_(std::move(children)) {
  constexpr size_t kMostSwept = 64;
  for (const NodePtr& child : children_) {
    if (child->single_field() && swept_.size() < kMostSwept) {
      swept_.push_back({bson::FieldName(child->path()), child.get()});
      swept_bits_ |= swept_.back().field.bit();
    } else {
      rest_.push_back(child.get());
    }
  }
  shares_path_ =
      !children_.empty() && std::all_of(children_.begin(), children_.end(), [&](auto& c) {
        return !c->path().empty() && c->path() == children_[0]->path();
      });
  single_field_ = shares_path_ && rest_.empty();
}

const std::string& AndNode::path() const { return shares_path_ ? children_[0]->path() : kNoPath; }

bool AndNode::MatchesField(const bson::Value& field, MatchState& state) const {
  return std::all_of(children_.begin(), children_.end(),
                     [&](const NodePtr& child) { return child->MatchesField(field, state); });
}

// Decides all children on undotted fields while walking the document once.
bool AndNode::Sweep(bson::View document, MatchState& state) const {
  uint64_t pending = swept_.size() == 64 ? ~uint64_t{0} : (uint64_t{1} << swept_.size()) - 1;
  for (bson::FormWalk field(document); field.valid(); field.Next()) {
    if ((field.bit() & swept_bits_) == 0) {
      continue;
    }
    for (uint64_t left = pending; left != 0; left &= left - 1) {
      const int i = __builtin_ctzll(left);
      if (!IsSame(field.name(), swept_[i].field.name())) {
        continue;
      }
      if (!swept_[i].node->MatchesField(field.value(), state)) {
        return false;
      }
      pending &= ~(uint64_t{1} << i);
      if (pending == 0) {
        return true;
      }
    }
  }
  for (; pending != 0; pending &= pending - 1) {
    if (!swept_[__builtin_ctzll(pending)].node->MatchesField(bson::Value(), state)) {
      return false;
    }
  }
  return true;
}

bool AndNode::Matches(bson::View document, MatchState& state) const {
  auto matches = [&](const auto& child) { return child->Matches(document, state); };
  // The last child that passes an array names the position, so their order counts then.
  if (swept_.size() < 2 || state.details != nullptr) {
    return std::all_of(children_.begin(), children_.end(), matches);
  }
  return Sweep(document, state) && std::all_of(rest_.begin(), rest_.end(), matches);
}

bool AndNode::MatchesValue(const bson::Value& value, MatchState& state) const {
  return std::all_of(children_.begin(), children_.end(),
                     [&](const NodePtr& child) { return child->MatchesValue(value, state); });
}

void AndNode::Serialize(bson::Builder* out) const {
  if (!children_.empty()) {
    SerializeList("$and", children_, out);
  }
}

void AndNode::SerializeOperator(bson::Builder* out) const {
  for (const NodePtr& child : children_) {
    child->SerializeOperator(out);
  }
}

// ------------------------------------------------------------------ $or, $nor
bool OrNode::Matches(bson::View document, MatchState& state) const {
  WithoutDetails scope(state);
  return std::any_of(children_.begin(), children_.end(), [&](const NodePtr& child) {
    return state.error.ok() && child->Matches(document, state);
  });
}

bool OrNode::MatchesValue(const bson::Value& value, MatchState& state) const {
  return std::any_of(children_.begin(), children_.end(),
                     [&](const NodePtr& child) { return child->MatchesValue(value, state); });
}

void OrNode::Serialize(bson::Builder* out) const { SerializeList("$or", children_, out); }

bool NorNode::Matches(bson::View document, MatchState& state) const {
  WithoutDetails scope(state);
  return std::none_of(children_.begin(), children_.end(),
                      [&](const NodePtr& child) { return child->Matches(document, state); });
}

bool NorNode::MatchesValue(const bson::Value& value, MatchState& state) const {
  WithoutDetails scope(state);
  return std::none_of(children_.begin(), children_.end(),
                      [&](const NodePtr& child) { return child->MatchesValue(value, state); });
}

void NorNode::Serialize(bson::Builder* out) const { SerializeList("$nor", children_, out); }

// ------------------------------------------------------------------ $not
const std::string& NotNode::path() const { return child_->path(); }

bool NotNode::Matches(bson::View document, MatchState& state) const {
  WithoutDetails scope(state);
  return !child_->Matches(document, state);
}

bool NotNode::MatchesField(const bson::Value& field, MatchState& state) const {
  WithoutDetails scope(state);
  return !child_->MatchesField(field, state);
}

bool NotNode::MatchesValue(const bson::Value& value, MatchState& state) const {
  WithoutDetails scope(state);
  return !child_->MatchesValue(value, state);
}

void NotNode::Serialize(bson::Builder* out) const {
  // {a: {$not: {$gt: 1, $lt: 5}}} is shown as {$nor: [{$and: [...]}]}, as MongoDB shows it.
  if (child_->path().empty() || child_->kind() == Kind::kAnd) {
    SerializeList("$nor", children(), out);
    return;
  }
  out->BeginDocument(child_->path());
  SerializeOperator(out);
  out->End();
}

void NotNode::SerializeOperator(bson::Builder* out) const {
  out->BeginDocument("$not");
  child_->SerializeOperator(out);
  out->End();
}

void ConstantNode::Serialize(bson::Builder* out) const {
  out->Append(kind() == Kind::kAlwaysTrue ? "$alwaysTrue" : "$alwaysFalse", 1.0);
}

}  // namespace quire::expr::match
