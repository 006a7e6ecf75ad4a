// SPDX-License-Identifier: Apache-2.0
#include "base/current_op.h"
#include "base/error_codes.h"
#include "base/try.h"
#include "expr/projection/tree_internal.h"

namespace quire::expr::projection {
namespace {

constexpr size_t kLinearSearch = 8;

}  // namespace

Child* TreeNode::FindOrNull(std::string_view name) {
  size_t position;
  return const_cast<Child*>(Find(name, &position));
}

const Child* TreeNode::Find(std::string_view name, size_t* position) const {
  if (index_ != nullptr) {
    auto found = index_->find(name);
    if (found == index_->end()) {
      return nullptr;
    }
    *position = found->second;
    return &children_[found->second];
  }
  for (size_t i = 0; i < children_.size(); ++i) {
    if (children_[i].name == name) {
      *position = i;
      return &children_[i];
    }
  }
  return nullptr;
}

Status TreeNode::Add(std::string_view path, Child leaf) {
  RETURN_IF_ERROR(CheckCurrentOp());
  return AddAt(path, path, std::move(leaf));
}

Child* TreeNode::Append(std::string_view name, Child child) {
  child.name = name;
  children_.push_back(std::move(child));
  if (children_.size() > kLinearSearch) {
    index_ = index_ == nullptr ? std::make_unique<Index>() : std::move(index_);
    for (size_t i = index_->size(); i < children_.size(); ++i) {
      index_->emplace(children_[i].name, i);
    }
  }
  return &children_.back();
}

Status TreeNode::AddAt(std::string_view full_path, std::string_view rest, Child leaf) {
  size_t dot = rest.find('.');
  std::string_view name = rest.substr(0, dot);
  computes_ = computes_ || leaf.computes;
  Child* existing = FindOrNull(name);
  if (dot == rest.npos) {
    if (existing != nullptr) {
      return Status(31250, "Path collision at " + std::string(full_path));
    }
    Append(name, std::move(leaf));
    return Status::Ok();
  }
  if (existing != nullptr && existing->kind != Child::Kind::kNode) {
    return Status(31249, "Path collision at " + std::string(full_path) + " remaining portion " +
                             std::string(rest.substr(dot + 1)));
  }
  if (existing == nullptr) {
    Child node;
    node.kind = Child::Kind::kNode;
    node.node = std::make_unique<TreeNode>();
    existing = Append(name, std::move(node));
  }
  existing->computes = existing->computes || leaf.computes;
  existing->positional = existing->positional || leaf.positional;
  return existing->node->AddAt(full_path, rest.substr(dot + 1), std::move(leaf));
}

}  // namespace quire::expr::projection
