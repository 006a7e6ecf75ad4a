// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/nodes.h"

#include <algorithm>
#include <atomic>

#include "base/try.h"
#include "demo/demos.h"
#include "quire/doc.h"
#include "quire/patterns/migrations.h"

namespace quire::apps {
namespace {

using patterns::Migrations;
using patterns::Nodes;

constexpr const char* kTypes[] = {"page", "photo", "poll"};
constexpr char kMigration[] = "short_description";
constexpr int64_t kPage = 50;

std::string_view TypeOf(int64_t i) { return kTypes[static_cast<size_t>(i) % std::size(kTypes)]; }

bson::Document NodeOf(const std::string& id, int64_t i) {
  return Doc("_id", id, "type", TypeOf(i), "url", "/" + id, "title", Numbered("Title ", i), "text",
             "a text of some length about nothing in particular");
}

std::vector<Step> Steps(const DesignRun& run, const Nodes& nodes, const Migrations& migrations,
                        std::atomic<int64_t>* inserted) {
  return {
      {"load", 70,
       [&](Worker& w) {
         const std::string id = Numbered("node", w.chance.Skewed(run.size()));
         return nodes.Load(bson::Value(id)).status();
       }},
      {"find by type", 15,
       [&](Worker& w) {
         return nodes
             .Find(Doc("type", TypeOf(w.chance.Below(3))), {.sort = Doc("_id", 1), .limit = kPage})
             .status();
       }},
      // As programs that do not know of the new field do.
      {"insert", 10,
       [&nodes, inserted](Worker& w) {
         const std::string id = Numbered("new" + std::to_string(w.thread) + "-", w.operation);
         Status status = nodes.Insert(NodeOf(id, w.chance.Below(1000))).status();
         *inserted += status.ok() ? 1 : 0;
         return status;
       }},
      {"migrate a batch", 5,
       [&migrations](Worker&) { return migrations.Step(kMigration).status(); }},
  };
}

Status RunNodes(DesignRun* run) {
  Nodes nodes(run->client(), run->database());
  for (const char* type : kTypes) {
    nodes.Register(type, {.required = {{"text", bson::Type::kString}},
                          .defaults = Doc("short_description", "")});
  }
  const bson::Document pending = Doc("short_description", Doc("$exists", false));
  Migrations migrations(run->client(), run->database());
  migrations.Define(kMigration, {"nodes", pending, Doc("$set", Doc("short_description", ""))});
  RETURN_IF_ERROR(nodes.CreateIndexes());
  RETURN_IF_ERROR(run->Load("nodes", run->size(), [&](int64_t i) {
    return nodes.Insert(NodeOf(Numbered("node", i), i)).status();
  }));
  std::atomic<int64_t> inserted{run->size()};
  RETURN_IF_ERROR(run->Work(Steps(*run, nodes, migrations, &inserted)));
  auto migrate = [&migrations]() -> Status {
    for (;;) {
      ASSIGN_OR_RETURN(patterns::MigrationState state, migrations.GetState(kMigration));
      if (state.state == "complete") {
        return Status::Ok();
      }
      RETURN_IF_ERROR(migrations.Step(kMigration).status());
    }
  };
  RETURN_IF_ERROR(run->Job("rest of migration", migrate));
  RETURN_IF_ERROR(run->Explain("find by type", "nodes", Doc("type", "poll"), Doc("_id", 1), kPage));
  Collection stored = run->client().GetDatabase(run->database()).GetCollection("nodes");
  ASSIGN_OR_RETURN(int64_t all, stored.Count());
  ASSIGN_OR_RETURN(int64_t unchanged, stored.Count(pending));
  run->Check("no node is lost", all == inserted,
             std::to_string(all) + " instead of " + std::to_string(inserted));
  // A migration that was complete before the last insert leaves that to the default of readers.
  ASSIGN_OR_RETURN(auto found, nodes.Find(Doc("type", "page"), {.sort = Doc("_id", 1)}));
  const bool filled = std::all_of(found.begin(), found.end(), [](const bson::Document& node) {
    return node.view().Has("short_description");
  });
  run->Check("every reader sees the field or its default", filled);
  ASSIGN_OR_RETURN(patterns::MigrationState state, migrations.GetState(kMigration));
  run->Check("the migration counts every node it changed", state.done == all - unchanged,
             std::to_string(state.done) + " of " + std::to_string(all - unchanged));
  return run->CheckInvariants(nodes);
}

}  // namespace

Status DemoNodes(DemoRun* run) { return run->Design("one collection", RunNodes); }

}  // namespace quire::apps
