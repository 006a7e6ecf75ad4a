// SPDX-License-Identifier: Apache-2.0
//
// The balancer's settings: kept in config.settings and with the collections.
#include <algorithm>
#include <optional>
#include <utility>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/number.h"
#include "placement/zones.h"
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

constexpr int64_t kDefaultChunkMegabytes = 128;
constexpr std::chrono::seconds kTimeout{10};

// The setting with `mode` as it is now to be.
Status WriteMode(coord::Store& store, Catalog& catalog, std::string_view mode) {
  return Records(&store, &catalog)
      .Update(
          catalog.Key(placement::KeyOfSetting("balancer")),
          [&](const std::optional<std::string>& value) -> Result<std::optional<std::string>> {
            bson::Builder out;
            out.Append("_id", "balancer").Append("mode", mode).Append("stopped", mode == "off");
            if (value) {
              ASSIGN_OR_RETURN(const auto before, placement::DecodeSetting(*value));
              for (const bson::Element& field : before.document.view()) {
                if (field.name() != "_id" && field.name() != "mode" && field.name() != "stopped") {
                  out.Append(field);
                }
              }
            }
            return std::optional<std::string>(
                Encode(placement::SettingRecord{"balancer", out.Finish()}));
          });
}

Task<Status> SetMode(Routed& request, std::string mode) {
  // A lambda within the co_await would be destroyed twice by GCC 12.
  const StoredWork work = [mode](coord::Store& store, Catalog& catalog) {
    return WriteMode(store, catalog, mode);
  };
  Status status = co_await RunStored(request, work);
  co_return status;
}

Task<Status> BalancerStart(Routed& request) { return SetMode(request, "full"); }
Task<Status> BalancerStop(Routed& request) { return SetMode(request, "off"); }

// The document of a setting; empty when it was never set.
Result<bson::Document> ReadSetting(coord::Store& store, Catalog& catalog, std::string_view id) {
  ASSIGN_OR_RETURN(const coord::Entry entry,
                   Records(&store, &catalog).Get(catalog.Key(placement::KeyOfSetting(id))));
  if (entry.modified == 0) {
    return bson::Document();
  }
  ASSIGN_OR_RETURN(placement::SettingRecord record, placement::DecodeSetting(entry.value));
  return std::move(record.document);
}

Task<Status> BalancerStatus(Routed& request) {
  Catalog& catalog = *request.core.catalog;
  std::shared_ptr<Lookup<bson::Document>> read = catalog.Run(
      [&catalog](coord::Store& store) { return ReadSetting(store, catalog, "balancer"); });
  Status waited = co_await request.Until(read);
  CO_RETURN_IF_ERROR(waited);
  CO_ASSIGN_OR_RETURN(const bson::Document setting, read->Get());
  const bson::Value mode = setting["mode"];
  const bson::Value stopped = setting["stopped"];
  const bool off = mode.is_string() ? mode.AsString() == "off"
                                    : stopped.type() == bson::Type::kBool && stopped.AsBool();
  request.call()
      .reply.Append("mode", off ? "off" : "full")
      .Append("inBalancerRound", false)
      .Append("numBalancerRounds", int64_t{0})
      .Append("term", int64_t{1});
  co_return Status::Ok();
}

Result<std::string> CollectionIn(Routed& request) {
  const bson::Element target = request.body.view().front();
  if (target.type() != bson::Type::kString) {
    return request::WrongType(request.call().command.name, target, "string");
  }
  return std::string(target.value().AsString());
}

Status NotSharded(const std::string& ns) {
  return {kNamespaceNotSharded, "Collection " + ns + " is not sharded."};
}

// A chunk that lies where it must not; nothing: there is none.
std::optional<std::pair<std::string_view, bson::Document>> Violation(
    const placement::ChunkMap& chunks, const std::vector<placement::ShardRecord>& shards,
    const placement::Zones& zones) {
  for (const placement::ChunkPtr& chunk : chunks.chunks()) {
    const auto shard =
        std::find_if(shards.begin(), shards.end(),
                     [&](const placement::ShardRecord& one) { return one.name == chunk->shard; });
    if (shard == shards.end()) {
      continue;
    }
    bson::Builder details;
    details.Append("shard", chunk->shard)
        .Append("min", chunk->range.min.values)
        .Append("max", chunk->range.max.values);
    if (shard->draining) {
      return std::pair("draining", details.Finish());
    }
    for (const placement::ZoneRange& zone : zones.ranges()) {
      if (zone.range.Contains(chunk->range) && !shard->shard().IsIn(zone.zone)) {
        return std::pair("zoneViolation", details.Append("zone", zone.zone).Finish());
      }
    }
  }
  return std::nullopt;
}

// {chunkSize, balancerCompliant, firstComplianceViolation?, details?}
Result<bson::Document> Compliance(coord::Store& store, Catalog& catalog, const Route& route) {
  placement::Zones zones;
  ASSIGN_OR_RETURN(const auto entries, ListAll(store, catalog.Key("zones/" + route.ns + "/"),
                                               std::chrono::steady_clock::now() + kTimeout));
  for (const coord::Entry& entry : entries) {
    ASSIGN_OR_RETURN(const auto record, placement::DecodeZone(entry.value));
    RETURN_IF_ERROR(zones.Add(record.zone));
  }
  ASSIGN_OR_RETURN(const bson::Document setting, ReadSetting(store, catalog, "chunksize"));
  const bson::Value megabytes = setting["value"];
  const int64_t usual = megabytes.is_number() && bson::ClampedInt64(megabytes) > 0
                            ? bson::ClampedInt64(megabytes)
                            : kDefaultChunkMegabytes;
  const int64_t bytes = route.collection->max_chunk_bytes.value_or(usual << 20);
  const auto violation = Violation(*route.chunks, catalog.Shards(), zones);
  bson::Builder out;
  out.Append("chunkSize", static_cast<double>(bytes) / (1 << 20))
      .Append("balancerCompliant", !violation.has_value());
  if (violation) {
    out.Append("firstComplianceViolation", violation->first).Append("details", violation->second);
  }
  return out.Finish();
}

