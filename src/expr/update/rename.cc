// SPDX-License-Identifier: Apache-2.0
#include "base/current_op.h"
#include "base/error_codes.h"
#include "base/try.h"
#include "expr/update/apply_internal.h"

namespace quire::expr::update {

namespace {

// The element at `component` of `container`; absent when there is none.
bson::Element Child(const bson::Value& container, std::string_view component) {
  if (container.is_document()) {
    return container.AsDocument().Find(component);
  }
  uint32_t index;
  if (!container.is_array() || !ParseIndex(component, &index)) {
    return bson::Element();
  }
  for (const bson::Element& element : container.AsArray()) {
    if (index-- == 0) {
      return element;
    }
  }
  return bson::Element();
}

Status ThroughArray(std::string_view role, const std::string& path, std::string_view array,
                    bson::View document) {
  return Status(kBadValue, "The " + std::string(role) + " field cannot be an array element, '" +
                               path + "' in doc with " + DescribeId(document) +
                               " has an array field called '" + std::string(array) + "'");
}

}  // namespace

Status Applier::ResolveRenames() {
  renamed_.reserve(changes_.renames.size());
  for (const Rename& rename : changes_.renames) {
    RETURN_IF_ERROR(CheckCurrentOp());
    ASSIGN_OR_RETURN(bson::Value value, RenamedValue(rename));
    if (!value.missing()) {
      RETURN_IF_ERROR(CheckRenameTarget(rename));
    }
    renamed_.push_back(value);
  }
  return Status::Ok();
}

Result<bson::Value> Applier::RenamedValue(const Rename& rename) const {
  bson::Value at(document_);
  std::string_view array;
  std::string_view previous;
  for (std::string_view component : SplitPath(rename.from)) {
    uint32_t index;
    if (at.is_array() && array.empty()) {
      array = previous;
    }
    if (!at.is_document() && !(at.is_array() && ParseIndex(component, &index))) {
      return Status(kPathNotViable, "cannot use the part (" + std::string(previous) + " of " +
                                        rename.from + ") to traverse the element ({" +
                                        std::string(previous) + ": " + bson::ToJson(at) + "})");
    }
    bson::Element child = Child(at, component);
    if (!child.present()) {
      return bson::Value();
    }
    at = child.value();
    previous = component;
  }
  if (!array.empty()) {
    return ThroughArray("source", rename.from, array, document_);
  }
  return at;
}

Status Applier::CheckRenameTarget(const Rename& rename) const {
  bson::Value at(document_);
  std::string_view previous;
  for (std::string_view component : SplitPath(rename.to)) {
    if (at.is_array()) {
      return ThroughArray("destination", rename.to, previous, document_);
    }
    bson::Element child = Child(at, component);
    if (!child.present()) {
      break;
    }
    at = child.value();
    previous = component;
  }
  return Status::Ok();
}

}  // namespace quire::expr::update
