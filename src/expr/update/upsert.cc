// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "base/error_codes.h"
#include "base/try.h"
#include "expr/update/apply_internal.h"
#include "expr/update/kinds_internal.h"
#include "expr/update/update.h"

namespace quire::expr::update {

namespace {

// Equality conditions by path, as a filter's conjunction implies them.
using Equalities = std::map<std::string, bson::Element>;

Status AddEquality(std::string_view path, const bson::Element& value, Equalities* found) {
  if (!found->emplace(path, value).second) {
    return Status(kNotSingleValueField, "cannot infer query fields to set, path '" +
                                            std::string(path) + "' is matched twice");
  }
  return Status::Ok();
}

bool IsOperatorObject(const bson::Value& value) {
  if (!value.is_document() || value.AsDocument().empty()) {
    return false;
  }
  std::string_view first = value.AsDocument().front().name();
  return !first.empty() && first[0] == '$' && first != "$ref" && first != "$id" && first != "$db";
}

Status CollectOperators(std::string_view path, bson::View operators, Equalities* found) {
  for (const bson::Element& element : operators) {
    std::string_view name = element.name();
    if (name == "$eq") {
      RETURN_IF_ERROR(AddEquality(path, element, found));
      continue;
    }
    bool single_in = name == "$in" && element.type() == bson::Type::kArray &&
                     element.value().AsArray().Count() == 1;
    if (!single_in && (name != "$all" || element.type() != bson::Type::kArray)) {
      continue;
    }
    for (const bson::Element& item : element.value().AsArray()) {
      if (item.type() != bson::Type::kRegex && !IsOperatorObject(item.value())) {
        RETURN_IF_ERROR(AddEquality(path, item, found));
      }
    }
  }
  return Status::Ok();
}

// `collect` is false below branches that imply nothing, which are still searched for $expr.
Status Collect(bson::View filter, bool collect, Equalities* found);

Status CollectBranches(const bson::Element& element, bool collect, Equalities* found) {
  if (element.type() != bson::Type::kArray) {
    return Status::Ok();
  }
  bson::View branches = element.value().AsArray();
  bool implied =
      collect && (element.name() == "$and" || (element.name() == "$or" && branches.Count() == 1));
  for (const bson::Element& branch : branches) {
    if (branch.type() == bson::Type::kDocument) {
      RETURN_IF_ERROR(Collect(branch.value().AsDocument(), implied, found));
    }
  }
  return Status::Ok();
}

Status Collect(bson::View filter, bool collect, Equalities* found) {
  for (const bson::Element& element : filter) {
    std::string_view name = element.name();
    if (name == "$expr") {
      return Status(kQueryFeatureNotAllowed,
                    "$expr is not allowed in the query predicate for an upsert");
    }
    if (name == "$and" || name == "$or" || name == "$nor") {
      RETURN_IF_ERROR(CollectBranches(element, collect, found));
      continue;
    }
    if (!collect || (!name.empty() && name[0] == '$') || element.type() == bson::Type::kRegex) {
      continue;
    }
    if (IsOperatorObject(element.value())) {
      RETURN_IF_ERROR(CollectOperators(name, element.value().AsDocument(), found));
    } else {
      RETURN_IF_ERROR(AddEquality(name, element, found));
    }
  }
  return Status::Ok();
}

Result<bson::Document> Expand(const Equalities& equalities) {
  Changes changes;
  Context context;
  for (const auto& [path, element] : equalities) {
    auto leaf = std::make_shared<Node>();
    leaf->kind = Node::Kind::kLeaf;
    leaf->row = FindModifier("$set");
    ASSIGN_OR_RETURN(leaf->modifier, leaf->row->parse(element, &context));
    Status added = AddLeaf(&changes.root, path, std::move(leaf), &changes.filters);
    if (added.code() == kConflictingUpdateOperators) {
      return Status(kNotSingleValueField, "cannot infer query fields to set, path '" + path +
                                              "' is matched together with one that contains it");
    }
    RETURN_IF_ERROR(added);
  }
  std::string bytes;
  bson::Document empty;
  Applier applier(changes, &context, empty, "", true);
  ASSIGN_OR_RETURN(bool modified, applier.Run(&bytes));
  if (modified) {
    MoveIdFirst(&bytes, 0);
  }
  return bson::Document::FromTrusted(std::move(bytes));
}

}  // namespace

Status CheckUpsertFilter(bson::View filter) {
  Equalities none;
  return Collect(filter, false, &none);
}

Result<bson::Document> UpsertSeed(bson::View filter, bool is_replacement) {
  Equalities equalities;
  RETURN_IF_ERROR(Collect(filter, true, &equalities));
  if (!is_replacement) {
    return Expand(equalities);
  }
  Equalities id;
  for (const auto& [path, element] : equalities) {
    if (path == "_id") {
      id.emplace(path, element);
    } else if (path.rfind("_id.", 0) == 0) {
      return Status(
          kNotExactValueField,
          "field at '_id' must be exactly specified, field at sub-path '" + path + "' found");
    }
  }
  return Expand(id);
}

}  // namespace quire::expr::update
