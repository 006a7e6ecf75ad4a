// SPDX-License-Identifier: Apache-2.0
//
// Predicates on the values of one path.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "expr/match/node.h"
#include "expr/match/path.h"
#include "expr/regex.h"
#include "expr/type_set.h"

namespace quire::expr::match {

// Matches when any value the path reaches does.
class PathNode : public Node {
 public:
  const std::string& path() const final { return path_.dotted(); }
  bool single_field() const final { return path_.size() == 1; }
  bool Matches(bson::View document, MatchState& state) const final;
  bool MatchesField(const bson::Value& field, MatchState& state) const final;
  void Serialize(bson::Builder* out) const final;

 protected:
  PathNode(Kind kind, std::string_view path, LeafArray leaf = LeafArray::kElementsAndWhole)
      : Node(kind), path_(path), leaf_(leaf) {}

 private:
  Path path_;
  LeafArray leaf_;
};

// Whether a comparison that came out as `order` (negative, 0, positive) satisfies the kind.
// REQUIRES: kEq, kLt, kLte, kGt or kGte.
bool Satisfies(Kind kind, int order);

// $eq $lt $lte $gt $gte: a value of the same bracket of types in that relation.
class ComparisonNode final : public PathNode {
 public:
  ComparisonNode(Kind kind, std::string_view path, const bson::Value& operand,
                 const Collator* collator);
  const bson::Value& operand() const { return operand_; }
  const Collator* collator() const { return collator_; }
  bool MatchesValue(const bson::Value& value, MatchState& state) const override;
  void SerializeOperator(bson::Builder* out) const override;

 private:
  bool OtherType(const bson::Value& value) const;

  bson::OwnedValue owned_;
  bson::Value operand_;
  const Collator* collator_;
};

// $in: equal to one of the values, or matched by one of the regular expressions.
class InNode final : public PathNode {
 public:
  InNode(std::string_view path, std::vector<bson::OwnedValue> values,
         std::vector<std::shared_ptr<const Regex>> regexes, const Collator* collator);
  // Sorted, without duplicates.
  const std::vector<bson::Value>& values() const { return values_; }
  const std::vector<std::shared_ptr<const Regex>>& regexes() const { return regexes_; }
  bool has_null() const { return has_null_; }
  const Collator* collator() const { return collator_; }
  bool MatchesValue(const bson::Value& value, MatchState& state) const override;
  void SerializeOperator(bson::Builder* out) const override;

 private:
  bool Contains(const bson::Value& value) const;

  std::vector<bson::OwnedValue> owned_;
  std::vector<bson::Value> values_;
  std::vector<std::shared_ptr<const Regex>> regexes_;
  const Collator* collator_;
  bool has_null_ = false;
};

class ExistsNode final : public PathNode {
 public:
  explicit ExistsNode(std::string_view path) : PathNode(Kind::kExists, path) {}
  bool MatchesValue(const bson::Value& value, MatchState&) const override {
    return !value.missing();
  }
  void SerializeOperator(bson::Builder* out) const override { out->Append("$exists", true); }
};

class TypeNode final : public PathNode {
 public:
  TypeNode(std::string_view path, const TypeSet& types)
      : PathNode(Kind::kType, path), types_(types) {}
  const TypeSet& types() const { return types_; }
  bool MatchesValue(const bson::Value& value, MatchState&) const override {
    return types_.Has(value.type());
  }
  void SerializeOperator(bson::Builder* out) const override;

 private:
  TypeSet types_;
};

class SizeNode final : public PathNode {
 public:
  SizeNode(std::string_view path, int64_t size)
      : PathNode(Kind::kSize, path, LeafArray::kWhole), size_(size) {}
  int64_t size() const { return size_; }
  bool MatchesValue(const bson::Value& value, MatchState& state) const override;
  void SerializeOperator(bson::Builder* out) const override;

 private:
  int64_t size_;
};

class ModNode final : public PathNode {
 public:
  ModNode(std::string_view path, int64_t divisor, int64_t remainder)
      : PathNode(Kind::kMod, path), divisor_(divisor), remainder_(remainder) {}
  bool MatchesValue(const bson::Value& value, MatchState& state) const override;
  void SerializeOperator(bson::Builder* out) const override;

 private:
  int64_t divisor_;
  int64_t remainder_;
};

class RegexNode final : public PathNode {
 public:
  RegexNode(std::string_view path, std::shared_ptr<const Regex> regex)
      : PathNode(Kind::kRegex, path), regex_(std::move(regex)) {}
  const Regex& regex() const { return *regex_; }
  const std::shared_ptr<const Regex>& shared_regex() const { return regex_; }
  bool MatchesValue(const bson::Value& value, MatchState& state) const override;
  void SerializeOperator(bson::Builder* out) const override;

 private:
  std::shared_ptr<const Regex> regex_;
};

// $bitsAllSet and its three sisters. Positions are sorted.
class BitsNode final : public PathNode {
 public:
  BitsNode(Kind kind, std::string_view path, std::vector<uint32_t> positions);
  bool MatchesValue(const bson::Value& value, MatchState& state) const override;
  void SerializeOperator(bson::Builder* out) const override;

 private:
  bool MatchesInteger(int64_t value) const;
  bool MatchesBinary(std::string_view bytes) const;

  std::vector<uint32_t> positions_;
  uint64_t mask_ = 0;    // of the positions below 64
  bool beyond_ = false;  // some position is 64 or more
};

}  // namespace quire::expr::match