Task<Status> BalancerCollectionStatus(Routed& request) {
  CO_ASSIGN_OR_RETURN(const std::string ns, CollectionIn(request));
  Result<RoutePtr> route = co_await request.FindCurrent(ns);
  if (!route.ok() && route.status().code() == kNamespaceNotFound) {
    co_return NotSharded(ns);
  }
  CO_RETURN_IF_ERROR(route.status());
  if (!(*route)->sharded()) {
    co_return NotSharded(ns);
  }
  Catalog& catalog = *request.core.catalog;
  std::shared_ptr<Lookup<bson::Document>> judged =
      catalog.Run([&catalog, known = *route](coord::Store& store) {
        return Compliance(store, catalog, *known);
      });
  Status waited = co_await request.Until(judged);
  CO_RETURN_IF_ERROR(waited);
  CO_ASSIGN_OR_RETURN(const bson::Document compliance, judged->Get());
  request.call().reply.AppendFields(compliance);
  co_return Status::Ok();
}

Task<Status> ConfigureCollectionBalancing(Routed& request) {
  CO_ASSIGN_OR_RETURN(const std::string ns, CollectionIn(request));
  const bson::Value size = request.body["chunkSize"];
  const bson::Value merges = request.body["enableAutoMerger"];
  if (const bson::Value defragments = request.body["defragmentCollection"];
      defragments.type() == bson::Type::kBool && defragments.AsBool()) {
    co_return Status(kCommandNotSupported,
                     "collections are not defragmented: ranges do not move "
                     "by themselves");
  }
  if (!size.missing() &&
      (!size.is_number() || bson::ClampedInt64(size) < 0 || bson::ClampedInt64(size) > 1024)) {
    co_return Status(kInvalidOptions,
                     "Chunk size '" + bson::ToJson(size) + "' is out of range [1MB, 1GB]");
  }
  std::optional<int64_t> megabytes;
  if (!size.missing()) {
    megabytes = bson::ClampedInt64(size);
  }
  std::optional<bool> auto_merge;
  if (merges.type() == bson::Type::kBool) {
    auto_merge = merges.AsBool();
  }
  // A lambda within the co_await would be destroyed twice by GCC 12.
  const StoredWork work = [ns, megabytes, auto_merge](coord::Store& store, Catalog& catalog) {
    return Records(&store, &catalog)
        .Update(catalog.Key(placement::KeyOfCollection(ns)),
                [&](const std::optional<std::string>& value) -> Result<std::optional<std::string>> {
                  if (!value) {
                    return NotSharded(ns);
                  }
                  ASSIGN_OR_RETURN(auto record, placement::DecodeCollection(*value));
                  if (megabytes) {
                    record.max_chunk_bytes =
                        *megabytes == 0 ? std::nullopt : std::optional(*megabytes << 20);
                  }
                  record.auto_merge = auto_merge.value_or(record.auto_merge);
                  return std::optional<std::string>(Encode(record));
                });
  };
  Status status = co_await RunStored(request, work);
  co_return status;
}

Status StateMode(Invocation&, auth::Needs* needs) {
  needs->Add(Action::update, auth::Collection("config", "settings"));
  return Status::Ok();
}
Status StateStatus(Invocation&, auth::Needs* needs) {
  needs->Add(Action::find, auth::Collection("config", "settings"));
  return Status::Ok();
}
Status StateOfCollection(Invocation& i, Action action, auth::Needs* needs) {
  const bson::Value name = i.body().front().value();
  needs->Add(action, auth::OfNamespace(name.is_string() ? name.AsString() : ""));
  return Status::Ok();
}
Status StateCollectionStatus(Invocation& i, auth::Needs* needs) {
  return StateOfCollection(i, Action::enableSharding, needs);
}

}  // namespace

std::span<const command::Row> BalancerRows() {
  using request::kAdminOnly;
  using request::kWriteConcern;
  static constexpr command::Row kRows[] = {
      {{"balancerStart", "", kAdminOnly | kWriteConcern, "lets the balancer move ranges"},
       RunOnShards,
       command::Stated(StateMode)},
      {{"balancerStop", "", kAdminOnly | kWriteConcern, "stops the balancer"},
       RunOnShards,
       command::Stated(StateMode)},
      {{"balancerStatus", "", kAdminOnly, "whether the balancer is on"},
       RunOnShards,
       command::Stated(StateStatus)},
      {{"balancerCollectionStatus", "", kAdminOnly, "whether a collection is balanced"},
       RunOnShards,
       command::Stated(StateCollectionStatus)},
      {{"configureCollectionBalancing", "", kAdminOnly | kWriteConcern,
        "how a collection is balanced"},
       RunOnShards,
       command::Stated(StateCollectionStatus)},
  };
  return kRows;
}

std::span<const RoutineRow> BalancerRoutines() {
  static constexpr RoutineRow kRows[] = {
      {"balancerStart", BalancerStart},
      {"balancerStop", BalancerStop},
      {"balancerStatus", BalancerStatus},
      {"balancerCollectionStatus", BalancerCollectionStatus},
      {"configureCollectionBalancing", ConfigureCollectionBalancing},
  };
  return kRows;
}

}  // namespace quire::router
