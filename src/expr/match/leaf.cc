// SPDX-License-Identifier: Apache-2.0
#include "expr/match/leaf.h"

#include <algorithm>

#include "bson/compare.h"
#include "bson/number.h"
#include "bson/walk/form_walk.h"
#include "expr/collation/collator.h"

namespace quire::expr::match {

using bson::Type;
using bson::Value;

// ------------------------------------------------------------------ PathNode
bool PathNode::Matches(bson::View document, MatchState& state) const {
  if (!state.MayGoOn()) {
    return false;
  }
  if (path_.size() == 1 && state.details == nullptr) {
    return MatchesField(bson::FindInForm(document, path_.part(0)), state);
  }
  auto visit = [&](const Value& value, std::string_view outer) {
    if (!MatchesValue(value, state)) {
      return false;
    }
    if (state.details != nullptr && !outer.empty()) {
      state.details->array_index = outer;
    }
    return true;
  };
  return WalkPath(path_, 0, document, leaf_, {}, visit);
}

bool PathNode::MatchesField(const Value& field, MatchState& state) const {
  auto visit = [&](const Value& value, std::string_view) { return MatchesValue(value, state); };
  return WalkLeaf(field, leaf_, {}, visit);
}

void PathNode::Serialize(bson::Builder* out) const {
  out->BeginDocument(path());
  SerializeOperator(out);
  out->End();
}

// ------------------------------------------------------------------ comparisons
bool Satisfies(Kind kind, int order) {
  switch (kind) {
    case Kind::kEq:
      return order == 0;
    case Kind::kLt:
      return order < 0;
    case Kind::kLte:
      return order <= 0;
    case Kind::kGt:
      return order > 0;
    default:
      return order >= 0;
  }
}

namespace {

int Order(int64_t a, int64_t b) { return static_cast<int>(a > b) - static_cast<int>(a < b); }

std::string_view ComparisonName(Kind kind) {
  switch (kind) {
    case Kind::kEq:
      return "$eq";
    case Kind::kLt:
      return "$lt";
    case Kind::kLte:
      return "$lte";
    case Kind::kGt:
      return "$gt";
    default:
      return "$gte";
  }
}

}  // namespace

ComparisonNode::ComparisonNode(Kind kind, std::string_view path, const Value& operand,
                               const Collator* collator)
    : PathNode(kind, path), owned_(operand), operand_(owned_.value()), collator_(collator) {}

// A value of another type than the operand.
bool ComparisonNode::OtherType(const Value& value) const {
  bool inclusive = kind() != Kind::kLt && kind() != Kind::kGt;
  if (operand_.type() == Type::kNull && value.missing()) {
    return inclusive;  // undefined, though, is not null
  }
  if (operand_.type() == Type::kMaxKey) {
    return kind() == Kind::kLt || kind() == Kind::kLte;
  }
  if (operand_.type() == Type::kMinKey) {
    return kind() == Kind::kGt || kind() == Kind::kGte;
  }
  return false;
}

bool ComparisonNode::MatchesValue(const Value& value, MatchState&) const {
  if (value.type() != operand_.type()) {
    if (bson::CanonicalType(value.type()) != bson::CanonicalType(operand_.type()) ||
        value.nullish()) {
      return OtherType(value);
    }
  } else if (value.type() == Type::kInt32 || value.type() == Type::kInt64) {
    return Satisfies(kind(), Order(value.AsInt64(), operand_.AsInt64()));
  } else if (value.type() == Type::kDate) {
    return Satisfies(kind(), Order(value.AsDate().millis, operand_.AsDate().millis));
  } else if (value.type() == Type::kString && collator_ == nullptr && kind() == Kind::kEq) {
    return value.AsString() == operand_.AsString();
  }
  if (value.is_number()) {
    bool nan = bson::IsNan(value);
    if (nan || bson::IsNan(operand_)) {
      return nan && bson::IsNan(operand_) && kind() != Kind::kLt && kind() != Kind::kGt;
    }
  }
  return Satisfies(kind(), bson::Compare(value, operand_, collator_));
}

void ComparisonNode::SerializeOperator(bson::Builder* out) const {
  out->Append(ComparisonName(kind()), operand_);
}

// ------------------------------------------------------------------ $in
InNode::InNode(std::string_view path, std::vector<bson::OwnedValue> values,
               std::vector<std::shared_ptr<const Regex>> regexes, const Collator* collator)
    : PathNode(Kind::kIn, path),
      owned_(std::move(values)),
      regexes_(std::move(regexes)),
      collator_(collator) {
  values_.reserve(owned_.size());
  for (const bson::OwnedValue& value : owned_) {
    values_.push_back(value.value());
    has_null_ = has_null_ || value.type() == Type::kNull;
  }
  std::stable_sort(values_.begin(), values_.end(), bson::ValueLess{collator_});
  values_.erase(std::unique(values_.begin(), values_.end(), bson::ValueEqual{collator_}),
                values_.end());
}

bool InNode::Contains(const Value& value) const {
  constexpr size_t kLinear = 4;
  if (values_.size() <= kLinear) {
    return std::any_of(values_.begin(), values_.end(),
                       [&](const Value& v) { return bson::Equal(v, value, collator_); });
  }
  return std::binary_search(values_.begin(), values_.end(), value, bson::ValueLess{collator_});
}

bool InNode::MatchesValue(const Value& value, MatchState& state) const {
  if (value.missing() && has_null_) {
    return true;
  }
  if (Contains(value)) {
    return true;
  }
  if (regexes_.empty()) {
    return false;
  }
  RegexErrorScope errors(&state.error);
  return std::any_of(regexes_.begin(), regexes_.end(),
                     [&](const auto& regex) { return state.error.ok() && regex->Matches(value); });
}

void InNode::SerializeOperator(bson::Builder* out) const {
  out->BeginArray("$in");
  for (const Value& value : values_) {
    out->Push(value);
  }
  for (const auto& regex : regexes_) {
    std::string index = std::to_string(out->pushed());
    out->AppendRegex(index, regex->pattern(), regex->options());
  }
  out->End();
}

// ------------------------------------------------------------------ $type, $size, $mod, $regex
void TypeNode::SerializeOperator(bson::Builder* out) const { types_.AppendTo("$type", out); }

bool SizeNode::MatchesValue(const Value& value, MatchState&) const {
  return value.is_array() && static_cast<int64_t>(value.AsArray().Count()) == size_;
}

void SizeNode::SerializeOperator(bson::Builder* out) const {
  out->Append("$size", static_cast<int32_t>(size_));
}

bool ModNode::MatchesValue(const Value& value, MatchState&) const {
  if (!value.is_number()) {
    return false;
  }
  std::optional<int64_t> dividend = bson::TruncatedInt64(value);
  if (!dividend) {
    return false;
  }
  int64_t remainder = divisor_ == -1 ? 0 : *dividend % divisor_;
  return remainder == remainder_;
}

void ModNode::SerializeOperator(bson::Builder* out) const {
  out->BeginArray("$mod").Push(divisor_).Push(remainder_).End();
}

bool RegexNode::MatchesValue(const Value& value, MatchState& state) const {
  RegexErrorScope errors(&state.error);
  return state.error.ok() && regex_->Matches(value);
}

void RegexNode::SerializeOperator(bson::Builder* out) const {
  out->Append("$regex", regex_->pattern());
  if (!regex_->options().empty()) {
    out->Append("$options", regex_->options());
  }
}

// ------------------------------------------------------------------ $bits*
namespace {

std::string_view BitsName(Kind kind) {
  switch (kind) {
    case Kind::kBitsAllSet:
      return "$bitsAllSet";
    case Kind::kBitsAllClear:
      return "$bitsAllClear";
    case Kind::kBitsAnySet:
      return "$bitsAnySet";
    default:
      return "$bitsAnyClear";
  }
}

}  // namespace

BitsNode::BitsNode(Kind kind, std::string_view path, std::vector<uint32_t> positions)
    : PathNode(kind, path), positions_(std::move(positions)) {
  for (uint32_t position : positions_) {
    if (position < 64) {
      mask_ |= uint64_t{1} << position;
    } else {
      beyond_ = true;
    }
  }
}

// Positions beyond the number's 64 bits read its sign.
bool BitsNode::MatchesInteger(int64_t value) const {
  uint64_t bits = static_cast<uint64_t>(value) & mask_;
  bool negative = value < 0;
  switch (kind()) {
    case Kind::kBitsAllSet:
      return bits == mask_ && (!beyond_ || negative);
    case Kind::kBitsAllClear:
      return bits == 0 && (!beyond_ || !negative);
    case Kind::kBitsAnySet:
      return bits != 0 || (beyond_ && negative);
    default:
      return bits != mask_ || (beyond_ && !negative);
  }
}

bool BitsNode::MatchesBinary(std::string_view bytes) const {
  bool want_set = kind() == Kind::kBitsAllSet || kind() == Kind::kBitsAnySet;
  bool all = kind() == Kind::kBitsAllSet || kind() == Kind::kBitsAllClear;
  auto is_wanted = [&](uint32_t position) {
    bool set = position / 8 < bytes.size() &&
               ((static_cast<uint8_t>(bytes[position / 8]) >> (position % 8)) & 1) != 0;
    return set == want_set;
  };
  return all ? std::all_of(positions_.begin(), positions_.end(), is_wanted)
             : std::any_of(positions_.begin(), positions_.end(), is_wanted);
}

bool BitsNode::MatchesValue(const Value& value, MatchState&) const {
  if (value.type() == Type::kBinary) {
    return MatchesBinary(value.AsBinary());
  }
  std::optional<int64_t> integer = bson::ExactInt64(value);
  return integer && MatchesInteger(*integer);
}

void BitsNode::SerializeOperator(bson::Builder* out) const {
  out->BeginArray(BitsName(kind()));
  for (uint32_t position : positions_) {
    out->Push(static_cast<int32_t>(position));
  }
  out->End();
}

}  // namespace quire::expr::match
