// SPDX-License-Identifier: Apache-2.0
//
// The tree of a parsed filter. Nodes are immutable, own what they need and may be shared: the
// planner builds residual filters from parts of a tree.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/current_op.h"
#include "bson/walk/field_walk.h"
#include "expr/context.h"
#include "expr/match/match.h"
#include "quire/bson.h"
#include "quire/status.h"

namespace quire::expr::match {

// In the order in which MongoDB sorts the children of $and and $or.
enum class Kind {
  kAnd,
  kOr,
  kElemMatchObject,
  kElemMatchValue,
  kSize,
  kEq,
  kLte,
  kLt,
  kGt,
  kGte,
  kRegex,
  kMod,
  kExists,
  kIn,
  kBitsAllSet,
  kBitsAllClear,
  kBitsAnySet,
  kBitsAnyClear,
  kNot,
  kNor,
  kType,
  kGeo,
  kWhere,
  kExpr,
  kAlwaysFalse,
  kAlwaysTrue,
  kGeoNear,
  kText,
  kSampleRate,
  kJsonSchema,
};

class Node;
using NodePtr = std::shared_ptr<const Node>;

// What one match carries along.
struct MatchState {
  const Metadata* metadata = nullptr;
  Details* details = nullptr;
  // The first error of $expr, $where or a regular expression, or why the operation is to end; the
  // match's answer then means nothing.
  Status error;
  uint32_t steps = 0;

  // Asked by every predicate: false after an error. Now and then looks whether there is one, so
  // that the match of many predicates with many elements can be ended.
  bool MayGoOn() {
    if ((++steps & 255) == 0 && error.ok()) [[unlikely]] {
      error = CheckCurrentOp();
    }
    return error.ok();
  }
};

class Node {
 public:
  explicit Node(Kind kind) : kind_(kind) {}
  virtual ~Node() = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  Kind kind() const { return kind_; }
  // The dotted path of a predicate on one field; "" for the others and inside $elemMatch's value
  // form.
  virtual const std::string& path() const;
  // Of $and, $or, $nor, $not, $elemMatch.
  virtual std::span<const NodePtr> children() const { return {}; }

  virtual bool Matches(bson::View document, MatchState& state) const = 0;
  // The predicate asked of one value instead of a document, as inside $elemMatch's value form.
  virtual bool MatchesValue(const bson::Value& value, MatchState& state) const = 0;
  // Whether one undotted field, path(), decides the match; then MatchesField(document[path()])
  // says the same as Matches(document).
  virtual bool single_field() const { return false; }
  virtual bool MatchesField(const bson::Value& field, MatchState& state) const {
    return MatchesValue(field, state);
  }
  // Appends the node as a field of a filter document, as explain shows it.
  virtual void Serialize(bson::Builder* out) const = 0;
  // Appends only the operator(s): `$gt: 5`. The same as Serialize for nodes without a path.
  virtual void SerializeOperator(bson::Builder* out) const { Serialize(out); }

 private:
  Kind kind_;
};

// The node alone as a document: explain's parsedQuery or filter.
bson::Document Serialize(const Node& node);

// A canonical order of nodes by shape: kind, path, then children. Ignores constants.
int CompareShape(const Node& a, const Node& b);

// ------------------------------------------------------------------ logical
class AndNode final : public Node {
 public:
  explicit AndNode(std::vector<NodePtr> children);
  // The path all children share, if they do.
  const std::string& path() const override;
  std::span<const NodePtr> children() const override { return children_; }
  bool single_field() const override { return single_field_; }
  bool MatchesField(const bson::Value& field, MatchState& state) const override;
  bool Matches(bson::View document, MatchState& state) const override;
  bool MatchesValue(const bson::Value& value, MatchState& state) const override;
  void Serialize(bson::Builder* out) const override;
  void SerializeOperator(bson::Builder* out) const override;

 private:
  bool Sweep(bson::View document, MatchState& state) const;

  std::vector<NodePtr> children_;
  // Children on undotted fields, answered in one walk over the document; the rest one by one.
  struct Swept {
    bson::FieldName field;
    const Node* node;
  };
  std::vector<Swept> swept_;
  uint64_t swept_bits_ = 0;  // of their fields
  std::vector<const Node*> rest_;
  bool shares_path_ = false;
  bool single_field_ = false;
};

class OrNode final : public Node {
 public:
  explicit OrNode(std::vector<NodePtr> children)
      : Node(Kind::kOr), children_(std::move(children)) {}
  std::span<const NodePtr> children() const override { return children_; }
  bool Matches(bson::View document, MatchState& state) const override;
  bool MatchesValue(const bson::Value& value, MatchState& state) const override;
  void Serialize(bson::Builder* out) const override;

 private:
  std::vector<NodePtr> children_;
};

class NorNode final : public Node {
 public:
  explicit NorNode(std::vector<NodePtr> children)
      : Node(Kind::kNor), children_(std::move(children)) {}
  std::span<const NodePtr> children() const override { return children_; }
  bool Matches(bson::View document, MatchState& state) const override;
  bool MatchesValue(const bson::Value& value, MatchState& state) const override;
  void Serialize(bson::Builder* out) const override;

 private:
  std::vector<NodePtr> children_;
};

class NotNode final : public Node {
 public:
  explicit NotNode(NodePtr child) : Node(Kind::kNot), child_(std::move(child)) {}
  const Node& child() const { return *child_; }
  // The child's path when it has one (an $and of predicates on one path counts).
  const std::string& path() const override;
  std::span<const NodePtr> children() const override { return {&child_, 1}; }
  bool single_field() const override { return child_->single_field(); }
  bool MatchesField(const bson::Value& field, MatchState& state) const override;
  bool Matches(bson::View document, MatchState& state) const override;
  bool MatchesValue(const bson::Value& value, MatchState& state) const override;
  void Serialize(bson::Builder* out) const override;
  void SerializeOperator(bson::Builder* out) const override;

 private:
  NodePtr child_;
};

class ConstantNode final : public Node {
 public:
  explicit ConstantNode(bool value) : Node(value ? Kind::kAlwaysTrue : Kind::kAlwaysFalse) {}
  bool Matches(bson::View, MatchState&) const override { return kind() == Kind::kAlwaysTrue; }
  bool MatchesValue(const bson::Value&, MatchState&) const override {
    return kind() == Kind::kAlwaysTrue;
  }
  void Serialize(bson::Builder* out) const override;
};

}  // namespace quire::expr::match
