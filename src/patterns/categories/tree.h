// SPDX-License-Identifier: Apache-2.0
//
// Changes of the category tree, as their holder of the lock (or a transaction) writes them. Every
// write carries the change's token: a category that a later change has written refuses it. All are
// sets of values, so that anyone may carry a change out again.
#pragma once

#include "quire/patterns/categories.h"

namespace quire::patterns {

inline constexpr char kCategories[] = "categories";

// {parent, ancestors, depth, fence} of a child of `parent` (none: a root).
bson::Document PlaceBelow(const std::optional<bson::Document>& parent);

class CategoryTree {
 public:
  // `change`: {kind, id, parent | name, slug | keep_children}.
  CategoryTree(const Store& store, int32_t max_depth, int64_t token, const Claim& claim)
      : store_(store), max_depth_(max_depth), token_(token), claim_(claim) {}

  Status Apply(const bson::Document& change);
  const JobReport& report() const { return report_; }

 private:
  Status Move(const bson::Document& change);
  Status Rename(const bson::Document& change);
  Status Remove(const bson::Document& change);
  Status RebuildAll();

  Status CheckMove(const bson::Value& id, const bson::Value& parent);
  Result<int32_t> HeightOf(const bson::Value& id);
  Result<std::optional<bson::Document>> Parent(const bson::Value& parent);
  Status Rebuild(const bson::Document& top);
  Status MoveChildrenUp(const bson::Document& node);
  Result<bson::Document> Existing(const bson::Value& id);
  // The category and what else a filter asks, unless a later change has written it.
  bson::Document Mine(const bson::Value& id, const bson::Document& also = {}) const;
  Status After(std::string_view operation, int step) {
    return store_.seams().After(operation, step);
  }

  Store store_;
  int32_t max_depth_;
  int64_t token_;
  Claim claim_;
  JobReport report_;
};

}  // namespace quire::patterns
