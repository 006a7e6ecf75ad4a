// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>

#include "base/current_op.h"
#include "base/error_codes.h"
#include "base/try.h"
#include "expr/update/path_tree_internal.h"

namespace quire::expr::update {

namespace {

bool AllDigits(std::string_view s) {
  return !s.empty() && s.find_first_not_of("0123456789") == std::string_view::npos;
}

std::string_view StripZeros(std::string_view digits) {
  size_t at = digits.find_first_not_of('0');
  return at == std::string_view::npos ? std::string_view("0") : digits.substr(at);
}

Status Conflict(std::string_view path, std::string_view at) {
  return Status(kConflictingUpdateOperators, "Updating the path '" + std::string(path) +
                                                 "' would create a conflict at '" +
                                                 std::string(at) + "'");
}

Status CheckPath(std::string_view path, const std::vector<std::string_view>& parts,
                 ArrayFilters* filters) {
  size_t positional = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    std::string_view identifier;
    if (parts[i] == "$") {
      ++positional;
      if (i == 0) {
        return Status(kBadValue,
                      "Cannot have positional (i.e. '$') element in the first position "
                      "in path '" +
                          std::string(path) + "'");
      }
    } else if (IsFilterComponent(parts[i], &identifier)) {
      if (i == 0) {
        return Status(kBadValue,
                      "Cannot have array filter identifier (i.e. '$[<id>]') element in the first "
                      "position in path '" +
                          std::string(path) + "'");
      }
      if (identifier.empty()) {
        continue;
      }
      ArrayFilter* filter = filters->Find(identifier);
      if (filter == nullptr) {
        return Status(kBadValue, "No array filter found for identifier '" +
                                     std::string(identifier) + "' in path '" + std::string(path) +
                                     "'");
      }
      filter->used = true;
    }
  }
  if (positional > 1) {
    return Status(kBadValue, "Too many positional (i.e. '$') elements found in path '" +
                                 std::string(path) + "'");
  }
  return Status::Ok();
}

Node::Kind KindAbove(std::string_view component) {
  std::string_view identifier;
  return IsFilterComponent(component, &identifier) ? Node::Kind::kArray : Node::Kind::kObject;
}

NodePtr* Slot(Node* node, std::string_view component) {
  std::string_view identifier;
  if (component == "$") {
    return &node->positional;
  }
  return &node->children[std::string(IsFilterComponent(component, &identifier) ? identifier
                                                                               : component)];
}

}  // namespace

bool ComponentLess::operator()(std::string_view a, std::string_view b) const {
  bool a_digits = AllDigits(a);
  bool b_digits = AllDigits(b);
  if (a_digits != b_digits) {
    return a_digits;
  }
  if (a_digits) {
    std::string_view x = StripZeros(a);
    std::string_view y = StripZeros(b);
    if (x.size() != y.size()) {
      return x.size() < y.size();
    }
    if (int order = x.compare(y); order != 0) {
      return order < 0;
    }
  }
  return a < b;
}

bool ParseIndex(std::string_view component, uint32_t* index) {
  if (!AllDigits(component)) {
    return false;
  }
  auto [end, error] =
      std::from_chars(component.data(), component.data() + component.size(), *index);
  return error == std::errc();
}

std::vector<std::string_view> SplitPath(std::string_view path) {
  std::vector<std::string_view> parts;
  for (;;) {
    size_t dot = path.find('.');
    parts.push_back(path.substr(0, dot));
    if (dot == std::string_view::npos) {
      return parts;
    }
    path.remove_prefix(dot + 1);
  }
}

bool IsFilterComponent(std::string_view component, std::string_view* identifier) {
  if (component.size() < 3 || component.substr(0, 2) != "$[" || component.back() != ']') {
    return false;
  }
  *identifier = component.substr(2, component.size() - 3);
  return true;
}

Status CheckNames(std::string_view path) {
  if (path.empty()) {
    return Status(kEmptyFieldName, "An empty update path is not valid.");
  }
  std::vector<std::string_view> parts = SplitPath(path);
  if (std::any_of(parts.begin(), parts.end(), [](std::string_view p) { return p.empty(); })) {
    return Status(kEmptyFieldName, "The update path '" + std::string(path) +
                                       "' contains an empty field name, which is not allowed.");
  }
  return Status::Ok();
}

Status AddLeaf(Node* root, std::string_view path, NodePtr leaf, ArrayFilters* filters) {
  std::vector<std::string_view> parts = SplitPath(path);
  if (parts.size() > 200) {
    return Status(kOverflow, "The update path exceeds the maximum nesting depth of 200");
  }
  RETURN_IF_ERROR(CheckPath(path, parts, filters));
  Node* at = root;
  std::string_view taken;
  for (size_t i = 0;; ++i) {
    NodePtr* slot = Slot(at, parts[i]);
    taken = path.substr(0, taken.size() + parts[i].size() + (i > 0 ? 1 : 0));
    if (i + 1 == parts.size()) {
      if (*slot) {
        return Conflict(path, taken);
      }
      *slot = std::move(leaf);
      return Status::Ok();
    }
    Node::Kind kind = KindAbove(parts[i + 1]);
    if (!*slot) {
      auto made = std::make_shared<Node>();
      made->kind = kind;
      *slot = std::move(made);
    } else if ((*slot)->kind != kind) {
      return Conflict(path, taken);
    }
    at = slot->get();
  }
}

Result<NodePtr> MergeNodes(const NodePtr& a, const NodePtr& b, const std::string& path) {
  if (a->kind == Node::Kind::kLeaf || a->kind != b->kind) {
    return Conflict(path, path);
  }
  RETURN_IF_ERROR(CheckCurrentOpNow());  // it copies the names of one of them
  auto merged = std::make_shared<Node>(*a);
  for (const auto& [name, child] : b->children) {
    NodePtr& slot = merged->children[name];
    if (slot) {
      ASSIGN_OR_RETURN(slot, MergeNodes(slot, child, path + "." + name));
    } else {
      slot = child;
    }
  }
  if (b->positional) {
    if (merged->positional) {
      ASSIGN_OR_RETURN(merged->positional,
                       MergeNodes(merged->positional, b->positional, path + ".$"));
    } else {
      merged->positional = b->positional;
    }
  }
  return NodePtr(std::move(merged));
}

}  // namespace quire::expr::update
