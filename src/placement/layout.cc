// SPDX-License-Identifier: Apache-2.0
#include "placement/layout.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "base/try.h"
#include "bson/compare.h"
#include "quire/error.h"

namespace quire::placement {

namespace {

using bson::Value;

constexpr int64_t kMostChunksPerShard = 8192;
constexpr int64_t kMostChunks = 1000 * 1000;

// Lays chunks side by side.
class Layer {
 public:
  Layer(const ShardKeyPattern& pattern, bson::Timestamp now) : pattern_(pattern), now_(now) {
    end_ = pattern.Lowest();
  }

  const ShardKey& end() const { return end_; }
  void Add(ShardKey max, const ShardName& shard) {
    Chunk chunk;
    chunk.range = {end_, max};
    chunk.shard = shard;
    chunk.version = {1, static_cast<uint32_t>(chunks_.size())};
    chunk.history = {{now_, shard}};
    chunks_.push_back(std::make_shared<const Chunk>(std::move(chunk)));
    end_ = std::move(max);
  }
  Chunks Finish(const ShardName& shard) {
    if (end_ < pattern_.Highest()) {
      Add(pattern_.Highest(), shard);
    }
    return std::move(chunks_);
  }

 private:
  const ShardKeyPattern& pattern_;
  bson::Timestamp now_;
  ShardKey end_;
  Chunks chunks_;
};

// Shards in turns.
class Turns {
 public:
  explicit Turns(std::vector<ShardName> shards) : shards_(std::move(shards)) {}
  const ShardName& Next() { return shards_[next_++ % shards_.size()]; }

