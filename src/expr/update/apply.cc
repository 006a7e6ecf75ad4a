// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <unordered_map>

#include "base/current_op.h"
#include "base/error_codes.h"
#include "base/keyed_hash.h"
#include "base/try.h"
#include "bson/compare.h"
#include "expr/update/apply_internal.h"
#include "expr/update/limits_internal.h"

namespace quire::expr::update {

namespace {

constexpr uint32_t kMaxPadding = 1500000;

size_t Open(std::string* out) {
  size_t start = out->size();
  out->append(4, '\0');
  return start;
}

void Close(std::string* out, size_t start) {
  out->push_back('\0');
  auto size = static_cast<uint32_t>(out->size() - start);
  memcpy(out->data() + start, &size, sizeof size);
}

void Header(bson::Type type, std::string_view name, std::string* out) {
  out->push_back(static_cast<char>(type));
  out->append(name);
  out->push_back('\0');
}

std::string IndexName(uint32_t index) { return std::to_string(index); }

}  // namespace

// Extends the applier's path for the time of its life.
class Applier::PathScope {
 public:
  PathScope(std::string* path, std::string_view component) : path_(path), size_(path->size()) {
    if (size_ > 0) {
      path->push_back('.');
    }
    path->append(component);
  }
  ~PathScope() { path_->resize(size_); }
  PathScope(const PathScope&) = delete;
  PathScope& operator=(const PathScope&) = delete;

 private:
  std::string* path_;
  size_t size_;
};

// Finds children by name: a scan while they are few, a hash table when they are many.
class Applier::PendingIndex {
 public:
  explicit PendingIndex(std::vector<Pending>* pending) : pending_(pending) {
    if (pending->size() > kScanned) {
      for (Pending& child : *pending) {
        by_name_.emplace(child.name, &child);
      }
    }
  }
  Pending* Find(std::string_view name) {
    if (!by_name_.empty()) {
      auto found = by_name_.find(name);
      return found == by_name_.end() ? nullptr : found->second;
    }
    for (Pending& child : *pending_) {
      if (child.name == name) {
        return &child;
      }
    }
    return nullptr;
  }

