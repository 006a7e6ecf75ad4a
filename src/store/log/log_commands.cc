// SPDX-License-Identifier: Apache-2.0
#include "store/log/log_commands.h"

#include "store/log/change_log.h"
#include "store/touched.h"

namespace quire::store {

namespace {

std::string_view BytesOf(const Uuid& uuid) {
  return {reinterpret_cast<const char*>(uuid.data()), uuid.size()};
}

void Note(const CollectionInfo& info, bson::Builder* o, bson::View o2, ChangeBuffer* changes) {
  bson::Document command = o->Finish();
  changes->Command(info.ns(), BytesOf(info.uuid), command, o2);
}

CollectionInfo ViewsOf(std::string_view database) {
  CollectionInfo views;
  views.database = database;
  views.name = "system.views";
  return views;
}

bson::Document DefinitionOf(const CollectionInfo& view) {
  bson::Builder out;
  out.Append("_id", view.ns()).AppendFields(view.options);
  return out.Finish();
}

}  // namespace

void LogCreateView(const CollectionInfo& view, ChangeBuffer* changes) {
  if (IsLogged(view.database, view.name)) {
    bson::Document definition = DefinitionOf(view);
    changes->Insert(ViewsOf(view.database), definition);
  }
}

void LogModifyView(const CollectionInfo& view, ChangeBuffer* changes) {
  if (IsLogged(view.database, view.name)) {
    bson::Document definition = DefinitionOf(view);
    changes->Update(ViewsOf(view.database), bson::View(), definition, {.replacement = true});
  }
}

void LogDropView(const CollectionInfo& view, ChangeBuffer* changes) {
  if (IsLogged(view.database, view.name)) {
    bson::Document definition = DefinitionOf(view);
    changes->Delete(ViewsOf(view.database), definition);
  }
}

void LogDropViews(std::string_view database, int64_t count, ChangeBuffer* changes) {
  const CollectionInfo views = ViewsOf(database);
  if (!IsLogged(database, views.name)) {
    return;
  }
  bson::Builder o;
  o.Append("drop", views.name);
  bson::Builder o2;
  o2.Append("numRecords", count);
  bson::Document records = o2.Finish();
  Note(views, &o, records, changes);
}

void LogCreate(const CollectionInfo& info, ChangeBuffer* changes) {
  if (info.log == nullptr) {
    return;
  }
  bson::Builder o;
  o.Append("create", info.name);
  if (!info.indexes.empty() && !info.clustered) {
    o.Append("idIndex", info.indexes.front()->spec);
  }
  o.AppendFields(info.options);
  Note(info, &o, bson::View(), changes);
}

void LogDrop(const CollectionInfo& info, ChangeBuffer* changes) {
  if (info.log == nullptr) {
    return;
  }
  bson::Builder o;
  o.Append("drop", info.name);
  bson::Builder o2;
  o2.Append("numRecords", info.state->documents.load());
  bson::Document records = o2.Finish();
  Note(info, &o, records, changes);
}

void LogDropDatabase(std::string_view database, ChangeBuffer* changes) {
  if (!IsLogged(database, "")) {
    return;
  }
  bson::Builder o;
  o.Append("dropDatabase", 1);
  bson::Document command = o.Finish();
  constexpr Uuid kNone{};
  changes->Command(std::string(database) + ".", BytesOf(kNone), command, bson::View());
}

void LogRename(const CollectionInfo& from, const CollectionInfo& to, const CollectionInfo* dropped,
               ChangeBuffer* changes) {
  if (from.log == nullptr) {
    return;
  }
  bson::Builder o;
  o.Append("renameCollection", from.ns()).Append("to", to.ns()).Append("stayTemp", false);
  if (dropped != nullptr) {
    o.Append("dropTarget", bson::Value::Binary(BytesOf(dropped->uuid), 4));
  }
  Note(from, &o, bson::View(), changes);
}

void LogCreateIndexes(const CollectionInfo& info,
                      const std::vector<std::shared_ptr<IndexInfo>>& made, ChangeBuffer* changes) {
  if (info.log == nullptr) {
    return;
  }
  Uuid build = GenerateUuid();
  bson::Builder o;
  o.Append("commitIndexBuild", info.name)
      .Append("indexBuildUUID", bson::Value::Binary(BytesOf(build), 4))
      .BeginArray("indexes");
  for (const auto& index : made) {
    o.Push(index->spec.view());
  }
  o.End();
  Note(info, &o, bson::View(), changes);
}

void LogDropIndex(const CollectionInfo& info, const IndexInfo& index, ChangeBuffer* changes) {
  if (info.log == nullptr) {
    return;
  }
  bson::Builder o;
  o.Append("dropIndexes", info.name).Append("index", index.name);
  Note(info, &o, index.spec, changes);
}

void LogModify(const CollectionInfo& info, bson::View command, const IndexInfo* index,
               ChangeBuffer* changes) {
  if (info.log == nullptr) {
    return;
  }
  bson::Builder o;
  o.Append("collMod", info.name).AppendFields(command);
  bson::Builder o2;
  o2.Append("collectionOptions_old", info.options);
  if (index != nullptr) {
    bson::Value hidden = index->spec["hidden"];
    bson::Value seconds = index->spec["expireAfterSeconds"];
    if (!hidden.missing() || !seconds.missing()) {
      o2.BeginDocument("indexOptions_old")
          .Append("hidden", hidden)
          .Append("expireAfterSeconds", seconds)
          .End();
    }
  }
  bson::Document old = o2.Finish();
  Note(info, &o, old, changes);
}

}  // namespace quire::store
