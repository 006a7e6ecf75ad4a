// SPDX-License-Identifier: Apache-2.0
//
// One application of a tree of changes to a document: the new bytes are written in one walk over
// the old ones, untouched ranges copied as they are.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/arena.h"
#include "expr/update/array_filter_internal.h"
#include "expr/update/path_tree_internal.h"
#include "quire/bson.h"
#include "quire/status.h"

namespace quire::expr::update {

struct Rename {
  std::string from;
  std::string to;
};

// What an operator-style update does.
struct Changes {
  Node root;
  std::vector<Rename> renames;
  ArrayFilters filters;
};

class Applier {
 public:
  // Everything given outlives the applier.
  Applier(const Changes& changes, const Context* context, bson::View document,
          std::string_view array_index, bool inserting)
      : changes_(changes),
        context_(context),
        document_(document),
        array_index_(array_index),
        inserting_(inserting) {}

  // Appends the new document to *out; true when it differs from the old one.
  Result<bool> Run(std::string* out);
  // Paths that were set or removed; the topmost one where a path was created.
  std::set<std::string>& touched() { return touched_; }

 private:
  // A child of a node while its document is walked.
  struct Pending {
    std::string_view name;
    const Node* node;
    bool done = false;
  };
  class PathScope;
  class PendingIndex;

  Status ResolveRenames();
  Result<bson::Value> RenamedValue(const Rename& rename) const;
  Status CheckRenameTarget(const Rename& rename) const;

  Result<std::vector<Pending>> ChildrenOf(const Node& node);
  Status WriteObject(const Node& node, bson::View object, std::string* out);
  Status WriteArrayFields(const Node& node, bson::View array, std::string* out);
  Status WriteArrayElements(const Node& node, bson::View array, std::string* out);
  // The node for one array element, null when no identifier matches it.
  Result<const Node*> NodeForElement(const Node& node, const bson::Element& element);
  Status ApplyChild(const Node& node, const bson::Element& element, bool in_array,
                    std::string* out);
  Status NotStorable(std::string_view name) const;
  Status ApplyLeaf(const Node& leaf, const bson::Element& element, bool in_array, std::string* out);
  Status WriteMissing(std::vector<Pending>& pending, std::string* out);
  Status WriteMissingElements(std::vector<Pending>& pending, uint32_t size, std::string* out);
  Status Create(const Node& node, std::string_view name, std::string* out);

  Result<Effect> RunLeaf(const Node& leaf, const bson::Value& old, bson::Value* result);
  // Whether the leaf has anything to do in this application.
  bool Active(const Node& leaf) const;
  // Whether `node` makes something where nothing is; an error when it needs an existing array.
  Result<bool> Creates(const Node& node, std::string_view name);
  // Error when a leaf below `node` cannot be applied because `parent` has no fields.
  Status CheckNotViable(const Node& node, std::string_view name, const bson::Value& parent,
                        std::string_view parent_path);
  Status CheckId(bson::View result) const;
  // Ok while what is written is no larger than a document may be and the operation is not to end:
  // a short update may write the same again and again.
  Status CheckProgress(const std::string& out) const;
  void Touch();

  const Changes& changes_;
  const Context* context_;
  bson::View document_;
  std::string_view array_index_;
  bool inserting_;

  Arena arena_;
  size_t start_ = 0;  // of what is written
  std::string path_;
  bool modified_ = false;
  std::set<std::string> touched_;
  std::vector<bson::Value> renamed_;  // by rename; missing: nothing to move
  std::map<std::vector<const Node*>, NodePtr> merged_;
  std::deque<Children> positional_;  // children with `$` resolved
};

}  // namespace quire::expr::update
