// SPDX-License-Identifier: Apache-2.0
#include "patterns/categories/tree.h"

#include <deque>
#include <map>
#include <set>
#include <utility>

#include "base/try.h"
#include "patterns/doc.h"

namespace quire::patterns {

namespace {

using bson::Document;

bool IsGone(const Document& node) { return node.view().Has("gone"); }

Document SummaryOf(const Document& node) {
  return Doc("_id", node["_id"], "slug", node["slug"], "name", node["name"]);
}

Status LaterChange() {
  return MakeError(Error::kContention, "a later change has written the category");
}
Status NotFound(const bson::Value& id) { return MakeError(Error::kNotFound, bson::ToJson(id)); }

}  // namespace

Document PlaceBelow(const std::optional<Document>& parent) {
  bson::Builder place;
  place.Append("parent", parent ? (*parent)["_id"] : bson::Value::Null());
  place.BeginArray("ancestors");
  int32_t depth = 0;
  if (parent) {
    depth = static_cast<int32_t>(IntegerAt(*parent, "depth")) + 1;
    place.Push(SummaryOf(*parent));
    for (const bson::Element& ancestor : (*parent)["ancestors"].AsArray()) {
      place.Push(ancestor.value());
    }
  }
  place.End().Append("depth", depth);
  return place.Finish();
}

Status CategoryTree::Apply(const Document& change) {
  const std::string_view kind = TextAt(change, "kind");
  if (kind == "move") {
    return Move(change);
  }
  if (kind == "rename") {
    return Rename(change);
  }
  return kind == "remove" ? Remove(change) : RebuildAll();
}

Document CategoryTree::Mine(const bson::Value& id, const Document& also) const {
  bson::Builder filter;
  filter.Append("_id", id).Append("fence", Doc("$lte", token_)).AppendFields(also);
  return filter.Finish();
}

Result<Document> CategoryTree::Existing(const bson::Value& id) {
  ASSIGN_OR_RETURN(auto node, store_.FindOne(kCategories, Doc("_id", id)));
  return node && !IsGone(*node) ? Result<Document>(*std::move(node)) : NotFound(id);
}

// None for a root. Error: UnknownParent.
Result<std::optional<Document>> CategoryTree::Parent(const bson::Value& parent) {
  if (parent.nullish()) {
    return std::optional<Document>();
  }
  ASSIGN_OR_RETURN(auto node, store_.FindOne(kCategories, Doc("_id", parent)));
  if (!node || IsGone(*node)) {
    return MakeError(Error::kUnknownParent, bson::ToJson(parent));
  }
  return node;
}

// Levels below a category, by the parent links.
Result<int32_t> CategoryTree::HeightOf(const bson::Value& id) {
  std::vector<bson::OwnedValue> level = {bson::OwnedValue(id)};
  for (int32_t height = 0;; ++height) {
    ASSIGN_OR_RETURN(auto below, store_.Find(kCategories, Doc("parent", Doc("$in", ListOf(level))),
                                             {.projection = Doc("_id", 1)}));
    if (below.empty() || height > max_depth_) {
      return height;
    }
    level.clear();
    for (const Document& node : below) {
      level.emplace_back(node["_id"]);
    }
  }
}

Status CategoryTree::CheckMove(const bson::Value& id, const bson::Value& parent) {
  RETURN_IF_ERROR(Existing(id).status());
  bson::OwnedValue up(parent);
  int32_t depth = 0;
  while (!up.value().nullish()) {
    if (up.value().BinaryEquals(id)) {
      return MakeError(Error::kCycle, bson::ToJson(id));
    }
    ASSIGN_OR_RETURN(auto node, Parent(up.value()));
    if (++depth > max_depth_) {
      return MakeError(Error::kTooDeep, bson::ToJson(id));
    }
    up = bson::OwnedValue((*node)["parent"]);
  }
  ASSIGN_OR_RETURN(int32_t height, HeightOf(id));
  return depth + height > max_depth_ ? MakeError(Error::kTooDeep, bson::ToJson(id)) : Status::Ok();
}

Status CategoryTree::Move(const Document& change) {
  const bson::Value id = change["id"];
  RETURN_IF_ERROR(CheckMove(id, change["parent"]));
  RETURN_IF_ERROR(After("categories.move", 2));
  ASSIGN_OR_RETURN(
      auto moved,
      store_.FindAndUpdate(kCategories, Mine(id),
                           Marking(Doc("$set", Doc("parent", change["parent"], "fence", token_),
                                       "$inc", Doc("rev", int64_t{1})),
                                   claim_)));
  if (!moved) {
    return LaterChange();
  }
  RETURN_IF_ERROR(After("categories.move", 3));
  RETURN_IF_ERROR(Rebuild(*moved));
  return After("categories.move", 4);
}

// Breadth first along the parent links, each from its parent as it was just written.
Status CategoryTree::Rebuild(const Document& top) {
  ASSIGN_OR_RETURN(auto above, Parent(top["parent"]));
  std::deque<std::pair<bson::OwnedValue, std::optional<Document>>> queue;
  queue.emplace_back(bson::OwnedValue(top["_id"]), std::move(above));
  int step = 0;
  while (!queue.empty()) {
    auto [id, parent] = std::move(queue.front());
    queue.pop_front();
    const Document place = PlaceBelow(parent);
    bson::Builder fields;
    fields.AppendFields(place).Append("fence", token_);
    ASSIGN_OR_RETURN(
        auto written,
        store_.FindAndUpdate(kCategories, Mine(id.value(), Doc("parent", place["parent"])),
                             Doc("$set", fields.Finish(), "$inc", Doc("rev", int64_t{1}))));
    if (!written) {
      continue;  // a later change has it, with all below
    }
    report_.changed += 1;
    RETURN_IF_ERROR(After("categories.rebuild", ++step));
    ASSIGN_OR_RETURN(auto children,
                     store_.Find(kCategories, Doc("parent", id), {.projection = Doc("_id", 1)}));
    for (const Document& child : children) {
      queue.emplace_back(bson::OwnedValue(child["_id"]), written);
    }
  }
  return Status::Ok();
}

Status CategoryTree::Rename(const Document& change) {
  const bson::Value id = change["id"];
  RETURN_IF_ERROR(Existing(id).status());
  const Document own = Doc("name", change["name"], "slug", change["slug"], "fence", token_);
  auto renamed = store_.UpdateOne(
      kCategories, Mine(id), Marking(Doc("$set", own, "$inc", Doc("rev", int64_t{1})), claim_));
  if (IsDuplicateKey(renamed.status())) {
    return MakeError(Error::kDuplicateSlug, TextAt(change, "slug"));
  }
  RETURN_IF_ERROR(renamed.status());
  if (*renamed == 0) {
    return LaterChange();
  }
  RETURN_IF_ERROR(After("categories.rename", 2));
  const Document copies =
      Doc("ancestors.$.name", change["name"], "ancestors.$.slug", change["slug"], "fence", token_);
  RETURN_IF_ERROR(store_
                      .UpdateMany(kCategories,
                                  Doc("ancestors._id", id, "fence", Doc("$lte", token_)),
                                  Doc("$set", copies, "$inc", Doc("rev", int64_t{1})))
                      .status());
  return After("categories.rename", 3);
}

// While it is closing nobody adds to it; then it is a tombstone for those that were adding.
Status CategoryTree::Remove(const Document& change) {
  const bson::Value id = change["id"];
  RETURN_IF_ERROR(Existing(id).status());
  ASSIGN_OR_RETURN(auto closing,
                   store_.FindAndUpdate(kCategories, Mine(id),
                                        Doc("$set", Doc("closing", true, "fence", token_))));
  if (!closing) {
    return LaterChange();
  }
  RETURN_IF_ERROR(After("categories.remove", 2));
  const bson::Value keep = change["keep_children"];
  if (!keep.missing() && keep.AsBool()) {
    RETURN_IF_ERROR(MoveChildrenUp(*closing));
  }
  RETURN_IF_ERROR(After("categories.remove", 3));
  ASSIGN_OR_RETURN(auto child, store_.FindOne(kCategories, Doc("parent", id)));
  if (child) {
    RETURN_IF_ERROR(
        store_.UpdateOne(kCategories, Mine(id), Doc("$unset", Doc("closing", true))).status());
    return MakeError(Error::kNotEmpty, bson::ToJson(id));
  }
  const Document tombstone =
      Doc("gone", true, "at", store_.Now(), "slug", "~" + id.AsObjectId().ToHex(), "parent", "gone",
          "ancestors", List(), "depth", 0, "fence", token_);
  ASSIGN_OR_RETURN(
      int64_t removed,
      store_.UpdateOne(kCategories, Mine(id),
                       Marking(Doc("$set", tombstone, "$unset", Doc("closing", true)), claim_)));
  if (removed == 0) {
    return LaterChange();
  }
  return After("categories.remove", 4);
}

Status CategoryTree::MoveChildrenUp(const Document& node) {
  ASSIGN_OR_RETURN(auto children, store_.Find(kCategories, Doc("parent", node["_id"])));
  for (const Document& child : children) {
    ASSIGN_OR_RETURN(auto moved, store_.FindAndUpdate(
                                     kCategories, Mine(child["_id"], Doc("parent", node["_id"])),
                                     Doc("$set", Doc("parent", node["parent"], "fence", token_),
                                         "$inc", Doc("rev", int64_t{1}))));
    if (moved) {
      RETURN_IF_ERROR(Rebuild(*moved));
    }
  }
  return Status::Ok();
}

// From the whole tree in memory: it is small. What hangs below nothing goes to the nearest of its
// old ancestors that exists; a ring is opened at its first. Nobody is removing anything: what says
// so was left behind.
Status CategoryTree::RebuildAll() {
  ASSIGN_OR_RETURN(auto nodes, store_.Find(kCategories, Doc("gone", Doc("$exists", false)),
                                           {.sort = Doc("_id", 1)}));
  std::map<std::string, const Document*> by_id;
  auto key = [](const bson::Value& id) { return bson::ToJson(id); };
  for (const Document& node : nodes) {
    by_id[key(node["_id"])] = &node;
  }
  std::map<std::string, std::string> parents;
  for (const Document& node : nodes) {
    std::string parent = node["parent"].nullish() ? "" : key(node["parent"]);
    if (!parent.empty() && !by_id.contains(parent)) {
      parent = "";
      for (const bson::Element& ancestor : node["ancestors"].AsArray()) {
        if (std::string old = key(ancestor.value().AsDocument()["_id"]); by_id.contains(old)) {
          parent = old;
          break;
        }
      }
    }
    parents[key(node["_id"])] = parent;
  }
  std::map<std::string, Document> placed;
  for (const auto& [first, node] : by_id) {
    std::vector<std::string> chain;
    std::set<std::string> seen;
    for (std::string at = first; !at.empty() && !placed.contains(at); at = parents[at]) {
      chain.push_back(at);
      if (seen.insert(at).second && seen.contains(parents[at])) {
        parents[at] = "";
      }
    }
    for (; !chain.empty(); chain.pop_back()) {
      const std::string& at = chain.back();
      const Document& old = *by_id[at];
      const std::string& parent = parents[at];
      const Document place =
          PlaceBelow(parent.empty() ? std::nullopt : std::optional<Document>(placed.at(parent)));
      bson::Builder node_now;
      node_now.Append("_id", old["_id"]).Append("slug", old["slug"]).Append("name", old["name"]);
      placed.emplace(at, node_now.AppendFields(place).Finish());
      report_.examined += 1;
      bool same = !old.view().Has("closing");
      for (const bson::Element& field : place.view()) {
        same = same && field.value().BinaryEquals(old[field.name()]);
      }
      if (same) {
        continue;
      }
      bson::Builder fields;
      fields.AppendFields(place).Append("fence", token_);
      ASSIGN_OR_RETURN(int64_t written,
                       store_.UpdateOne(kCategories, Mine(old["_id"], Doc("rev", old["rev"])),
                                        Doc("$set", fields.Finish(), "$inc", Doc("rev", int64_t{1}),
                                            "$unset", Doc("closing", true))));
      (written == 1 ? report_.changed : report_.skipped) += 1;
      RETURN_IF_ERROR(After("categories.rebuild_all", static_cast<int>(report_.changed)));
    }
  }
  return Status::Ok();
}

}  // namespace quire::patterns
