// SPDX-License-Identifier: Apache-2.0
//
// Zones: which shards have a tag, and which ranges belong to it.
#include "placement/zones.h"

#include <algorithm>

#include "base/error_codes.h"
#include "base/try.h"
#include "quire/doc.h"
#include "request/fields.h"
#include "router/admin/records.h"
#include "router/admin/rows.h"
#include "router/admin/stored.h"
#include "router/core.h"

namespace quire::router {

namespace {

using auth::Action;
using command::Invocation;

constexpr std::chrono::seconds kTimeout{10};

coord::Deadline Soon() { return std::chrono::steady_clock::now() + kTimeout; }

Result<std::string> StringOf(std::string_view command, const bson::Element& field) {
  if (field.type() != bson::Type::kString) {
    return request::WrongType(command, field, "string");
  }
  return std::string(field.value().AsString());
}

struct ShardAndZone {
  std::string shard;
  std::string zone;
};
Result<ShardAndZone> ReadShardAndZone(std::string_view command, bson::View body) {
  ShardAndZone out;
  ASSIGN_OR_RETURN(out.shard, StringOf(command, body.front()));
  const bson::Element zone = body.Find("zone");
  if (!zone.present()) {
    return Status(kNoSuchKey, "Missing expected field \"zone\"");
  }
  ASSIGN_OR_RETURN(out.zone, StringOf(command, zone));
  return out;
}

Status ChangeShard(coord::Store& store, Catalog& catalog, const std::string& name,
                   const std::function<void(placement::ShardRecord*)>& change) {
  return Records(&store, &catalog)
      .Update(catalog.Key(placement::KeyOfShard(name)),
              [&](const std::optional<std::string>& value) -> Result<std::optional<std::string>> {
                if (!value) {
                  return Status(kShardNotFound, "shard " + name + " does not exist");
                }
                ASSIGN_OR_RETURN(auto record, placement::DecodeShard(*value));
                change(&record);
                return std::optional<std::string>(Encode(record));
              });
}

Result<std::vector<placement::ZoneRecord>> AllZones(coord::Store& store, Catalog& catalog) {
  ASSIGN_OR_RETURN(auto entries, ListAll(store, catalog.Key("zones/"), Soon()));
  std::vector<placement::ZoneRecord> zones;
  for (const coord::Entry& entry : entries) {
    ASSIGN_OR_RETURN(auto zone, placement::DecodeZone(entry.value));
    zones.push_back(std::move(zone));
  }
  return zones;
}

Status AddToZone(coord::Store& store, Catalog& catalog, const ShardAndZone& wish) {
  return ChangeShard(store, catalog, wish.shard, [&](placement::ShardRecord* shard) {
    if (std::find(shard->tags.begin(), shard->tags.end(), wish.zone) == shard->tags.end()) {
      shard->tags.push_back(wish.zone);
    }
  });
}

Status RemoveFromZone(coord::Store& store, Catalog& catalog, const ShardAndZone& wish) {
  size_t others = 0;
  bool known = false;
  ASSIGN_OR_RETURN(auto entries, ListAll(store, catalog.Key("shards/"), Soon()));
  for (const coord::Entry& entry : entries) {
    ASSIGN_OR_RETURN(const auto shard, placement::DecodeShard(entry.value));
    known = known || shard.name == wish.shard;
    others += shard.name != wish.shard && shard.shard().IsIn(wish.zone) ? 1 : 0;
  }
  if (!known) {
    return {kShardNotFound, "shard " + wish.shard + " does not exist"};
  }
  ASSIGN_OR_RETURN(const auto zones, AllZones(store, catalog));
  const bool used = std::any_of(zones.begin(), zones.end(), [&](const placement::ZoneRecord& one) {
    return one.zone.zone == wish.zone;
  });
  if (used && others == 0) {
    return {kZoneStillInUse,
            "Cannot remove the only shard of zone " + wish.zone + ", which still has chunk ranges"};
  }
  return ChangeShard(store, catalog, wish.shard,
                     [&](placement::ShardRecord* shard) { std::erase(shard->tags, wish.zone); });
}

Task<Status> AddShardToZone(Routed& request) {
  CO_ASSIGN_OR_RETURN(const ShardAndZone wish, ReadShardAndZone("addShardToZone", request.body));
  // A lambda within the co_await would be destroyed twice by GCC 12.
  const StoredWork work = [wish](coord::Store& store, Catalog& catalog) {
    return AddToZone(store, catalog, wish);
  };
  Status status = co_await RunStored(request, work);
  co_return status;
}

Task<Status> RemoveShardFromZone(Routed& request) {
  CO_ASSIGN_OR_RETURN(const ShardAndZone wish,
                      ReadShardAndZone("removeShardFromZone", request.body));
  // A lambda within the co_await would be destroyed twice by GCC 12.
  const StoredWork work = [wish](coord::Store& store, Catalog& catalog) {
    return RemoveFromZone(store, catalog, wish);
  };
  Status status = co_await RunStored(request, work);
  co_return status;
}

// --- updateZoneKeyRange ---

struct RangeWish {
  std::string ns;
  bson::Document min;
  bson::Document max;
  std::optional<std::string> zone;  // none: the range is in no zone any more
};

Result<RangeWish> ReadRange(bson::View body) {
  RangeWish wish;
  ASSIGN_OR_RETURN(wish.ns, StringOf("updateZoneKeyRange", body.front()));
  for (auto [name, target] : {std::pair("min", &wish.min), std::pair("max", &wish.max)}) {
    const bson::Element field = body.Find(name);
    if (!field.present()) {
      return request::MissingField("updateZoneKeyRange", name);
    }
    if (field.type() != bson::Type::kDocument) {
      return request::WrongType("updateZoneKeyRange", field, "object");
    }
    *target = bson::Document(field.value().AsDocument());
  }
  const bson::Element zone = body.Find("zone");
  if (!zone.present()) {
    return request::MissingField("updateZoneKeyRange", "zone");
  }
  if (zone.type() != bson::Type::kNull) {
    ASSIGN_OR_RETURN(wish.zone, StringOf("updateZoneKeyRange", zone));
  }
  return wish;
}

Status WriteRange(coord::Store& store, Catalog& catalog, const RangeWish& wish) {
  Records records(&store, &catalog);
  ASSIGN_OR_RETURN(const coord::Entry entry,
                   records.Get(catalog.Key(placement::KeyOfCollection(wish.ns))));
  std::optional<placement::ShardKeyPattern> pattern;
  if (entry.modified != 0) {
    ASSIGN_OR_RETURN(const auto record, placement::DecodeCollection(entry.value));
    if (record.state == placement::CollectionRecord::State::kLive) {
      ASSIGN_OR_RETURN(pattern, placement::ShardKeyPattern::Parse(record.key));
    }
  }
  ASSIGN_OR_RETURN(
      placement::KeyRange range,
      placement::ZoneBorders(wish.ns, pattern ? &*pattern : nullptr, wish.min, wish.max));
  const std::string key = catalog.Key(placement::KeyOfZone(wish.ns, range.min));
  if (!wish.zone) {
    return records.Update(
        key, [&](const std::optional<std::string>& value) -> Result<std::optional<std::string>> {
          if (value) {
            ASSIGN_OR_RETURN(const auto there, placement::DecodeZone(*value));
            if (there.zone.range != range) {
              return value;
            }
          }
          return std::optional<std::string>();
        });
  }
  ASSIGN_OR_RETURN(auto shards, ListAll(store, catalog.Key("shards/"), Soon()));
  bool exists = false;
  for (const coord::Entry& one : shards) {
    ASSIGN_OR_RETURN(const auto shard, placement::DecodeShard(one.value));
    exists = exists || shard.shard().IsIn(*wish.zone);
  }
  if (!exists) {
    return {kZoneNotFound, "zone " + *wish.zone + " does not exist"};
  }
  ASSIGN_OR_RETURN(const auto all, AllZones(store, catalog));
  placement::Zones zones;
  for (const placement::ZoneRecord& one : all) {
    if (one.ns == wish.ns) {
      RETURN_IF_ERROR(zones.Add(one.zone));
    }
  }
  const placement::ZoneRecord record{wish.ns, {range, *wish.zone}};
  RETURN_IF_ERROR(zones.Add(record.zone));
  return records.Update(
      key, [&](const auto&) { return Result<std::optional<std::string>>(Encode(record)); });
}

Task<Status> UpdateZoneKeyRange(Routed& request) {
  CO_ASSIGN_OR_RETURN(const RangeWish wish, ReadRange(request.body));
  // A lambda within the co_await would be destroyed twice by GCC 12.
  const StoredWork work = [wish](coord::Store& store, Catalog& catalog) {
    return WriteRange(store, catalog, wish);
  };
  Status status = co_await RunStored(request, work);
  co_return status;
}

// Who may change config.shards and config.tags may change zones.
Status StateShardZone(Invocation&, auth::Needs* needs) {
  needs->Add(Action::update, auth::Collection("config", "shards"));
  return Status::Ok();
}
Status StateRange(Invocation&, auth::Needs* needs) {
  needs->Add(Action::find, auth::Collection("config", "shards"));
  needs->Add(Action::update, auth::Collection("config", "tags"));
  return Status::Ok();
}

}  // namespace

std::span<const command::Row> ZoneRows() {
  using request::kAdminOnly;
  using request::kWriteConcern;
  static constexpr command::Row kRows[] = {
      {{"addShardToZone", "", kAdminOnly | kWriteConcern, "puts a shard into a zone"},
       RunOnShards,
       command::Stated(StateShardZone)},
      {{"removeShardFromZone", "", kAdminOnly | kWriteConcern, "takes a shard out of a zone"},
       RunOnShards,
       command::Stated(StateShardZone)},
      {{"updateZoneKeyRange", "", kAdminOnly | kWriteConcern, "puts a range into a zone"},
       RunOnShards,
       command::Stated(StateRange)},
  };
  return kRows;
}

std::span<const RoutineRow> ZoneRoutines() {
  static constexpr RoutineRow kRows[] = {
      {"addShardToZone", AddShardToZone},
      {"removeShardFromZone", RemoveShardFromZone},
      {"updateZoneKeyRange", UpdateZoneKeyRange},
  };
  return kRows;
}

}  // namespace quire::router