 private:
  std::vector<ShardName> shards_;
  size_t next_ = 0;
};

std::vector<ShardName> NamesOf(const std::vector<Shard>& shards, const std::string* zone) {
  std::vector<ShardName> names;
  std::vector<ShardName> draining;
  for (const Shard& shard : shards) {
    if (zone == nullptr || shard.IsIn(*zone)) {
      (shard.draining ? draining : names).push_back(shard.name);
    }
  }
  if (names.empty()) {
    names = std::move(draining);
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::vector<ShardName>> ShardsOfZone(const LayoutWish& wish, const std::string& zone) {
  std::vector<ShardName> names = NamesOf(wish.shards, &zone);
  if (names.empty()) {
    return Status(50973, "Cannot shard collection due to zone " + zone +
                             " which is not assigned to a shard. Please assign this zone to a "
                             "shard.");
  }
  return names;
}

Status CheckChunkCount(const ShardKeyPattern& pattern, const LayoutWish& wish) {
  if (!wish.initial_chunks.has_value()) {
    return Status::Ok();
  }
  if (!pattern.is_hashed()) {
    return Status(kInvalidOptions,
                  "numInitialChunks is not supported when the shard key is not hashed.");
  }
  if (!wish.empty) {
    return Status(kInvalidOptions,
                  "numInitialChunks is not supported when the collection is not empty.");
  }
  if (!pattern.starts_hashed() && !wish.presplit_hashed_zones) {
    return Status(kInvalidOptions,
                  "numInitialChunks needs presplitHashedZones when the shard key does not start "
                  "with its hashed field.");
  }
  const int64_t most = static_cast<int64_t>(wish.shards.size()) * kMostChunksPerShard;
  if (*wish.initial_chunks < 0 || *wish.initial_chunks > most ||
      *wish.initial_chunks > kMostChunks) {
    return Status(kInvalidOptions,
                  "numInitialChunks cannot be more than either: " + std::to_string(most) +
                      ", 8192 * number of shards; or " + std::to_string(kMostChunks));
  }
  return Status::Ok();
}

// `prefix` up to the hashed field, then the hash, then MinKey.
ShardKey HashKey(const ShardKeyPattern& pattern, bson::View prefix, int64_t hash) {
  bson::Builder out;
  for (size_t i = 0; i < pattern.parts().size(); ++i) {
    const std::string& name = pattern.parts()[i].name();
    const Value behind = i == *pattern.hashed_part() ? Value(hash) : Value::MinKey();
    out.Append(name, i < *pattern.hashed_part() ? prefix[name] : behind);
  }
  bson::Document key = out.Finish();
  return ShardKey::Of(key.view());
}

// All hashes behind `prefix` in equal parts, up to `max`; neighbours stay together.
void SpreadHashes(const ShardKeyPattern& pattern, bson::View prefix, const ShardKey& max,
                  const std::vector<ShardName>& shards, int64_t chunks, Layer* layer) {
  const int64_t together = std::max<int64_t>(chunks / static_cast<int64_t>(shards.size()), 1);
  auto shard_of = [&](int64_t chunk) {
    return shards[static_cast<size_t>(chunk / together) % shards.size()];
  };
  int64_t chunk = 0;
  for (int64_t border : HashBorders(chunks)) {
    layer->Add(HashKey(pattern, prefix, border), shard_of(chunk++));
  }
  layer->Add(max, shard_of(chunk));
}

// One chunk per zone and one per gap between them.
Result<Chunks> AlongZones(const ShardKeyPattern& pattern, const LayoutWish& wish) {
  Layer layer(pattern, wish.now);
  Turns gaps(NamesOf(wish.shards, nullptr));
  std::map<std::string, Turns> turns;
  for (const ZoneRange& zone : wish.zones.ranges()) {
    if (layer.end() < zone.range.min) {
      layer.Add(zone.range.min, gaps.Next());
    }
    ASSIGN_OR_RETURN(std::vector<ShardName> shards, ShardsOfZone(wish, zone.zone));
    layer.Add(zone.range.max, turns.try_emplace(zone.zone, std::move(shards)).first->second.Next());
  }
  return layer.Finish(gaps.Next());
}

// Whether a zone holds all hashes of each prefix it holds one of.
Status CheckPresplit(const ShardKeyPattern& pattern, const ZoneRange& zone) {
  bson::View min = zone.range.min.values.view();
  for (size_t i = *pattern.hashed_part(); i < pattern.parts().size(); ++i) {
    if (min[pattern.parts()[i].name()].type() != bson::Type::kMinKey) {
      return Status(31390,
                    "presplitHashedZones needs zones that begin with MinKey in the hashed "
                    "field and all fields behind it, unlike " +
                        zone.range.ToString());
    }
  }
  bson::View max = zone.range.max.values.view();
  const auto hashed = pattern.parts().begin() + static_cast<std::ptrdiff_t>(*pattern.hashed_part());
  const bool one_prefix =
      !pattern.starts_hashed() && std::all_of(pattern.parts().begin(), hashed, [&](const auto& p) {
        return bson::Equal(min[p.name()], max[p.name()]);
      });
  if (one_prefix) {
    return Status(31390,
                  "presplitHashedZones needs zones whose ends differ before the hashed "
                  "field, unlike " +
                      zone.range.ToString());
  }
  return Status::Ok();
}

Result<int64_t> ChunksPerShard(const LayoutWish& wish) {
  std::set<ShardName> shards;
  for (const ZoneRange& zone : wish.zones.ranges()) {
    ASSIGN_OR_RETURN(std::vector<ShardName> names, ShardsOfZone(wish, zone.zone));
    shards.insert(names.begin(), names.end());
  }
  const auto count = static_cast<int64_t>(shards.size());
  const int64_t wanted = wish.initial_chunks.value_or(0);
  return wanted == 0 ? 1 : (wanted + count - 1) / count;
}

// The hashes of each zone divided among its shards.
Result<Chunks> PresplitZones(const ShardKeyPattern& pattern, const LayoutWish& wish) {
  if (!wish.empty || wish.zones.empty() || !pattern.is_hashed()) {
    return Status(31387,
                  "'presplitHashedZones' is only supported when the collection is empty, "
                  "zones are set up and shard key pattern has a hashed field");
  }
  const auto& zones = wish.zones.ranges();
  if (pattern.starts_hashed() &&
      (zones.size() != 1 || zones.front().range != pattern.Everything())) {
    return Status(31412,
                  "For hashed prefix shard keys, 'presplitHashedZones' is only supported "
                  "when there is a single zone defined which covers entire shard key range");
  }
  ASSIGN_OR_RETURN(int64_t per_shard, ChunksPerShard(wish));
  Layer layer(pattern, wish.now);
  Turns gaps(NamesOf(wish.shards, nullptr));
  for (const ZoneRange& zone : zones) {
    RETURN_IF_ERROR(CheckPresplit(pattern, zone));
    if (layer.end() < zone.range.min) {
      layer.Add(zone.range.min, gaps.Next());
    }
    ASSIGN_OR_RETURN(std::vector<ShardName> shards, ShardsOfZone(wish, zone.zone));
    SpreadHashes(pattern, zone.range.min.values.view(), zone.range.max, shards,
                 per_shard * static_cast<int64_t>(shards.size()), &layer);
  }
  return layer.Finish(gaps.Next());
}

}  // namespace

std::vector<int64_t> HashBorders(int64_t chunks) {
  std::vector<int64_t> borders;
  if (chunks == 1) {
    return borders;
  }
  const int64_t width = std::numeric_limits<int64_t>::max() / chunks * 2;
  int64_t next = chunks % 2 == 0 ? width : width / 2;
  if (chunks % 2 == 0) {
    borders.push_back(0);
  }
  for (int64_t pair = 0; pair < (chunks - 1) / 2; ++pair, next += width) {
    borders.push_back(next);
    borders.push_back(-next);
  }
  std::sort(borders.begin(), borders.end());
  return borders;
}

Result<Chunks> InitialLayout(const ShardKeyPattern& pattern, const LayoutWish& wish) {
  RETURN_IF_ERROR(CheckChunkCount(pattern, wish));
  if (wish.presplit_hashed_zones) {
    return PresplitZones(pattern, wish);
  }
  if (wish.empty && !wish.zones.empty()) {
    return AlongZones(pattern, wish);
  }
  Layer layer(pattern, wish.now);
  if (wish.empty && pattern.starts_hashed()) {
    const std::vector<ShardName> shards = NamesOf(wish.shards, nullptr);
    const int64_t wanted = wish.initial_chunks.value_or(0);
    SpreadHashes(pattern, bson::View(), pattern.Highest(), shards,
                 wanted == 0 ? static_cast<int64_t>(shards.size()) : wanted, &layer);
  }
  return layer.Finish(wish.primary);
}

}  // namespace quire::placement