 private:
  static constexpr size_t kScanned = 8;
  std::vector<Pending>* pending_;
  std::unordered_map<std::string_view, Pending*, KeyedStringHash> by_name_;
};

Result<bool> Applier::Run(std::string* out) {
  RETURN_IF_ERROR(ResolveRenames());
  const size_t start = out->size();
  start_ = start;
  out->reserve(start + document_.size() + 64);
  RETURN_IF_ERROR(WriteObject(changes_.root, document_, out));
  if (modified_) {
    RETURN_IF_ERROR(CheckId(bson::View(out->data() + start)));
    RETURN_IF_ERROR(CheckSize(out->size() - start, inserting_));
  }
  return modified_;
}

Status Applier::CheckId(bson::View result) const {
  auto changed = changes_.root.children.find("_id");
  const bson::Element before = document_.Find("_id");
  if (changed == changes_.root.children.end() || !before.present()) {
    return Status::Ok();
  }
  const Node& node = *changed->second;
  bool renamed = node.rename_end == Node::RenameEnd::kTarget && Active(node);
  const bson::Element after = result.Find("_id");
  if (renamed || !after.present() || before.raw() != after.raw()) {
    return Status(kImmutableField,
                  "Performing an update on the path '_id' would modify the immutable field '_id'");
  }
  return Status::Ok();
}

Status Applier::CheckProgress(const std::string& out) const {
  RETURN_IF_ERROR(CheckSize(out.size() - start_, inserting_));
  return CheckCurrentOp();
}

void Applier::Touch() {
  modified_ = true;
  touched_.insert(path_);
}

bool Applier::Active(const Node& leaf) const {
  if (leaf.rename_end != Node::RenameEnd::kNone) {
    return !renamed_[leaf.rename].missing();
  }
  return inserting_ || !leaf.row->insert_only;
}

Result<std::vector<Applier::Pending>> Applier::ChildrenOf(const Node& node) {
  const Children* children = &node.children;
  if (node.positional) {
    if (array_index_.empty()) {
      return Status(kBadValue,
                    "The positional operator did not find the match needed from the query.");
    }
    Children resolved = node.children;
    NodePtr& slot = resolved[std::string(array_index_)];
    if (slot) {
      ASSIGN_OR_RETURN(slot,
                       MergeNodes(slot, node.positional, path_ + "." + std::string(array_index_)));
    } else {
      slot = node.positional;
    }
    children = &positional_.emplace_back(std::move(resolved));
  }
  std::vector<Pending> pending;
  pending.reserve(children->size());
  for (const auto& [name, child] : *children) {
    pending.push_back({name, child.get()});
  }
  return pending;
}

Status Applier::WriteObject(const Node& node, bson::View object, std::string* out) {
  ASSIGN_OR_RETURN(std::vector<Pending> pending, ChildrenOf(node));
  size_t start = Open(out);
  const char* copied = object.data() + 4;
  size_t left = pending.size();
  PendingIndex index(&pending);
  for (auto it = object.begin(); left > 0 && it != object.end(); ++it) {
    Pending* found = index.Find(it->name());
    if (!found || found->done) {
      continue;
    }
    found->done = true;
    --left;
    std::string_view raw = it->raw();
    out->append(copied, raw.data());
    copied = raw.data() + raw.size();
    RETURN_IF_ERROR(ApplyChild(*found->node, *it, false, out));
  }
  out->append(copied, object.data() + object.size() - 1);
  RETURN_IF_ERROR(WriteMissing(pending, out));
  Close(out, start);
  return Status::Ok();
}

Status Applier::WriteMissing(std::vector<Pending>& pending, std::string* out) {
  for (const Pending& child : pending) {
    if (child.done) {
      continue;
    }
    ASSIGN_OR_RETURN(bool creates, Creates(*child.node, child.name));
    if (creates) {
      PathScope scope(&path_, child.name);
      Touch();
      RETURN_IF_ERROR(Create(*child.node, child.name, out));
    }
  }
  return Status::Ok();
}

Status Applier::WriteArrayFields(const Node& node, bson::View array, std::string* out) {
  ASSIGN_OR_RETURN(std::vector<Pending> pending, ChildrenOf(node));
  std::vector<std::pair<uint32_t, Pending*>> by_index;
  for (Pending& child : pending) {
    uint32_t index;
    if (ParseIndex(child.name, &index)) {
      by_index.emplace_back(index, &child);
    } else {
      child.done = true;
      RETURN_IF_ERROR(CheckNotViable(*child.node, child.name, bson::Value::Array(array), path_));
    }
  }
  size_t start = Open(out);
  const char* copied = array.data() + 4;
  uint32_t size = 0;
  size_t next = 0;
  for (const bson::Element& element : array) {
    uint32_t at = size++;
    if (next == by_index.size() || by_index[next].first != at) {
      continue;
    }
    std::string_view raw = element.raw();
    out->append(copied, raw.data());
    copied = raw.data() + raw.size();
    by_index[next].second->done = true;
    RETURN_IF_ERROR(ApplyChild(*by_index[next].second->node, element, true, out));
    ++next;
  }
  out->append(copied, array.data() + array.size() - 1);
  RETURN_IF_ERROR(WriteMissingElements(pending, size, out));
  Close(out, start);
  return Status::Ok();
}

Status Applier::WriteMissingElements(std::vector<Pending>& pending, uint32_t size,
                                     std::string* out) {
  for (const Pending& child : pending) {
    if (child.done) {
      continue;
    }
    ASSIGN_OR_RETURN(bool creates, Creates(*child.node, child.name));
    if (!creates) {
      continue;
    }
    uint32_t index = 0;
    ParseIndex(child.name, &index);
    if (index < size) {
      return Status(kConflictingUpdateOperators, "Updating the path '" + path_ + "." +
                                                     std::string(child.name) +
                                                     "' would create a conflict at '" + path_ +
                                                     "." + std::string(child.name) + "'");
    }
    if (index - size > kMaxPadding) {
      return Status(kCannotBackfillArray, "can't backfill more than 1500000 elements");
    }
    for (; size < index; ++size) {
      Header(bson::Type::kNull, IndexName(size), out);
      RETURN_IF_ERROR(CheckProgress(*out));
    }
    PathScope scope(&path_, child.name);
    Touch();
    RETURN_IF_ERROR(Create(*child.node, IndexName(size++), out));
  }
  return Status::Ok();
}

Status Applier::WriteArrayElements(const Node& node, bson::View array, std::string* out) {
  size_t start = Open(out);
  for (const bson::Element& element : array) {
    ASSIGN_OR_RETURN(const Node* target, NodeForElement(node, element));
    if (target) {
      RETURN_IF_ERROR(ApplyChild(*target, element, true, out));
    } else {
      out->append(element.raw());
    }
    RETURN_IF_ERROR(CheckProgress(*out));
  }
  Close(out, start);
  return Status::Ok();
}

Result<const Node*> Applier::NodeForElement(const Node& node, const bson::Element& element) {
  std::vector<const Node*> matching;
  std::vector<NodePtr> nodes;
  for (const auto& [identifier, child] : node.children) {
    bool match = identifier.empty();
    if (!match) {
      RETURN_IF_ERROR(CheckCurrentOp());
      ASSIGN_OR_RETURN(match, changes_.filters.Find(identifier)->Matches(element.value()));
    }
    if (match) {
      matching.push_back(child.get());
      nodes.push_back(child);
    }
  }
  if (matching.size() < 2) {
    return matching.empty() ? nullptr : matching[0];
  }
  NodePtr& cached = merged_[matching];
  if (!cached) {
    std::string path = path_ + "." + std::string(element.name());
    NodePtr merged = nodes[0];
    for (size_t i = 1; i < nodes.size(); ++i) {
      ASSIGN_OR_RETURN(merged, MergeNodes(merged, nodes[i], path));
    }
    cached = std::move(merged);
  }
  return cached.get();
}

Status Applier::ApplyChild(const Node& node, const bson::Element& element, bool in_array,
                           std::string* out) {
  PathScope scope(&path_, element.name());
  if (node.kind == Node::Kind::kLeaf) {
    return ApplyLeaf(node, element, in_array, out);
  }
  bool is_array = element.type() == bson::Type::kArray;
  if (node.kind == Node::Kind::kArray) {
    if (!is_array) {
      return Status(kBadValue, "Cannot apply array updates to non-array element " +
                                   std::string(element.name()) + ": " +
                                   bson::ToJson(element.value()));
    }
    Header(element.type(), element.name(), out);
    return WriteArrayElements(node, element.value().AsArray(), out);
  }
  if (is_array || element.type() == bson::Type::kDocument) {
    Header(element.type(), element.name(), out);
    bson::View inside = element.value().AsDocument();
    return is_array ? WriteArrayFields(node, inside, out) : WriteObject(node, inside, out);
  }
  ASSIGN_OR_RETURN(std::vector<Pending> pending, ChildrenOf(node));
  for (const Pending& child : pending) {
    RETURN_IF_ERROR(CheckNotViable(*child.node, child.name, element.value(), path_));
  }
  out->append(element.raw());
  return Status::Ok();
}

Status Applier::NotStorable(std::string_view name) const {
  return {kDollarPrefixedFieldName, "The dollar ($) prefixed field '" + std::string(name) +
                                        "' in '" + path_ +
                                        "' is not allowed in the context of an update's "
                                        "replacement document. Consider using an aggregation "
                                        "pipeline with $replaceWith."};
}

Status Applier::ApplyLeaf(const Node& leaf, const bson::Element& element, bool in_array,
                          std::string* out) {
  bson::Value result;
  ASSIGN_OR_RETURN(Effect effect, RunLeaf(leaf, element.value(), &result));
  if (effect == Effect::kNone) {
    out->append(element.raw());
    return Status::Ok();
  }
  Touch();
  if (effect == Effect::kRemove) {
    if (in_array) {
      Header(bson::Type::kNull, element.name(), out);
    }
    return Status::Ok();
  }
  if (!inserting_ && path_.size() == element.name().size() && element.name().starts_with('$')) {
    return NotStorable(element.name());
  }
  Header(result.type(), element.name(), out);
  result.AppendTo(out);
  return CheckProgress(*out);
}

Result<Effect> Applier::RunLeaf(const Node& leaf, const bson::Value& old, bson::Value* result) {
  if (!Active(leaf)) {
    return Effect::kNone;
  }
  if (leaf.rename_end == Node::RenameEnd::kSource) {
    return Effect::kRemove;
  }
  Effect effect = Effect::kSet;
  if (leaf.rename_end == Node::RenameEnd::kTarget) {
    *result = renamed_[leaf.rename];
  } else {
    Site site{context_, document_, path_, old, &arena_};
    ASSIGN_OR_RETURN(effect, leaf.modifier->Apply(site, result));
  }
  if (effect == Effect::kSet) {
    RETURN_IF_ERROR(
        CheckDepth(*result, 1 + static_cast<int>(std::count(path_.begin(), path_.end(), '.'))));
  }
  return effect;
}

Result<bool> Applier::Creates(const Node& node, std::string_view name) {
  RETURN_IF_ERROR(CheckCurrentOp());
  if (node.kind == Node::Kind::kLeaf) {
    return node.creates() && Active(node);
  }
  PathScope scope(&path_, name);
  if (node.kind == Node::Kind::kArray) {
    return Status(kBadValue, "The path '" + path_ +
                                 "' must exist in the document in order to apply array updates.");
  }
  ASSIGN_OR_RETURN(std::vector<Pending> pending, ChildrenOf(node));
  bool creates = false;
  for (const Pending& child : pending) {
    ASSIGN_OR_RETURN(bool child_creates, Creates(*child.node, child.name));
    creates |= child_creates;
  }
  return creates;
}

Status Applier::Create(const Node& node, std::string_view name, std::string* out) {
  if (!inserting_ && path_.size() == name.size() && name[0] == '$') {
    return NotStorable(name);
  }
  if (node.kind == Node::Kind::kLeaf) {
    bson::Value result;
    ASSIGN_OR_RETURN(Effect effect, RunLeaf(node, bson::Value(), &result));
    if (effect == Effect::kSet) {
      Header(result.type(), name, out);
      result.AppendTo(out);
    }
    return CheckProgress(*out);
  }
  Header(bson::Type::kDocument, name, out);
  size_t start = Open(out);
  ASSIGN_OR_RETURN(std::vector<Pending> pending, ChildrenOf(node));
  for (const Pending& child : pending) {
    ASSIGN_OR_RETURN(bool creates, Creates(*child.node, child.name));
    if (creates) {
      PathScope scope(&path_, child.name);
      RETURN_IF_ERROR(Create(*child.node, child.name, out));
    }
  }
  Close(out, start);
  return Status::Ok();
}

Status Applier::CheckNotViable(const Node& node, std::string_view name, const bson::Value& parent,
                               std::string_view parent_path) {
  RETURN_IF_ERROR(CheckCurrentOp());
  std::string path = std::string(parent_path) + "." + std::string(name);
  if (node.kind == Node::Kind::kArray) {
    return Status(kBadValue, "The path '" + path +
                                 "' must exist in the document in order to apply array updates.");
  }
  if (node.kind == Node::Kind::kObject) {
    ASSIGN_OR_RETURN(std::vector<Pending> pending, ChildrenOf(node));
    for (const Pending& child : pending) {
      RETURN_IF_ERROR(CheckNotViable(*child.node, child.name, parent, path));
    }
    return Status::Ok();
  }
  if (!Active(node) || node.rename_end == Node::RenameEnd::kSource ||
      (node.row && node.row->lenient_path)) {
    return Status::Ok();
  }
  size_t at = path_.rfind('.');
  std::string element =
      "{" + path_.substr(at == std::string::npos ? 0 : at + 1) + ": " + bson::ToJson(parent) + "}";
  if (node.creates()) {
    return Status(kPathNotViable, "Cannot create field '" + path.substr(path_.size() + 1) +
                                      "' in element " + element);
  }
  return Status(kPathNotViable, "Cannot use the part (" + path.substr(path_.size() + 1) + ") of (" +
                                    path + ") to traverse the element (" + element + ")");
}

}  // namespace quire::expr::update
