// SPDX-License-Identifier: Apache-2.0
//
// $elemMatch: one element of an array that satisfies all conditions.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "expr/match/leaf.h"

namespace quire::expr::match {

// {a: {$elemMatch: {b: 1, c: 2}}}: elements that are documents or arrays, matched by a filter.
class ElemMatchObjectNode final : public PathNode {
 public:
  ElemMatchObjectNode(std::string_view path, NodePtr filter)
      : PathNode(Kind::kElemMatchObject, path, LeafArray::kWhole), filter_(std::move(filter)) {}
  std::span<const NodePtr> children() const override { return {&filter_, 1}; }
  const Node& filter() const { return *filter_; }
  bool MatchesValue(const bson::Value& value, MatchState& state) const override;
  void SerializeOperator(bson::Builder* out) const override;

 private:
  NodePtr filter_;
};

// {a: {$elemMatch: {$gt: 1, $lt: 5}}}: conditions on the element itself.
class ElemMatchValueNode final : public PathNode {
 public:
  ElemMatchValueNode(std::string_view path, std::vector<NodePtr> conditions)
      : PathNode(Kind::kElemMatchValue, path, LeafArray::kWhole),
        conditions_(std::move(conditions)) {}
  std::span<const NodePtr> children() const override { return conditions_; }
  bool MatchesValue(const bson::Value& value, MatchState& state) const override;
  void SerializeOperator(bson::Builder* out) const override;

 private:
  std::vector<NodePtr> conditions_;
};

}  // namespace quire::expr::match
