// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <set>
#include <utility>

#include "base/try.h"
#include "patterns/categories/tree.h"
#include "patterns/categories/work.h"
#include "patterns/doc.h"
#include "patterns/keyset.h"
#include "patterns/walk.h"
#include "quire/patterns/lease.h"

namespace quire::patterns {

namespace {

using bson::Document;

constexpr char kLock[] = "tree_lock";
constexpr int kAttempts = 10;

Document LockFilter() { return Doc("_id", kCategories, "op", bson::Value::Null()); }

bson::Value ValueOf(const ParentId& parent) {
  return parent ? bson::Value(*parent) : bson::Value::Null();
}

CategoryRef RefOf(bson::View node) {
  return {node["_id"].AsObjectId(), std::string(TextAt(node, "slug")),
          std::string(TextAt(node, "name"))};
}

Category CategoryOf(const Document& node) {
  Category category{node["_id"].AsObjectId(),
                    std::string(TextAt(node, "slug")),
                    std::string(TextAt(node, "name")),
                    {},
                    {},
                    IntegerAt(node, "rev")};
  if (node["parent"].type() == bson::Type::kObjectId) {
    category.parent = node["parent"].AsObjectId();
  }
  for (const bson::Element& ancestor : node["ancestors"].AsArray()) {
    category.ancestors.push_back(RefOf(ancestor.value().AsDocument()));
  }
  return category;
}

Status CheckSlug(std::string_view slug) {
  return slug.empty() || slug.front() == '~' ? MakeError(Error::kInvalidName, slug) : Status::Ok();
}

}  // namespace

std::vector<CategoryRef> Category::Breadcrumb() const {
  std::vector<CategoryRef> crumbs(ancestors.rbegin(), ancestors.rend());
  crumbs.push_back({id, slug, name});
  return crumbs;
}

Categories::Work::Work(const Client& client, std::string_view database, CategoriesOptions options)
    : options_(std::move(options)),
      store_(client, database, options_.seams, options_.concerns),
      calls_(store_, "categories") {}

const std::vector<IndexSpec>& Categories::Work::Indexes() {
  static const std::vector<IndexSpec> kIndexes = {
      {kCategories, R"({"slug": 1})", true},
      {kCategories, R"({"parent": 1, "_id": 1})"},
      {kCategories, R"({"ancestors._id": 1, "_id": 1})"},
      {.collection = kCategories,
       .keys = R"({"gone": 1, "at": 1})",
       .options = R"({"sparse": true})"},
      Idempotency::Index(),
  };
  return kIndexes;
}

const std::vector<ShardKeySpec>& Categories::Work::ShardKeys() {
  static const std::vector<ShardKeySpec> kKeys = {Idempotency::ShardKey()};
  return kKeys;
}

Result<CategoryId> Categories::Work::Add(std::string_view name, std::string_view slug,
                                         const ParentId& parent, const CallKey& key) const {
  RETURN_IF_ERROR(CheckSlug(slug));
  if (name.empty()) {
    return MakeError(Error::kInvalidName, "a category has a name");
  }
  const Document fields = Doc("slug", slug, "name", name);
  auto add = [&](const Claim& claim) -> Result<Document> {
    if (options_.backend == Backend::kTransactional) {
      RETURN_IF_ERROR(AddTransacted(fields, parent, claim));
      return Doc("_id", claim.id);
    }
    std::optional<Document> above;
    if (parent) {
      ASSIGN_OR_RETURN(above, ReadParent(store_, *parent));
    }
    RETURN_IF_ERROR(Insert(store_, fields, above, claim));
    RETURN_IF_ERROR(store_.seams().After("categories.add.c1"));
    if (above) {
      RETURN_IF_ERROR(Follow(claim.id, *above));
    }
    return Doc("_id", claim.id);
  };
  ASSIGN_OR_RETURN(
      Document added,
      calls_.Once("categories.add", key, Doc("fields", fields, "parent", ValueOf(parent)), add));
  return added["_id"].AsObjectId();
}

// Errors: UnknownParent, TreeBusy.
Result<Document> Categories::Work::ReadParent(const Store& store, const CategoryId& parent) const {
  ASSIGN_OR_RETURN(auto found, store.FindOne(kCategories, Doc("_id", parent)));
  if (!found || found->view().Has("gone")) {
    return MakeError(Error::kUnknownParent, parent.ToHex());
  }
  if (found->view().Has("closing")) {
    return MakeError(Error::kTreeBusy, "the parent is being removed");
  }
  return *std::move(found);
}

Status Categories::Work::Insert(const Store& store, const Document& fields,
                                const std::optional<Document>& parent, const Claim& claim) const {
  const Document place = PlaceBelow(parent);
  if (IntegerAt(place, "depth") > options_.max_depth) {
    return MakeError(Error::kTooDeep, TextAt(fields, "slug"));
  }
  bson::Builder node;
  node.Append("_id", claim.id).AppendFields(fields).AppendFields(place);
  node.Append("rev", int64_t{1});
  node.Append("fence", parent ? IntegerAt(*parent, "fence") : int64_t{0});
  Status inserted = store.Insert(kCategories, node.Finish());
  if (!IsDuplicateKey(inserted)) {
    return inserted;
  }
  ASSIGN_OR_RETURN(auto mine, store_.FindOne(kCategories, Doc("_id", claim.id)));
  return mine ? Status::Ok() : MakeError(Error::kDuplicateSlug, TextAt(fields, "slug"));
}

// The parent may have been moved, renamed or removed since it was read: its revision tells. The
// fence keeps this from overwriting what a change has written to the new category meanwhile.
Status Categories::Work::Follow(const CategoryId& id, const Document& parent) const {
  const CategoryId above = parent["_id"].AsObjectId();
  int64_t seen = IntegerAt(parent, "rev");
  for (int i = 0; i < kAttempts; ++i) {
    Result<Document> now = ReadParent(store_, above);
    if (Is(now.status(), Error::kUnknownParent) || Is(now.status(), Error::kTreeBusy)) {
      RETURN_IF_ERROR(store_.DeleteOne(kCategories, Doc("_id", id, "parent", above)).status());
      RETURN_IF_ERROR(store_.seams().After("categories.add.c3"));
    }
    RETURN_IF_ERROR(now.status());
    if (IntegerAt(*now, "rev") == seen) {
      return Status::Ok();
    }
    seen = IntegerAt(*now, "rev");
    const int64_t fence = IntegerAt(*now, "fence");
    const Document place = PlaceBelow(*now);
    bson::Builder set;
    set.AppendFields(place).Append("fence", fence);
    RETURN_IF_ERROR(store_
                        .UpdateOne(kCategories,
                                   Doc("_id", id, "parent", above, "fence", Doc("$lte", fence)),
                                   Doc("$set", set.Finish(), "$inc", Doc("rev", int64_t{1})))
                        .status());
    RETURN_IF_ERROR(store_.seams().After("categories.add.c2"));
  }
  return MakeError(Error::kContention, "the parent keeps changing");
}

// Writing to the parent makes a conflict with whoever moves, renames or removes it.
Status Categories::Work::AddTransacted(const Document& fields, const ParentId& parent,
                                       const Claim& claim) const {
  if (claim.repeated) {
    ASSIGN_OR_RETURN(auto mine, store_.FindOne(kCategories, Doc("_id", claim.id)));
    if (mine) {
      return Status::Ok();
    }
  }
  Status status = store_.Transact([&](const Store& inside) -> Status {
    std::optional<Document> above;
    if (parent) {
      ASSIGN_OR_RETURN(above, ReadParent(inside, *parent));
      RETURN_IF_ERROR(
          inside.UpdateOne(kCategories, Doc("_id", *parent), Doc("$inc", Doc("added", int64_t{1})))
              .status());
      RETURN_IF_ERROR(inside.seams().After("categories.add_transact.c1"));
    }
    RETURN_IF_ERROR(Insert(inside, fields, above, claim));
    return inside.seams().After("categories.add_transact.c2");
  });
  RETURN_IF_ERROR(status);
  return store_.seams().After("categories.add_transact.c3");
}

Status Categories::Work::Move(const CategoryId& id, const ParentId& parent,
                              const CallKey& key) const {
  return Change("categories.move", Doc("kind", "move", "id", id, "parent", ValueOf(parent)), key);
}

Status Categories::Work::Rename(const CategoryId& id, const std::optional<std::string>& name,
                                const std::optional<std::string>& slug, const CallKey& key) const {
  if (slug) {
    RETURN_IF_ERROR(CheckSlug(*slug));
  }
  if (name && name->empty()) {
    return MakeError(Error::kInvalidName, "a category has a name");
  }
  auto given = [](const std::optional<std::string>& text) {
    return text ? bson::Value(std::string_view(*text)) : bson::Value();
  };
  return Change("categories.rename",
                Doc("kind", "rename", "id", id, "name", given(name), "slug", given(slug)), key);
}

Status Categories::Work::Remove(const CategoryId& id, const CategoryRemoveOptions& options,
                                const CallKey& key) const {
  return Change("categories.remove",
                Doc("kind", "remove", "id", id, "keep_children", options.keep_children), key);
}

Status Categories::Work::Change(std::string_view operation, const Document& change,
                                const CallKey& key) const {
  return calls_.DoOnce(operation, key, change, [&](const Claim& claim) -> Status {
    if (claim.repeated) {
      ASSIGN_OR_RETURN(bool done, Done(change, claim));
      if (done) {
        return Status::Ok();
      }
    }
    return options_.backend == Backend::kTransactional ? ChangeTransacted(change, claim)
                                                       : ChangeLocked(change, claim).status();
  });
}

// Whether an earlier attempt was carried out to its end.
Result<bool> Categories::Work::Done(const Document& change, const Claim& claim) const {
  ASSIGN_OR_RETURN(auto node, store_.FindOne(kCategories, Doc("_id", change["id"])));
  ASSIGN_OR_RETURN(auto open, store_.FindOne(kLock, Doc("_id", kCategories, "op.call", claim.id)));
  return !open && node && Marked(*node, claim);
}

Result<JobReport> Categories::Work::ChangeLocked(const Document& change, const Claim& claim) const {
  bson::Builder op;
  op.AppendFields(change).Append("call", claim.id).Append("keyed", claim.keyed);
  op.Append("at", store_.Now());
  auto taken = store_.FindAndUpdate(
      kLock, LockFilter(), Doc("$set", Doc("op", op.Finish()), "$inc", Doc("rev", int64_t{1})),
      true);
  if (IsDuplicateKey(taken.status())) {
    ASSIGN_OR_RETURN(auto mine,
                     store_.FindOne(kLock, Doc("_id", kCategories, "op.call", claim.id)));
    return mine ? CarryOut(*mine) : MakeError(Error::kTreeBusy, "another change is on its way");
  }
  RETURN_IF_ERROR(taken.status());
  RETURN_IF_ERROR(store_.seams().After("categories." + std::string(TextAt(change, "kind")), 1));
  return CarryOut(**taken);
}

// From the check on. An answer (done, or refused) frees the tree; anything else leaves the change
// to Recover.
Result<JobReport> Categories::Work::CarryOut(const Document& lock) const {
  const Document op(lock["op"].AsDocument());
  const Claim claim{op["call"].AsObjectId(), op["keyed"].AsBool()};
  CategoryTree tree(store_, options_.max_depth, IntegerAt(lock, "rev"), claim);
  Status status = tree.Apply(op);
  if (!status.ok() && !IsFinal(status) && !Is(status, Error::kContention)) {
    return status;
  }
  RETURN_IF_ERROR(store_
                      .UpdateOne(kLock,
                                 Doc("_id", kCategories, "rev", lock["rev"], "op.call", op["call"]),
                                 Doc("$set", Doc("op", bson::Value::Null())))
                      .status());
  RETURN_IF_ERROR(store_.seams().After("categories." + std::string(TextAt(op, "kind")), 5));
  RETURN_IF_ERROR(status);
  return tree.report();
}

// The revision of the lock counts here too: two moves that read what the other writes would not
// conflict otherwise, and could close a ring.
Status Categories::Work::ChangeTransacted(const Document& change, const Claim& claim) const {
  Status status = store_.Transact([&](const Store& inside) -> Status {
    auto lock =
        inside.FindAndUpdate(kLock, LockFilter(), Doc("$inc", Doc("rev", int64_t{1})), true);
    if (IsDuplicateKey(lock.status())) {
      return MakeError(Error::kTreeBusy, "another change is on its way");
    }
    RETURN_IF_ERROR(lock.status());
    RETURN_IF_ERROR(inside.seams().After("categories.transact.c1"));
    return CategoryTree(inside, options_.max_depth, IntegerAt(**lock, "rev"), claim).Apply(change);
  });
  RETURN_IF_ERROR(status);
  return store_.seams().After("categories.transact.c2");
}

Result<Category> Categories::Work::Get(std::string_view slug) const {
  ASSIGN_OR_RETURN(auto node, store_.FindOne(kCategories, Doc("slug", slug)));
  return node && slug.front() != '~' ? Result<Category>(CategoryOf(*node))
                                     : MakeError(Error::kNotFound, slug);
}

Result<Category> Categories::Work::GetById(const CategoryId& id) const {
  ASSIGN_OR_RETURN(auto node, store_.FindOne(kCategories, Doc("_id", id)));
  return node && !node->view().Has("gone") ? Result<Category>(CategoryOf(*node))
                                           : MakeError(Error::kNotFound, id.ToHex());
}

Result<CategoryPage> Categories::Work::List(const Document& filter, const PageRequest& page) const {
  ASSIGN_OR_RETURN(Page found, FindPage(store_, kCategories, filter, Doc("_id", 1), page));
  CategoryPage result;
  for (const Document& node : found.documents) {
    result.categories.push_back(CategoryOf(node));
  }
  result.next = found.next;
  return result;
}

Result<CategoryPage> Categories::Work::Children(const ParentId& id, const PageRequest& page) const {
  return List(Doc("parent", ValueOf(id)), page);
}

Result<CategoryPage> Categories::Work::Descendants(const CategoryId& id,
                                                   const PageRequest& page) const {
  return List(Doc("ancestors._id", id), page);
}

Result<bool> Categories::Work::IsAncestor(const CategoryId& ancestor, const CategoryId& of) const {
  ASSIGN_OR_RETURN(auto found,
                   store_.FindOne(kCategories, Doc("_id", of, "ancestors._id", ancestor)));
  return found.has_value();
}

Result<std::vector<CategoryRef>> Categories::Work::BreadcrumbByParents(const CategoryId& id) const {
  std::vector<CategoryRef> crumbs;
  ParentId at = id;
  while (at && static_cast<int32_t>(crumbs.size()) <= options_.max_depth) {
    ASSIGN_OR_RETURN(Category category, GetById(*at));
    crumbs.insert(crumbs.begin(), {category.id, category.slug, category.name});
    at = category.parent;
  }
  return crumbs;
}

// ';' is the character after ':'.
Result<Page> Categories::Work::DescendantsByPath(std::string_view collection, std::string_view path,
                                                 const PageRequest& page) const {
  const std::string below(path);
  return FindPage(store_, collection, Doc("_id", Doc("$gt", below + ":", "$lt", below + ";")),
                  Doc("_id", 1), page);
}

Result<JobReport> Categories::Work::Recover() const {
  const Document old = Doc("_id", kCategories, "op.at", Doc("$lt", store_.Ago(options_.max_time)));
  auto carry_out = [&]() -> Result<JobReport> {
    JobReport report;
    ASSIGN_OR_RETURN(auto lock, store_.FindOne(kLock, old));
    if (lock) {
      const Status status = CarryOut(*lock).status();
      const bool answered = status.ok() || IsFinal(status);
      RETURN_IF_ERROR(report.Count(answered ? Result<int64_t>(1) : status));
    }
    return report;
  };
  return RunLeased(Lease(store_, "categories.recover", options_.worker, options_.lease), carry_out);
}

Result<JobReport> Categories::Work::RebuildAll() const {
  return ChangeLocked(Doc("kind", "rebuild_all"), {store_.seams().ids->Next()});
}

Result<JobReport> Categories::Work::Purge() const {
  const Document old =
      Doc("gone", true, "at", Doc("$lt", store_.Ago(options_.tombstone_retention)));
  auto forget = [&]() -> Result<JobReport> {
    ASSIGN_OR_RETURN(int64_t gone, store_.DeleteMany(kCategories, old));
    RETURN_IF_ERROR(store_.seams().After("categories.purge.c1"));
    return JobReport{.examined = gone, .changed = gone};
  };
  ASSIGN_OR_RETURN(
      JobReport report,
      RunLeased(Lease(store_, "categories.purge", options_.worker, options_.lease), forget));
  ASSIGN_OR_RETURN(JobReport keys,
                   calls_.Purge({options_.tombstone_retention, options_.worker, options_.lease}));
  return report += keys;
}

Result<std::vector<std::string>> Categories::Work::CheckInvariants() const {
  std::map<std::string, Category> tree;  // by id
  std::map<std::string, int32_t> depths;
  std::set<std::string> slugs;
  std::vector<std::string> wrong;
  RETURN_IF_ERROR(Walk(store_, kCategories, [&](const Document& node) {
    if (!node.view().Has("gone")) {
      Category category = CategoryOf(node);
      if (!slugs.insert(category.slug).second) {
        wrong.push_back("a slug twice: " + category.slug);
      }
      if (node.view().Has("closing")) {
        wrong.push_back("not removed to the end: " + category.slug);
      }
      depths[category.id.ToHex()] = static_cast<int32_t>(IntegerAt(node, "depth"));
      tree.emplace(category.id.ToHex(), std::move(category));
    }
    return Status::Ok();
  }));
  for (const auto& [id, category] : tree) {
    size_t above = 0;
    bool same = true;
    for (ParentId parent = category.parent; parent && same; ++above) {
      const auto found = tree.find(parent->ToHex());
      same = found != tree.end() && above < category.ancestors.size() &&
             category.ancestors[above].id.ToHex() == parent->ToHex() &&
             category.ancestors[above].slug == found->second.slug &&
             category.ancestors[above].name == found->second.name;
      parent = same ? found->second.parent : std::nullopt;
    }
    if (!same || above != category.ancestors.size() || depths[id] != static_cast<int32_t>(above)) {
      wrong.push_back("not below what its parents say: " + category.slug);
    }
  }
  ASSIGN_OR_RETURN(auto lock, store_.FindOne(kLock, Doc("_id", kCategories)));
  if (lock && !(*lock)["op"].nullish()) {
    wrong.push_back("a change of the tree has not ended");
  }
  return wrong;
}

}  // namespace quire::patterns
