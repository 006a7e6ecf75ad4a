// SPDX-License-Identifier: Apache-2.0
#include "kv/memory/tree.h"

#include <algorithm>
#include <atomic>
#include <cassert>

namespace quire::kv {

struct Tree::Node {
  explicit Node(SharedEntry content) : entry(std::move(content)) {}
  Node(const Node& other)
      : height(other.height),
        bytes(other.bytes),
        entry(other.entry),
        left(other.left),
        right(other.right) {}
  Node& operator=(const Node&) = delete;

  std::string_view key() const { return entry.key(); }

  std::atomic<uint32_t> owners{1};
  int32_t height = 1;
  uint64_t bytes = 0;  // of all entries from here down
  SharedEntry entry;
  Link left;
  Link right;
};

Tree::Link::Link(const Link& other) : node_(other.node_) {
  if (node_ != nullptr) {
    node_->owners.fetch_add(1, std::memory_order_relaxed);
  }
}

Tree::Link::~Link() {
  if (node_ != nullptr && node_->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    delete node_;
  }
}

uint64_t Tree::BytesOf(const Link& tree) { return tree ? tree->bytes : 0; }

int Tree::HeightOf(const Link& tree) { return tree ? tree->height : 0; }

Tree::Link Tree::Own(Link node) {
  // The only share cannot become two behind our back: whoever copies it would need one.
  if (node->owners.load(std::memory_order_acquire) == 1) {
    return node;
  }
  return Link(new Node(*node));
}

void Tree::Update(Node& node) {
  node.height = 1 + std::max(HeightOf(node.left), HeightOf(node.right));
  node.bytes = node.entry.size() + BytesOf(node.left) + BytesOf(node.right);
}

Tree::Link Tree::RotateLeft(Link node) {
  Link top = Own(std::move(node->right));
  node->right = std::move(top->left);
  Update(*node);
  top->left = std::move(node);
  return top;
}

Tree::Link Tree::RotateRight(Link node) {
  Link top = Own(std::move(node->left));
  node->left = std::move(top->right);
  Update(*node);
  top->right = std::move(node);
  return top;
}

Tree::Link Tree::Balance(Link node) {
  const int lean = HeightOf(node->right) - HeightOf(node->left);
  assert(lean >= -2 && lean <= 2);
  if (lean == 2) {
    if (HeightOf(node->right->left) > HeightOf(node->right->right)) {
      node->right = RotateRight(Own(std::move(node->right)));
      Update(*node->right);
    }
    node = RotateLeft(std::move(node));
  } else if (lean == -2) {
    if (HeightOf(node->left->right) > HeightOf(node->left->left)) {
      node->left = RotateLeft(Own(std::move(node->left)));
      Update(*node->left);
    }
    node = RotateRight(std::move(node));
  }
  Update(*node);
  return node;
}

const SharedEntry* Tree::Find(std::string_view key) const {
  const Node* node = root_.get();
  while (node != nullptr) {
    const int order = key.compare(node->key());
    if (order == 0) {
      return &node->entry;
    }
    node = (order < 0 ? node->left : node->right).get();
  }
  return nullptr;
}

Tree::Link Tree::Put(Link tree, SharedEntry entry) {
  if (!tree) {
    Link made(new Node(std::move(entry)));
    Update(*made);
    return made;
  }
  tree = Own(std::move(tree));
  const int order = entry.key().compare(tree->key());
  if (order == 0) {
    tree->entry = std::move(entry);
    Update(*tree);
    return tree;
  }
  Link& side = order < 0 ? tree->left : tree->right;
  side = Put(std::move(side), std::move(entry));
  return Balance(std::move(tree));
}

Tree::Link Tree::Delete(Link tree, std::string_view key) {
  if (!tree) {
    return tree;
  }
  tree = Own(std::move(tree));
  const int order = key.compare(tree->key());
  if (order == 0) {
    return Join(std::move(tree->left), std::move(tree->right));
  }
  Link& side = order < 0 ? tree->left : tree->right;
  side = Delete(std::move(side), key);
  return Balance(std::move(tree));
}

Tree::Link Tree::Join(Link left, Link middle, Link right) {
  if (HeightOf(left) > HeightOf(right) + 1) {
    left = Own(std::move(left));
    left->right = Join(std::move(left->right), std::move(middle), std::move(right));
    return Balance(std::move(left));
  }
  if (HeightOf(right) > HeightOf(left) + 1) {
    right = Own(std::move(right));
    right->left = Join(std::move(left), std::move(middle), std::move(right->left));
    return Balance(std::move(right));
  }
  middle->left = std::move(left);
  middle->right = std::move(right);
  Update(*middle);
  return middle;
}

Tree::Link Tree::Join(Link left, Link right) {
  if (!right) {
    return left;
  }
  Link first = TakeFirst(&right);
  return Join(std::move(left), std::move(first), std::move(right));
}

Tree::Link Tree::TakeFirst(Link* tree) {
  *tree = Own(std::move(*tree));
  Node& node = **tree;
  if (!node.left) {
    Link first = std::move(*tree);
    *tree = std::move(first->right);
    return first;
  }
  Link first = TakeFirst(&node.left);
  *tree = Balance(std::move(*tree));
  return first;
}

std::pair<Tree::Link, Tree::Link> Tree::Split(Link tree, std::string_view key) {
  if (!tree) {
    return {};
  }
  tree = Own(std::move(tree));
  Link left = std::move(tree->left);
  Link right = std::move(tree->right);
  if (tree->key() < key) {
    auto [before, rest] = Split(std::move(right), key);
    return {Join(std::move(left), std::move(tree), std::move(before)), std::move(rest)};
  }
  auto [before, rest] = Split(std::move(left), key);
  return {std::move(before), Join(std::move(rest), std::move(tree), std::move(right))};
}

void Tree::DeleteRange(const Range& range) {
  if (!range.end.empty() && range.end <= range.begin) {
    return;
  }
  auto [before, from_begin] = Split(std::move(root_), range.begin);
  Link after;
  if (!range.end.empty()) {
    after = Split(std::move(from_begin), range.end).second;
  }
  root_ = Join(std::move(before), std::move(after));
}

uint64_t Tree::BytesBefore(std::string_view key) const {
  uint64_t sum = 0;
  const Node* node = root_.get();
  while (node != nullptr) {
    if (node->key() < key) {
      sum += BytesOf(node->left) + node->entry.size();
      node = node->right.get();
    } else {
      node = node->left.get();
    }
  }
  return sum;
}

uint64_t Tree::BytesIn(const Range& range) const {
  const uint64_t end = range.end.empty() ? bytes() : BytesBefore(range.end);
  const uint64_t begin = BytesBefore(range.begin);
  return end > begin ? end - begin : 0;
}

const SharedEntry* Tree::Walk::entry() const {
  return depth_ == 0 ? nullptr : &path_[depth_ - 1]->entry;
}

void Tree::Walk::Descend(Node* node, bool to_left) {
  while (node != nullptr) {
    path_[depth_++] = node;
    node = (to_left ? node->left : node->right).get();
  }
}

void Tree::Walk::AscendFrom(bool left) {
  while (depth_ > 0) {
    const Node* child = path_[--depth_];
    if (depth_ > 0 && (left ? path_[depth_ - 1]->left : path_[depth_ - 1]->right).get() == child) {
      return;
    }
  }
}

void Tree::Walk::ToLast() {
  depth_ = 0;
  Descend(root_, false);
}

void Tree::Walk::ToFirstFrom(std::string_view key) {
  depth_ = 0;
  size_t found = 0;
  for (Node* node = root_; node != nullptr;) {
    path_[depth_++] = node;
    const bool before = node->key() < key;
    found = before ? found : depth_;
    node = (before ? node->right : node->left).get();
  }
  depth_ = found;
}

void Tree::Walk::ToLastBefore(std::string_view key) {
  depth_ = 0;
  size_t found = 0;
  for (Node* node = root_; node != nullptr;) {
    path_[depth_++] = node;
    const bool before = node->key() < key;
    found = before ? depth_ : found;
    node = (before ? node->right : node->left).get();
  }
  depth_ = found;
}

void Tree::Walk::ToLastUpTo(std::string_view key) {
  ToFirstFrom(key);
  if (depth_ == 0 || path_[depth_ - 1]->key() != key) {
    ToLastBefore(key);
  }
}

void Tree::Walk::Next() {
  Node* right = path_[depth_ - 1]->right.get();
  right != nullptr ? Descend(right, true) : AscendFrom(true);
}

void Tree::Walk::Previous() {
  Node* left = path_[depth_ - 1]->left.get();
  left != nullptr ? Descend(left, false) : AscendFrom(false);
}

}  // namespace quire::kv
