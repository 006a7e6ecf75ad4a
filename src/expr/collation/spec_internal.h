// SPDX-License-Identifier: Apache-2.0
//
// The collation document: its fields, and ICU attributes set from them and read back. Private to
// expr/collation.
#pragma once

#include <unicode/coll.h>

#include <optional>
#include <string>

#include "quire/bson.h"
#include "quire/status.h"

namespace quire::expr {

// What the document says; what it leaves open is the locale's own.
struct CollationSpec {
  std::string locale;
  std::optional<bool> case_level;
  std::optional<UColAttributeValue> case_first;
  std::optional<UColAttributeValue> strength;
  std::optional<bool> numeric_ordering;
  std::optional<UColAttributeValue> alternate;
  std::optional<UColReorderCode> max_variable;
  std::optional<bool> normalization;
  std::optional<bool> backwards;
};

// Errors: 40414 without a locale, 40415 for an unknown field, TypeMismatch, BadValue for a value
// that is none of the allowed, 161 for another version.
Result<CollationSpec> ParseCollationSpec(bson::View spec);

// Sets the attributes. BadValue for combinations that make no sense.
Status Configure(const CollationSpec& spec, icu::Collator* icu);

// The document with every field, as the configured collator has it.
bson::Document CompleteSpec(const std::string& locale, const icu::Collator& icu);

}  // namespace quire::expr
