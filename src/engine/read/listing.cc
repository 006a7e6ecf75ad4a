// SPDX-License-Identifier: Apache-2.0
#include "engine/read/listing.h"

#include "engine/read/without_table.h"

namespace quire::engine {

namespace {

class CatalogRows {
 public:
  CatalogRows(std::string_view database, bool with_shards, std::vector<bson::Document>* out)
      : database_(database), with_shards_(with_shards), out_(out) {}

  template <typename Describe>
  void Add(std::string_view name, std::string_view type, const Describe& describe) {
    bson::Builder row;
    row.Append("ns", std::string(database_) + "." + std::string(name))
        .Append("db", database_)
        .Append("type", type);
    describe(&row);
    row.Append("sharded", false);
    if (with_shards_) {
      row.BeginArray("shards").End();
    }
    out_->push_back(row.Finish());
  }

 private:
  std::string_view database_;
  bool with_shards_;
  std::vector<bson::Document>* out_;
};

}  // namespace

std::string_view KindOf(const store::CollectionInfo& info) {
  return info.is_view() && !info.is_oplog ? "view" : "collection";
}

void AppendDescription(const store::CollectionInfo& info, bson::Builder* out) {
  const bool stored = !info.is_view() || info.is_oplog;
  out->Append("options", info.options).BeginDocument("info");
  out->Append("readOnly", !stored);
  if (stored) {
    out->Append("uuid",
                bson::Value::Binary({reinterpret_cast<const char*>(info.uuid.data()), 16}, 4));
  }
  out->End();
  if (!info.is_view() && !info.clustered && !info.indexes.empty()) {
    out->Append("idIndex", info.indexes.front()->spec);
  }
}

void AppendSystemViewsDescription(std::string_view database, bson::Builder* out) {
  const store::Uuid uuid = SystemViewsUuid(database);
  out->BeginDocument("options").End().BeginDocument("info").Append("readOnly", false);
  out->Append("uuid",
              bson::Value::Binary({reinterpret_cast<const char*>(uuid.data()), uuid.size()}, 4));
  out->End();
}

std::vector<bson::Document> ClusterCatalog(const Operation& operation, std::string_view database,
                                           bool with_shards) {
  auto snapshot = operation.engine.catalog().snapshot();
  std::vector<std::string> databases = {std::string(database)};
  if (database == "admin") {
    databases = snapshot->Databases();
  }
  std::vector<bson::Document> out;
  for (const std::string& name : databases) {
    CatalogRows rows(name, with_shards, &out);
    bool has_views = false;
    for (const auto& info : snapshot->InDatabase(name)) {
      rows.Add(info->name, KindOf(*info),
               [&](bson::Builder* row) { AppendDescription(*info, row); });
      has_views = has_views || (info->is_view() && !info->is_oplog);
    }
    if (has_views) {
      rows.Add("system.views", "collection",
               [&](bson::Builder* row) { AppendSystemViewsDescription(name, row); });
    }
  }
  return out;
}

}  // namespace quire::engine
