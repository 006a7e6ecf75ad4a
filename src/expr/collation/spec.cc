// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/decimal.h"
#include "bson/number.h"
#include "expr/collation/spec_internal.h"
#include "expr/wrong_type.h"

namespace quire::expr {
namespace {

// The version of the collation data that MongoDB 3.4 and later name.
constexpr std::string_view kVersion = "57.1";

template <typename T>
struct Choice {
  std::string_view name;
  T value;
};

constexpr Choice<UColAttributeValue> kCaseFirst[] = {
    {"off", UCOL_OFF}, {"upper", UCOL_UPPER_FIRST}, {"lower", UCOL_LOWER_FIRST}};
constexpr Choice<UColAttributeValue> kAlternate[] = {{"non-ignorable", UCOL_NON_IGNORABLE},
                                                     {"shifted", UCOL_SHIFTED}};
constexpr Choice<UColReorderCode> kMaxVariable[] = {{"punct", UCOL_REORDER_CODE_PUNCTUATION},
                                                    {"space", UCOL_REORDER_CODE_SPACE}};
constexpr UColAttributeValue kStrengths[] = {UCOL_PRIMARY, UCOL_SECONDARY, UCOL_TERTIARY,
                                             UCOL_QUATERNARY, UCOL_IDENTICAL};

Status WrongType(const bson::Element& element, std::string_view expected) {
  return expr::WrongType("collation." + std::string(element.name()), element.value(), expected);
}

Status ParseBool(const bson::Element& element, std::optional<bool>* out) {
  if (element.type() != bson::Type::kBool) {
    return WrongType(element, "bool");
  }
  *out = element.value().AsBool();
  return Status::Ok();
}

template <typename T, size_t N>
Status ParseChoice(const bson::Element& element, const Choice<T> (&choices)[N],
                   std::optional<T>* out) {
  if (element.type() != bson::Type::kString) {
    return WrongType(element, "string");
  }
  for (const Choice<T>& choice : choices) {
    if (element.value().AsString() == choice.name) {
      *out = choice.value;
      return Status::Ok();
    }
  }
  return Status(kBadValue, "Enumeration value '" + std::string(element.value().AsString()) +
                               "' for field 'collation." + std::string(element.name()) +
                               "' is not a valid value.");
}

Status ParseStrength(const bson::Element& element, std::optional<UColAttributeValue>* out) {
  bson::Value value = element.value();
  if (!value.is_number()) {
    return WrongType(element, "int");
  }
  int64_t strength = 0;
  if (value.type() == bson::Type::kDecimal128) {
    strength = bson::decimal::ToInt64(value.AsDecimal(), bson::decimal::Rounding::kNearestEven)
                   .value_or(0);
  } else {
    strength = bson::ClampedInt64(value);
  }
  if (strength < 1 || strength > 5) {
    return Status(kBadValue, "BSON field 'strength' value must be >= 1 and <= 5, actual value '" +
                                 std::to_string(strength) + "'");
  }
  *out = kStrengths[strength - 1];
  return Status::Ok();
}

Status ParseVersion(const bson::Element& element) {
  if (element.type() != bson::Type::kString) {
    return WrongType(element, "string");
  }
  if (element.value().AsString() != kVersion) {
    return Status(kIncompatibleCollationVersion,
                  "Requested collation version " + std::string(element.value().AsString()) +
                      " but the only available collator version was " + std::string(kVersion));
  }
  return Status::Ok();
}

Status ParseSpecField(const bson::Element& element, CollationSpec* spec) {
  std::string_view name = element.name();
  if (element.type() == bson::Type::kNull && name != "backwards" && name != "locale") {
    return Status::Ok();
  }
  if (name == "locale") {
    if (element.type() != bson::Type::kString) {
      return WrongType(element, "string");
    }
    spec->locale = element.value().AsString();
    return Status::Ok();
  }
  if (name == "caseLevel") {
    return ParseBool(element, &spec->case_level);
  }
  if (name == "caseFirst") {
    return ParseChoice(element, kCaseFirst, &spec->case_first);
  }
  if (name == "strength") {
    return ParseStrength(element, &spec->strength);
  }
  if (name == "numericOrdering") {
    return ParseBool(element, &spec->numeric_ordering);
  }
  if (name == "alternate") {
    return ParseChoice(element, kAlternate, &spec->alternate);
  }
  if (name == "maxVariable") {
    return ParseChoice(element, kMaxVariable, &spec->max_variable);
  }
  if (name == "normalization") {
    return ParseBool(element, &spec->normalization);
  }
  if (name == "backwards") {
    return ParseBool(element, &spec->backwards);
  }
  if (name == "version") {
    return ParseVersion(element);
  }
  return Status(40415, "BSON field 'collation." + std::string(name) + "' is an unknown field.");
}

template <typename T, size_t N>
std::string_view NameOf(const Choice<T> (&choices)[N], T value) {
  for (const Choice<T>& choice : choices) {
    if (choice.value == value) {
      return choice.name;
    }
  }
  return choices[0].name;
}

int32_t StrengthNumber(UColAttributeValue strength) {
  for (int32_t i = 0; i < 5; ++i) {
    if (kStrengths[i] == strength) {
      return i + 1;
    }
  }
  return 3;
}

UColAttributeValue OnOff(bool on) { return on ? UCOL_ON : UCOL_OFF; }

}  // namespace

Result<CollationSpec> ParseCollationSpec(bson::View document) {
  CollationSpec spec;
  for (const bson::Element& element : document) {
    RETURN_IF_ERROR(ParseSpecField(element, &spec));
  }
  if (!document.Has("locale")) {
    return Status(40414, "BSON field 'collation.locale' is missing but a required field");
  }
  return spec;
}

Status Configure(const CollationSpec& spec, icu::Collator* icu) {
  UErrorCode error = U_ZERO_ERROR;
  auto set = [&](UColAttribute attribute, auto value) {
    icu->setAttribute(attribute, value, error);
  };
  if (spec.case_level) set(UCOL_CASE_LEVEL, OnOff(*spec.case_level));
  if (spec.case_first) set(UCOL_CASE_FIRST, *spec.case_first);
  if (spec.strength) set(UCOL_STRENGTH, *spec.strength);
  if (spec.numeric_ordering) set(UCOL_NUMERIC_COLLATION, OnOff(*spec.numeric_ordering));
  if (spec.alternate) set(UCOL_ALTERNATE_HANDLING, *spec.alternate);
  if (spec.normalization) set(UCOL_NORMALIZATION_MODE, OnOff(*spec.normalization));
  if (spec.backwards) set(UCOL_FRENCH_COLLATION, OnOff(*spec.backwards));
  if (spec.max_variable) icu->setMaxVariable(*spec.max_variable, error);
  if (U_FAILURE(error)) {
    return Status(kBadValue,
                  std::string("Failed to set collation attributes: ") + u_errorName(error));
  }
  UColAttributeValue strength = icu->getAttribute(UCOL_STRENGTH, error);
  if (spec.case_first && *spec.case_first != UCOL_OFF &&
      icu->getAttribute(UCOL_CASE_LEVEL, error) != UCOL_ON && strength < UCOL_TERTIARY) {
    return Status(
        kBadValue,
        "'caseFirst' is invalid unless 'caseLevel' is on or 'strength' is greater than 2");
  }
  if (spec.backwards.value_or(false) && strength == UCOL_PRIMARY) {
    return Status(kBadValue, "'backwards' is invalid with 'strength' of 1");
  }
  return Status::Ok();
}

bson::Document CompleteSpec(const std::string& locale, const icu::Collator& icu) {
  UErrorCode error = U_ZERO_ERROR;
  auto get = [&](UColAttribute attribute) { return icu.getAttribute(attribute, error); };
  bson::Builder out;
  out.Append("locale", locale);
  out.Append("caseLevel", get(UCOL_CASE_LEVEL) == UCOL_ON);
  out.Append("caseFirst", NameOf(kCaseFirst, get(UCOL_CASE_FIRST)));
  out.Append("strength", StrengthNumber(get(UCOL_STRENGTH)));
  out.Append("numericOrdering", get(UCOL_NUMERIC_COLLATION) == UCOL_ON);
  out.Append("alternate", NameOf(kAlternate, get(UCOL_ALTERNATE_HANDLING)));
  out.Append("maxVariable", NameOf(kMaxVariable, icu.getMaxVariable()));
  out.Append("normalization", get(UCOL_NORMALIZATION_MODE) == UCOL_ON);
  out.Append("backwards", get(UCOL_FRENCH_COLLATION) == UCOL_ON);
  out.Append("version", kVersion);
  return out.Finish();
}

}  // namespace quire::expr
