// SPDX-License-Identifier: Apache-2.0
//
// Updates that replace the whole document but its _id.
#include "base/error_codes.h"
#include "base/try.h"
#include "expr/update/array_filter_internal.h"
#include "expr/update/kinds_internal.h"

namespace quire::expr::update {

namespace {

class Replacement : public Update {
 public:
  Replacement(bson::View spec, bool keep_empty_timestamps, const Context* context)
      : spec_(spec), keep_empty_timestamps_(keep_empty_timestamps), context_(context) {}

  bool is_replacement() const override { return true; }
  Result<Outcome> Apply(bson::View document, std::string_view, bool inserting,
                        std::string* out) const override {
    if (keep_empty_timestamps_ || !HasZeroTimestamp()) {
      return FinishWhole(document, spec_, inserting, out);
    }
    bson::Document stamped = Stamp();
    return FinishWhole(document, stamped, inserting, out);
  }

 private:
  static bool IsZeroTimestamp(const bson::Element& element) {
    return element.type() == bson::Type::kTimestamp && element.name() != "_id" &&
           element.value().AsTimestamp() == bson::Timestamp{};
  }
  bool HasZeroTimestamp() const {
    for (const bson::Element& element : spec_.view()) {
      if (IsZeroTimestamp(element)) {
        return true;
      }
    }
    return false;
  }
  // A top-level Timestamp(0, 0) stands for the time of the write.
  bson::Document Stamp() const {
    bson::Builder builder;
    for (const bson::Element& element : spec_.view()) {
      if (IsZeroTimestamp(element)) {
        builder.Append(element.name(), context_->cluster_time);
      } else {
        builder.Append(element);
      }
    }
    return builder.Finish();
  }

  bson::Document spec_;
  const bool keep_empty_timestamps_;
  const Context* context_;
};

}  // namespace

Result<std::unique_ptr<Update>> ParseReplacement(bson::View spec, const ParseOptions& options,
                                                 const Context* context) {
  if (options.multi) {
    return Status(kFailedToParse, "multi update is not supported for replacement-style update");
  }
  // They are checked although there is nothing to apply them to.
  RETURN_IF_ERROR(ArrayFilters::Parse(options.array_filters, context).status());
  for (const bson::Element& element : spec) {
    if (!element.name().empty() && element.name()[0] == '$') {
      return Status(kDollarPrefixedFieldName,
                    "The dollar ($) prefixed field '" + std::string(element.name()) + "' in '" +
                        std::string(element.name()) +
                        "' is not allowed in the context of an update's replacement document. "
                        "Consider using an aggregation pipeline with $replaceWith.");
    }
  }
  return std::unique_ptr<Update>(
      std::make_unique<Replacement>(spec, options.keep_empty_timestamps, context));
}

}  // namespace quire::expr::update
