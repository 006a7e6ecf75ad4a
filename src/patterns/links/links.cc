// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <utility>

#include "base/try.h"
#include "patterns/doc.h"
#include "patterns/keyset.h"
#include "patterns/links/work.h"
#include "patterns/walk.h"
#include "quire/patterns/lease.h"

namespace quire::patterns {

namespace {

using bson::Document;

constexpr int kAttempts = 5;
constexpr int64_t kSweepBatch = 100;
constexpr char kRemovedKeys[] = R"({"removed": 1, "_id": 1})";
// Not those that are there: a compound sparse index would have all, by _id.
constexpr char kRemovedOnly[] = R"({"partialFilterExpression": {"removed": {"$exists": true}}})";

Document Alive(std::string_view id) { return Doc("_id", id, "removed", bson::Value::Null()); }

bool IsKept(std::string_view name, std::string_view links) {
  return name == links || name == "_id" || name == "call" || name == "marks" || name == "removed" ||
         name == "removed_by";
}

// Sorted, each once.
std::set<std::string> IdsIn(const bson::Value& links) {
  std::set<std::string> ids;
  for (const bson::Element& id : links.is_array() ? links.AsArray() : bson::View()) {
    ids.emplace(id.value().AsString());
  }
  return ids;
}

}  // namespace

Links::Work::Work(const Client& client, std::string_view database, LinksOptions options)
    : options_(std::move(options)),
      links_index_(R"({")" + options_.field + R"(": 1, "_id": 1})"),
      store_(client, database, options_.seams, options_.concerns),
      calls_(store_, "links." + options_.owners) {}

std::vector<IndexSpec> Links::Work::Indexes() const {
  return {{options_.owners, links_index_},
          {options_.owners, kRemovedKeys, false, -1, kRemovedOnly},
          {options_.targets, kRemovedKeys, false, -1, kRemovedOnly},
          Idempotency::Index()};
}

std::vector<ShardKeySpec> Links::Work::ShardKeys() const {
  return {{options_.owners, R"({"_id": "hashed"})"},
          {options_.targets, R"({"_id": "hashed"})"},
          Idempotency::ShardKey()};
}

Status Links::Work::AddOwner(std::string_view id, const Document& fields,
                             const CallKey& key) const {
  return Add("links.add_owner", options_.owners, id, fields, key);
}

Status Links::Work::AddTarget(std::string_view id, const Document& fields,
                              const CallKey& key) const {
  return Add("links.add_target", options_.targets, id, fields, key);
}

Status Links::Work::Add(std::string_view operation, const std::string& collection,
                        std::string_view id, const Document& fields, const CallKey& key) const {
  bson::Builder document;
  document.Append("_id", id);
  for (const bson::Element& field : fields.view()) {
    if (IsKept(field.name(), options_.field)) {
      return MakeError(Error::kInvalidName, field.name());
    }
    document.Append(field);
  }
  if (id.empty()) {
    return MakeError(Error::kInvalidName, "an id is not empty");
  }
  const Document stored = document.Finish();
  return calls_.DoOnce(operation, key, stored, [&](const Claim& claim) -> Status {
    RETURN_IF_ERROR(InsertOnce(store_, collection, stored, claim));
    return store_.seams().After(operation, 1);
  });
}

Result<Document> Links::Work::Find(const std::string& collection, std::string_view id) const {
  ASSIGN_OR_RETURN(auto found, store_.FindOne(collection, Alive(id)));
  return found ? Result<Document>(*std::move(found)) : MakeError(Error::kNotFound, id);
}

Document Links::Work::Shown(const Document& stored) const {
  bson::Builder shown;
  for (const bson::Element& field : stored.view()) {
    if (field.name() == "_id" || !IsKept(field.name(), options_.field)) {
      shown.Append(field);
    }
  }
  return shown.Finish();
}

Result<Document> Links::Work::Get(const std::string& collection, std::string_view id) const {
  ASSIGN_OR_RETURN(Document found, Find(collection, id));
  return Shown(found);
}

Result<Document> Links::Work::GetOwner(std::string_view id) const {
  return Get(options_.owners, id);
}

Result<Document> Links::Work::GetTarget(std::string_view id) const {
  return Get(options_.targets, id);
}

Status Links::Work::Link(std::string_view owner, std::string_view target,
                         const CallKey& key) const {
  return calls_.DoOnce("links.link", key, Doc("owner", owner, "target", target),
                       [&](const Claim& claim) { return LinkOnce(owner, target, claim); });
}

Status Links::Work::Refusal(std::string_view owner, const Claim& claim) const {
  ASSIGN_OR_RETURN(auto found, store_.FindOne(options_.owners, Doc("_id", owner)));
  if (found && Marked(*found, claim)) {
    return Status::Ok();
  }
  if (!found || found->view().Has("removed")) {
    return MakeError(Error::kNotFound, owner);
  }
  return IdsIn((*found)[options_.field]).size() >= options_.max_links
             ? MakeError(Error::kTooManyLinks, owner)
             : MakeError(Error::kContention, owner);
}

// A target deleted between the two steps leaves a link to nothing, which nobody sees and the
// sweeper takes.
Status Links::Work::LinkOnce(std::string_view owner, std::string_view target,
                             const Claim& claim) const {
  if (Status alive = Find(options_.targets, target).status(); !alive.ok()) {
    const bool made = Is(alive, Error::kNotFound) && Refusal(owner, claim).ok();
    return made ? Status::Ok() : alive;
  }
  const std::string last = options_.field + "." + std::to_string(options_.max_links - 1);
  const Document there = Doc(options_.field, target);
  const Document has_room = Unmarked(Doc("_id", owner, "removed", bson::Value::Null(), "$or",
                                         List(there, Doc(last, Doc("$exists", false)))),
                                     claim);
  const Document add = Marking(Doc("$addToSet", there), claim);
  Status refusal;
  for (int i = 0; i < kAttempts; ++i) {
    ASSIGN_OR_RETURN(int64_t matched, store_.UpdateOne(options_.owners, has_room, add));
    if (matched == 1) {
      return store_.seams().After("links.link.c1");
    }
    refusal = Refusal(owner, claim);
    if (!Is(refusal, Error::kContention)) {
      break;
    }
  }
  return refusal;
}

Status Links::Work::Unlink(std::string_view owner, std::string_view target,
                           const CallKey& key) const {
  return calls_.DoOnce("links.unlink", key, Doc("owner", owner, "target", target),
                       [&](const Claim& claim) { return UnlinkOnce(owner, target, claim); });
}

Status Links::Work::UnlinkOnce(std::string_view owner, std::string_view target,
                               const Claim& claim) const {
  const Document pull = Doc("$pull", Doc(options_.field, target));
  ASSIGN_OR_RETURN(int64_t matched, store_.UpdateOne(options_.owners, Unmarked(Alive(owner), claim),
                                                     Marking(pull, claim)));
  return matched == 1 ? store_.seams().After("links.unlink.c1") : Refusal(owner, claim);
}

Result<Page> Links::Work::TargetsOf(std::string_view owner, const PageRequest& page) const {
  std::string after;
  if (!page.after.empty()) {
    ASSIGN_OR_RETURN(Document end, DecodePageEnd(page.after, {"_id"}));
    if (!end["_id"].is_string()) {
      return MakeError(Error::kBadCursor, page.after);
    }
    after = end["_id"].AsString();
  }
  ASSIGN_OR_RETURN(Document found, Find(options_.owners, owner));
  const std::set<std::string> ids = IdsIn(found[options_.field]);
  Page result;
  auto next = ids.upper_bound(after);
  while (next != ids.end() && static_cast<int64_t>(result.documents.size()) < page.limit) {
    std::vector<std::string> asked;
    for (; next != ids.end() &&
           static_cast<int64_t>(result.documents.size() + asked.size()) < page.limit;
         ++next) {
      asked.push_back(*next);
    }
    const Document alive = Doc("_id", Doc("$in", ListOf(asked)), "removed", bson::Value::Null());
    ASSIGN_OR_RETURN(auto targets, store_.Find(options_.targets, alive, {.sort = Doc("_id", 1)}));
    for (const Document& target : targets) {
      result.documents.push_back(Shown(target));
    }
  }
  if (next != ids.end() && next != ids.begin()) {
    result.next = EncodePageEnd(Doc("_id", *std::prev(next)));
  }
  return result;
}

// Those that were deleted have no links.
Result<Page> Links::Work::OwnersOf(std::string_view target, const PageRequest& page) const {
  RETURN_IF_ERROR(Find(options_.targets, target).status());
  ASSIGN_OR_RETURN(Page result, FindPage(store_, options_.owners, Doc(options_.field, target),
                                         Doc("_id", 1), page));
  for (Document& owner : result.documents) {
    owner = Shown(owner);
  }
  return result;
}

Status Links::Work::Remove(const Store& store, const std::string& collection, std::string_view id,
                           const Claim& claim) const {
  ASSIGN_OR_RETURN(int64_t removed,
                   store.UpdateOne(collection, Alive(id),
                                   Doc("$set", Doc("removed", store.Now(), "removed_by", claim.id),
                                       "$unset", Doc(options_.field, 1))));
  if (removed == 1) {
    return Status::Ok();
  }
  ASSIGN_OR_RETURN(auto mine, store.FindOne(collection, Doc("_id", id, "removed_by", claim.id)));
  return mine ? Status::Ok() : MakeError(Error::kNotFound, id);
}

Status Links::Work::DeleteOwner(std::string_view id, const CallKey& key) const {
  return calls_.DoOnce("links.delete_owner", key, Doc("id", id), [&](const Claim& claim) -> Status {
    RETURN_IF_ERROR(Remove(store_, options_.owners, id, claim));
    return store_.seams().After("links.delete_owner.c1");
  });
}

Status Links::Work::DeleteTarget(std::string_view id, const CallKey& key) const {
  return calls_.DoOnce("links.delete_target", key, Doc("id", id), [&](const Claim& claim) {
    if (options_.backend == Backend::kTransactional) {
      return store_.Transact(
          [&](const Store& inside) { return DeleteTargetSteps(inside, id, claim); });
    }
    return DeleteTargetSteps(store_, id, claim);
  });
}

Status Links::Work::DeleteTargetSteps(const Store& store, std::string_view id,
                                      const Claim& claim) const {
  RETURN_IF_ERROR(Remove(store, options_.targets, id, claim));
  RETURN_IF_ERROR(store.seams().After("links.delete_target.c1"));
  const Document linked = Doc(options_.field, id);
  RETURN_IF_ERROR(store.UpdateMany(options_.owners, linked, Doc("$pull", linked)).status());
  return store.seams().After("links.delete_target.c2");
}

Result<JobReport> Links::Work::Sweep() const {
  PageRequest page{.limit = kSweepBatch};
  bool targets_left = true;
  auto sweep = [&](JobReport* report) -> Result<bool> {
    if (targets_left) {
      ASSIGN_OR_RETURN(targets_left, SweepTargets(&page, report));
      return true;
    }
    const Document old = Doc("removed", Doc("$lt", store_.Ago(options_.tombstone_retention)));
    ASSIGN_OR_RETURN(auto owners, store_.Find(options_.owners, old,
                                              {.projection = Doc("_id", 1), .limit = kSweepBatch}));
    for (const Document& owner : owners) {
      report->examined += 1;
      ASSIGN_OR_RETURN(int64_t forgotten, Forget(options_.owners, owner));
      report->changed += forgotten;
    }
    return static_cast<int64_t>(owners.size()) == kSweepBatch;
  };
  return RepeatLeased(
      Lease(store_, "links." + options_.owners + ".sweep", options_.worker, options_.lease), sweep);
}

// A link to a target may still come while the target is remembered, not later: the last look is
// when it is forgotten.
Result<bool> Links::Work::SweepTargets(PageRequest* page, JobReport* report) const {
  ASSIGN_OR_RETURN(Page removed,
                   FindPage(store_, options_.targets, Doc("removed", Doc("$exists", true)),
                            Doc("removed", 1, "_id", 1), *page));
  for (const Document& target : removed.documents) {
    report->examined += 1;
    const Document linked = Doc(options_.field, target["_id"]);
    ASSIGN_OR_RETURN(int64_t unlinked,
                     store_.UpdateMany(options_.owners, linked, Doc("$pull", linked)));
    RETURN_IF_ERROR(store_.seams().After("links.sweep.c1"));
    ASSIGN_OR_RETURN(int64_t forgotten, Forget(options_.targets, target));
    const int64_t changed = unlinked + forgotten;
    report->changed += changed;
    report->skipped += changed == 0 ? 1 : 0;
  }
  page->after = removed.next;
  return !removed.next.empty();
}

Result<int64_t> Links::Work::Forget(const std::string& collection, const Document& removed) const {
  const Document old = Doc("$lt", store_.Ago(options_.tombstone_retention));
  ASSIGN_OR_RETURN(int64_t deleted,
                   store_.DeleteOne(collection, Doc("_id", removed["_id"], "removed", old)));
  RETURN_IF_ERROR(store_.seams().After("links.sweep.c2"));
  return deleted;
}

Result<std::vector<std::string>> Links::Work::CheckInvariants() const {
  std::vector<std::string> wrong;
  auto check = [&](const Document& owner) -> Status {
    const std::string id(TextAt(owner, "_id"));
    const bson::Value links = owner[options_.field];
    const std::set<std::string> ids = IdsIn(links);
    const size_t count = links.is_array() ? links.AsArray().Count() : 0;
    if (count > ids.size()) {
      wrong.push_back("a link twice: " + id);
    }
    if (count > options_.max_links) {
      wrong.push_back("too many links: " + id);
    }
    if (count > 0 && owner.view().Has("removed")) {
      wrong.push_back("deleted, with links: " + id);
    }
    const std::vector<std::string> asked(ids.begin(), ids.end());
    ASSIGN_OR_RETURN(int64_t alive,
                     store_.Count(options_.targets, Doc("_id", Doc("$in", ListOf(asked)), "removed",
                                                        bson::Value::Null())));
    if (alive < static_cast<int64_t>(ids.size())) {
      wrong.push_back("a link to nothing: " + id);
    }
    return Status::Ok();
  };
  RETURN_IF_ERROR(Walk(store_, options_.owners, check));
  return wrong;
}

}  // namespace quire::patterns
