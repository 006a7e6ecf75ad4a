// SPDX-License-Identifier: Apache-2.0
#include "router/config/mirror.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/error_codes.h"
#include "base/try.h"
#include "command/own_documents.h"
#include "quire/doc.h"
#include "router/admin/records.h"

namespace quire::router {

namespace {

constexpr std::chrono::seconds kTimeout{10};
constexpr std::array<std::string_view, 9> kCollections = {"version",     "shards", "databases",
                                                          "collections", "chunks", "tags",
                                                          "settings",    "mongos", "changelog"};

coord::Deadline Soon() { return std::chrono::steady_clock::now() + kTimeout; }

std::string IdOf(bson::View document) {
  std::string bytes;
  const bson::Value id = document["_id"];
  bytes.push_back(static_cast<char>(id.type()));
  id.AppendTo(&bytes);
  return bytes;
}

// A value that the store holds for the document `id` of config.settings.
std::string SettingValue(bson::View document) {
  const bson::Value id = document["_id"];
  return Encode(placement::SettingRecord{std::string(id.AsString()), bson::Document(document)});
}

bool Flag(bson::View document, std::string_view name, bool otherwise) {
  const bson::Value value = document[name];
  return value.type() == bson::Type::kBool ? value.AsBool() : otherwise;
}

bson::Document Without(bson::View document, std::string_view name) {
  bson::Builder out;
  for (const bson::Element& field : document) {
    if (field.name() != name) {
      out.Append(field);
    }
  }
  return out.Finish();
}

}  // namespace

Status Mirror::Refresh(coord::Store& store, std::string_view collection) {
  for (std::string_view name : kCollections) {
    if (!collection.empty() && collection != name) {
      continue;
    }
    ASSIGN_OR_RETURN(Documents wanted, Wanted(store, name));
    RETURN_IF_ERROR(Apply("config." + std::string(name), std::move(wanted)));
  }
  return Status::Ok();
}

Result<Mirror::Documents> Mirror::Wanted(coord::Store& store, std::string_view collection) {
  Documents documents;
  auto add = [&](bson::Document document) {
    std::string id = IdOf(document);
    documents.insert_or_assign(std::move(id), std::move(document));
  };
  auto each = [&](std::string_view folder, auto show) -> Status {
    ASSIGN_OR_RETURN(auto entries, ListAll(store, catalog_.Key(folder), Soon()));
    for (const coord::Entry& entry : entries) {
      RETURN_IF_ERROR(show(entry.value));
    }
    return Status::Ok();
  };
  if (collection == "version") {
    if (const auto cluster = catalog_.Cluster()) {
      add(Doc("_id", 1, "clusterId", cluster->id));
    }
  } else if (collection == "shards") {
    RETURN_IF_ERROR(each("shards/", [&](const std::string& value) -> Status {
      ASSIGN_OR_RETURN(const auto record, placement::DecodeShard(value));
      add(ShardDocument(record));
      return Status::Ok();
    }));
  } else if (collection == "databases") {
    RETURN_IF_ERROR(each("dbs/", [&](const std::string& value) -> Status {
      ASSIGN_OR_RETURN(const auto record, placement::DecodeDatabase(value));
      add(DatabaseDocument(record));
      return Status::Ok();
    }));
  } else if (collection == "collections" || collection == "chunks") {
    const bool chunks = collection == "chunks";
    RETURN_IF_ERROR(each("colls/", [&](const std::string& value) -> Status {
      ASSIGN_OR_RETURN(const auto record, placement::DecodeCollection(value));
      if (record.state != placement::CollectionRecord::State::kLive) {
        return Status::Ok();
      }
      if (!chunks) {
        add(CollectionDocument(record));
        return Status::Ok();
      }
      ASSIGN_OR_RETURN(
          auto blocks,
          ListAll(store, catalog_.Key(placement::PrefixOfChunks(record.generation)), Soon()));
      for (const coord::Entry& entry : blocks) {
        ASSIGN_OR_RETURN(const auto block, placement::DecodeBlock(entry.value));
        for (const placement::ChunkPtr& chunk : block.chunks) {
          add(ChunkDocument(record, *chunk));
        }
      }
      return Status::Ok();
    }));
  } else if (collection == "tags") {
    RETURN_IF_ERROR(each("zones/", [&](const std::string& value) -> Status {
      ASSIGN_OR_RETURN(const auto record, placement::DecodeZone(value));
      add(ZoneDocument(record));
      return Status::Ok();
    }));
  } else if (collection == "settings") {
    RETURN_IF_ERROR(each("settings/", [&](const std::string& value) -> Status {
      ASSIGN_OR_RETURN(auto record, placement::DecodeSetting(value));
      add(std::move(record.document));
      return Status::Ok();
    }));
  } else {
    RETURN_IF_ERROR(
        each(collection == "mongos" ? "routers/" : "log/", [&](const std::string& value) -> Status {
          ASSIGN_OR_RETURN(const auto document, bson::Document::FromJson(value));
          add(Without(document, "boot"));  // for shards alone
          return Status::Ok();
        }));
  }
  return documents;
}

Status Mirror::Apply(const std::string& ns, Documents wanted) {
  Documents& shown = shown_[ns];
  for (auto it = shown.begin(); it != shown.end();) {
    if (wanted.contains(it->first)) {
      ++it;
      continue;
    }
    const bson::Document filter = Doc("_id", it->second["_id"]);
    RETURN_IF_ERROR(command::RemoveOwn(engine_, ns, filter).status());
    it = shown.erase(it);
  }
  for (auto& [id, document] : wanted) {
    auto known = shown.find(id);
    if (known != shown.end() && known->second.bytes() == document.bytes()) {
      continue;
    }
    RETURN_IF_ERROR(command::SaveOwn(engine_, ns, document));
    shown.insert_or_assign(id, std::move(document));
  }
  return Status::Ok();
}

Status Mirror::Store(coord::Store& store, std::string_view collection) {
  const std::string ns = "config." + std::string(collection);
  ASSIGN_OR_RETURN(auto written, command::LoadOwnAll(engine_, ns, bson::View(), bson::View()));
  Documents now;
  for (bson::Document& document : written) {
    std::string id = IdOf(document);
    now.insert_or_assign(std::move(id), std::move(document));
  }
  Status stored = collection == "settings" ? StoreSettings(store, now)
                  : collection == "collections"
                      ? StoreCollections(store, now)
                      : Status(kIllegalOperation, ns + " is changed by commands alone");
  // What the store did not take is taken back.
  shown_[ns] = std::move(now);
  RETURN_IF_ERROR(Refresh(store, collection));
  return stored;
}

Status Mirror::StoreSettings(coord::Store& store, const Documents& now) {
  Records records(&store, &catalog_);
  const Documents& before = shown_["config.settings"];
  for (const auto& [id, document] : now) {
    auto known = before.find(id);
    if (known != before.end() && known->second.bytes() == document.bytes()) {
      continue;
    }
    const bson::Value name = document["_id"];
    if (!name.is_string()) {
      return {kBadValue, "the _id of a setting is a string"};
    }
    RETURN_IF_ERROR(records.Update(
        catalog_.Key(placement::KeyOfSetting(name.AsString())), [&setting = document](const auto&) {
          return Result<std::optional<std::string>>(SettingValue(setting));
        }));
  }
  for (const auto& [id, document] : before) {
    if (!now.contains(id)) {
      RETURN_IF_ERROR(records.Update(
          catalog_.Key(placement::KeyOfSetting(document["_id"].AsString())),
          [](const auto&) { return Result<std::optional<std::string>>(std::nullopt); }));
    }
  }
  return Status::Ok();
}

Status Mirror::StoreCollections(coord::Store& store, const Documents& now) {
  Records records(&store, &catalog_);
  const Documents& before = shown_["config.collections"];
  if (now.size() != before.size()) {
    return {kIllegalOperation, "config.collections is changed by commands alone"};
  }
  for (const auto& [id, document] : now) {
    auto known = before.find(id);
    if (known == before.end() || known->second.bytes() == document.bytes()) {
      continue;
    }
    RETURN_IF_ERROR(records.Update(
        catalog_.Key(placement::KeyOfCollection(document["_id"].AsString())),
        [&wanted = document](
            const std::optional<std::string>& value) -> Result<std::optional<std::string>> {
          if (!value) {
            return std::optional<std::string>();
          }
          ASSIGN_OR_RETURN(auto record, placement::DecodeCollection(*value));
          record.no_balance = Flag(wanted, "noBalance", false);
          record.auto_merge = Flag(wanted, "enableAutoMerge", true);
          return std::optional<std::string>(Encode(record));
        }));
  }
  return Status::Ok();
}

}  // namespace quire::router
