// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>

#include "base/current_op.h"
#include "base/error_codes.h"
#include "base/try.h"
#include "expr/update/array_filter_internal.h"
#include "expr/wrong_type.h"

namespace quire::expr::update {

namespace {

// The one top-level name all conditions of `filter` start with, into *found ("" when none yet).
Status FindIdentifier(bson::View filter, int depth, std::string* found) {
  if (depth > 100) {
    return Status(kBadValue, "Error parsing array filter: it is nested too deeply");
  }
  for (const bson::Element& element : filter) {
    std::string_view name = element.name();
    if (name == "$and" || name == "$or" || name == "$nor") {
      if (element.type() != bson::Type::kArray) {
        continue;
      }
      for (const bson::Element& branch : element.value().AsArray()) {
        if (branch.type() == bson::Type::kDocument) {
          RETURN_IF_ERROR(FindIdentifier(branch.value().AsDocument(), depth + 1, found));
        }
      }
      continue;
    }
    if (name == "$text" || name == "$where") {
      return Status(kBadValue, std::string(name) + " is not allowed in this context");
    }
    if (name == "$expr") {
      return Status(kQueryFeatureNotAllowed, "$expr is not allowed in this context");
    }
    if (!name.empty() && name[0] == '$') {
      continue;
    }
    std::string_view first = name.substr(0, name.find('.'));
    if (found->empty()) {
      *found = first;
    } else if (*found != first) {
      return Status(kFailedToParse,
                    "Error parsing array filter: Expected a single top-level field name, found '" +
                        *found + "' and '" + std::string(first) + "'");
    }
  }
  return Status::Ok();
}

bool IsValidIdentifier(std::string_view name) {
  return !name.empty() && name[0] >= 'a' && name[0] <= 'z' &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c); });
}

Result<ArrayFilter> ParseOne(bson::View spec, const Context* context) {
  ArrayFilter made;
  RETURN_IF_ERROR(FindIdentifier(spec, 0, &made.identifier));
  ASSIGN_OR_RETURN(made.filter,
                   match::Filter::Parse(spec, context, match::Allowed::InArrayFilters()));
  if (made.identifier.empty()) {
    return Status(kFailedToParse,
                  "Cannot use an expression without a top-level field name in arrayFilters");
  }
  if (!IsValidIdentifier(made.identifier)) {
    return Status(kBadValue,
                  "Error parsing array filter: The top-level field name must be an alphanumeric "
                  "string beginning with a lowercase letter, found '" +
                      made.identifier + "'");
  }
  return made;
}

}  // namespace

Result<bool> ArrayFilter::Matches(const bson::Value& element) const {
  bson::Builder wrapper;
  wrapper.Append(identifier, element);
  bson::Document document = wrapper.Finish();
  return filter->Matches(document);
}

Result<ArrayFilters> ArrayFilters::Parse(bson::View filters, const Context* context) {
  ArrayFilters parsed;
  for (const bson::Element& element : filters) {
    if (element.type() != bson::Type::kDocument) {
      return WrongType("arrayFilters." + std::string(element.name()), element.value(), "object");
    }
    RETURN_IF_ERROR(CheckCurrentOp());
    ASSIGN_OR_RETURN(ArrayFilter made, ParseOne(element.value().AsDocument(), context));
    if (!parsed.index_.emplace(made.identifier, parsed.all_.size()).second) {
      return Status(
          kFailedToParse,
          "Found multiple array filters with the same top-level field name " + made.identifier);
    }
    parsed.all_.push_back(std::move(made));
  }
  return parsed;
}

const ArrayFilter* ArrayFilters::Find(std::string_view identifier) const {
  auto found = index_.find(identifier);
  return found == index_.end() ? nullptr : &all_[found->second];
}

ArrayFilter* ArrayFilters::Find(std::string_view identifier) {
  auto found = index_.find(identifier);
  return found == index_.end() ? nullptr : &all_[found->second];
}

const ArrayFilter* ArrayFilters::FirstUnused() const {
  auto found = std::find_if(all_.begin(), all_.end(),
                            [](const ArrayFilter& filter) { return !filter.used; });
  return found == all_.end() ? nullptr : &*found;
}

}  // namespace quire::expr::update
