// SPDX-License-Identifier: Apache-2.0
#include "engine/read/without_table.h"

#include <memory>
#include <utility>

#include "bson/hash/md5.h"
#include "engine/stream/oplog.h"

namespace quire::engine {

std::vector<bson::Document> ViewDefinitions(const Operation& operation, std::string_view database) {
  std::vector<bson::Document> out;
  for (const auto& collection : operation.engine.catalog().snapshot()->InDatabase(database)) {
    if (!collection->is_view() || collection->is_oplog) {
      continue;
    }
    bson::Builder b;
    b.Append("_id", collection->ns()).Append("viewOn", collection->view_on);
    bson::Value pipeline = collection->options["pipeline"];
    b.Append("pipeline", pipeline.is_array() ? pipeline : bson::Value::Array(bson::View()));
    if (bson::Value collation = collection->options["collation"]; !collation.missing()) {
      b.Append("collation", collation);
    }
    out.push_back(b.Finish());
  }
  return out;
}

store::Uuid SystemViewsUuid(std::string_view database) {
  bson::Md5 md5;
  md5.Add(database);
  md5.Add(".system.views");
  store::Uuid uuid = md5.Finish();
  uuid[6] = static_cast<uint8_t>((uuid[6] & 0x0f) | 0x40);  // version and variant of a random one
  uuid[8] = static_cast<uint8_t>((uuid[8] & 0x3f) | 0x80);
  return uuid;
}

void ScanWithoutTable(const Operation& operation, const std::string& database,
                      plan::QuerySpec* spec) {
  if (spec->collection != nullptr && spec->collection->is_oplog) {
    bson::Timestamp start = OplogStart(spec->filter_spec);
    spec->rows = [&engine = operation.engine, start](bool backward) {
      return std::make_unique<OplogRows>(engine, start, backward);
    };
    return;
  }
  auto views = std::make_shared<store::CollectionInfo>();
  views->database = database;
  views->name = "system.views";
  views->uuid = SystemViewsUuid(database);
  views->state = std::make_shared<store::CollectionState>(0);
  spec->collection = std::move(views);
  std::vector<bson::Document> definitions = ViewDefinitions(operation, database);
  spec->rows = [definitions = std::move(definitions)](bool) {
    return std::make_unique<ListRows>(definitions);
  };
}

}  // namespace quire::engine
