// SPDX-License-Identifier: Apache-2.0
#include "expr/collation/collator.h"

#include <unicode/coll.h>
#include <unicode/locid.h>
#include <unicode/stringpiece.h>
#include <unicode/unistr.h>

#include <cstring>
#include <utility>

#include "base/error_codes.h"
#include "base/try.h"
#include "expr/collation/spec_internal.h"

namespace quire::expr {
namespace {

class IcuCollator final : public Collator {
 public:
  IcuCollator(std::unique_ptr<icu::Collator> icu, bson::Document spec)
      : icu_(std::move(icu)), spec_(std::move(spec)) {}

  int Compare(std::string_view a, std::string_view b) const override {
    UErrorCode error = U_ZERO_ERROR;
    return icu_->compareUTF8(Piece(a), Piece(b), error);
  }

  std::string SortKey(std::string_view s) const override {
    icu::UnicodeString text = icu::UnicodeString::fromUTF8(Piece(s));
    std::string key(s.size() * 2 + 16, '\0');
    int32_t size = Fill(text, &key);
    if (static_cast<size_t>(size) > key.size()) {
      key.resize(static_cast<size_t>(size));
      size = Fill(text, &key);
    }
    key.resize(size > 0 ? static_cast<size_t>(size) - 1 : 0);  // without the final zero
    return key;
  }

  const bson::Document& spec() const override { return spec_; }

 private:
  static icu::StringPiece Piece(std::string_view s) {
    return {s.data(), static_cast<int32_t>(s.size())};
  }
  int32_t Fill(const icu::UnicodeString& text, std::string* key) const {
    return icu_->getSortKey(text, reinterpret_cast<uint8_t*>(key->data()),
                            static_cast<int32_t>(key->size()));
  }

  std::unique_ptr<icu::Collator> icu_;
  bson::Document spec_;
};

Status InvalidLocale(bson::View spec) {
  return Status(kBadValue, "Field 'locale' is invalid in: " + bson::ToJson(spec));
}

// The collator of a locale that exists under exactly that name.
Result<std::unique_ptr<icu::Collator>> OpenLocale(const std::string& name, bson::View spec) {
  icu::Locale locale(name.c_str());
  if (name.empty() || locale.isBogus()) {
    return InvalidLocale(spec);
  }
  UErrorCode error = U_ZERO_ERROR;
  std::unique_ptr<icu::Collator> icu(icu::Collator::createInstance(locale, error));
  if (U_FAILURE(error) || icu == nullptr) {
    return InvalidLocale(spec);
  }
  icu::Locale valid = icu->getLocale(ULOC_VALID_LOCALE, error);
  if (U_FAILURE(error) || name != valid.getName()) {
    return InvalidLocale(spec);
  }
  return icu;
}

}  // namespace

Result<std::shared_ptr<const Collator>> Collator::Parse(bson::View spec) {
  ASSIGN_OR_RETURN(CollationSpec parsed, ParseCollationSpec(spec));
  if (parsed.locale == "simple") {
    return std::shared_ptr<const Collator>();
  }
  ASSIGN_OR_RETURN(std::unique_ptr<icu::Collator> icu, OpenLocale(parsed.locale, spec));
  RETURN_IF_ERROR(Configure(parsed, icu.get()));
  bson::Document complete = CompleteSpec(parsed.locale, *icu);
  return std::shared_ptr<const Collator>(
      std::make_shared<IcuCollator>(std::move(icu), std::move(complete)));
}

}  // namespace quire::expr
