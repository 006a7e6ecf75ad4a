// SPDX-License-Identifier: Apache-2.0
//
// Where $text and $near may stand: they need an index, and one of each at most.
#include "base/error_codes.h"
#include "base/try.h"
#include "expr/match/parse_internal.h"

namespace quire::expr::match {
namespace {

struct Found {
  int text = 0;
  int near = 0;
};

Status Walk(const Node& node, bool under_nor, bool top, Found* found) {
  if (node.kind() == Kind::kText) {
    if (under_nor) {
      return Status(kBadValue, "text expression not allowed in nor");
    }
    ++found->text;
  }
  if (node.kind() == Kind::kGeoNear) {
    if (!top) {
      return Status(kBadValue, "geoNear must be top-level expr");
    }
    ++found->near;
  }
  bool negated = under_nor || node.kind() == Kind::kNor || node.kind() == Kind::kNot;
  for (const NodePtr& child : node.children()) {
    RETURN_IF_ERROR(Walk(*child, negated, top && node.kind() == Kind::kAnd, found));
  }
  return Status::Ok();
}

}  // namespace

Status CheckPlacement(const Node& root) {
  Found found;
  RETURN_IF_ERROR(Walk(root, /*under_nor=*/false, /*top=*/true, &found));
  if (found.text > 1) {
    return Status(kBadValue, "Too many text expressions");
  }
  if (found.near > 1) {
    return Status(kBadValue, "Too many geoNear expressions");
  }
  if (found.text > 0 && found.near > 0) {
    return Status(kBadValue, "text and geoNear not allowed in same query");
  }
  return Status::Ok();
}

}  // namespace quire::expr::match
