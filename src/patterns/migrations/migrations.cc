// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/migrations.h"

#include <utility>

#include "base/try.h"
#include "patterns/doc.h"

namespace quire::patterns {

namespace {

using bson::Document;

constexpr char kMigrations[] = "migrations";

}  // namespace

Migrations::Migrations(const Client& client, std::string_view database, const Seams& seams)
    : store_(client, database, seams) {}

void Migrations::Define(std::string_view name, Migration migration) {
  defined_.insert_or_assign(std::string(name), std::move(migration));
}

Result<const Migration*> Migrations::Defined(std::string_view name) const {
  auto found = defined_.find(name);
  if (found == defined_.end()) {
    return MakeError(Error::kUnknownMigration, name);
  }
  return &found->second;
}

Result<std::vector<Document>> Migrations::NextIds(const Migration& migration,
                                                  const bson::Value& after) const {
  Document filter = after.missing()
                        ? migration.pending
                        : Doc("$and", List(Doc("_id", Doc("$gt", after)), migration.pending));
  return store_.Find(
      migration.collection, filter,
      {.projection = Doc("_id", 1), .sort = Doc("_id", 1), .limit = migration.batch});
}

Result<int64_t> Migrations::Step(std::string_view name) const {
  ASSIGN_OR_RETURN(const Migration* migration, Defined(name));
  const Document me = Doc("_id", name);
  auto started =
      store_.FindAndUpdate(kMigrations, me,
                           Doc("$setOnInsert", Doc("state", "running", "batch", migration->batch,
                                                   "done", int64_t{0}, "started", store_.Now())),
                           true);
  if (IsDuplicateKey(started.status())) {  // another worker made it first
    started = store_.FindOne(kMigrations, me);
  }
  RETURN_IF_ERROR(started.status());
  if (!*started || TextAt(**started, "state") == "complete") {
    return 0;
  }
  ASSIGN_OR_RETURN(auto ids, NextIds(*migration, (**started)["last_id"]));
  if (ids.empty()) {
    ASSIGN_OR_RETURN(ids, NextIds(*migration, bson::Value()));
  }
  RETURN_IF_ERROR(store_.seams().After("migrations.step.c1"));
  if (ids.empty()) {
    RETURN_IF_ERROR(store_
                        .UpdateOne(kMigrations, Doc("_id", name, "state", "running"),
                                   Doc("$set", Doc("state", "complete", "finished", store_.Now())))
                        .status());
    RETURN_IF_ERROR(store_.seams().After("migrations.step.c4"));
    return 0;
  }
  std::vector<bson::OwnedValue> values;
  for (const Document& id : ids) {
    values.emplace_back(id["_id"]);
  }
  ASSIGN_OR_RETURN(int64_t changed,
                   store_.UpdateMany(migration->collection,
                                     Doc("$and", List(Doc("_id", Doc("$in", ListOf(values))),
                                                      migration->pending)),
                                     migration->apply));
  RETURN_IF_ERROR(store_.seams().After("migrations.step.c2"));
  RETURN_IF_ERROR(
      store_
          .UpdateOne(kMigrations, me,
                     Doc("$set", Doc("last_id", values.back()), "$inc", Doc("done", changed)))
          .status());
  RETURN_IF_ERROR(store_.seams().After("migrations.step.c3"));
  return changed;
}

Result<MigrationState> Migrations::GetState(std::string_view name) const {
  RETURN_IF_ERROR(Defined(name).status());
  ASSIGN_OR_RETURN(auto found, store_.FindOne(kMigrations, Doc("_id", name)));
  if (!found) {
    return MigrationState{"pending", 0};
  }
  return MigrationState{std::string(TextAt(*found, "state")), IntegerAt(*found, "done")};
}

Result<std::vector<std::string>> Migrations::CheckInvariants() const {
  std::vector<std::string> wrong;
  for (const auto& [name, migration] : defined_) {
    ASSIGN_OR_RETURN(MigrationState state, GetState(name));
    ASSIGN_OR_RETURN(auto left, NextIds(migration, bson::Value()));
    if (state.state == "complete" && !left.empty()) {
      wrong.push_back("complete, but not for " + bson::ToJson(left[0]["_id"]) + ": " + name);
    }
  }
  return wrong;
}

}  // namespace quire::patterns
