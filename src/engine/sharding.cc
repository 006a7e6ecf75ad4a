// SPDX-License-Identifier: Apache-2.0
#include "engine/sharding.h"

#include <algorithm>
#include <utility>

namespace quire::engine {

namespace {
thread_local const Sharding* router_scope = nullptr;
}  // namespace

RouterScope::RouterScope(const Sharding* sharding)
    : outer_(std::exchange(router_scope, sharding)) {}
RouterScope::~RouterScope() { router_scope = outer_; }
const Sharding* RouterScope::Current() { return router_scope; }

std::shared_ptr<const OwnedPlacement> CurrentPlacement(std::string_view ns) {
  return router_scope == nullptr ? nullptr : router_scope->PlacementOf(ns);
}

std::shared_ptr<const exec::Ownership> CurrentOwnership(std::string_view ns) {
  return OwnershipOf(CurrentPlacement(ns));
}

bool OwnedPlacement::Owns(const placement::ShardKey& key) const {
  auto after = std::upper_bound(
      owned.begin(), owned.end(), key,
      [](const placement::ShardKey& k, const placement::KeyRange& range) { return k < range.min; });
  if (after == owned.begin()) {
    return false;
  }
  const placement::KeyRange& range = *std::prev(after);
  return key < range.max || key == pattern.Highest();
}

namespace {

class PlacedRows final : public exec::Ownership {
 public:
  explicit PlacedRows(std::shared_ptr<const OwnedPlacement> placement)
      : placement_(std::move(placement)) {
    for (const auto& part : placement_->pattern.parts()) {
      paths_.push_back(part.name());
    }
  }
  // A document without a key of its own (an array lies in its path) is nobody's.
  bool Owns(bson::View document) const override {
    const Result<placement::ShardKey> key = placement_->pattern.KeyOf(document);
    return key.ok() && placement_->Owns(*key);
  }
  const std::vector<std::string>& paths() const override { return paths_; }

 private:
  std::shared_ptr<const OwnedPlacement> placement_;
  std::vector<std::string> paths_;
};

}  // namespace

std::shared_ptr<const exec::Ownership> OwnershipOf(
    std::shared_ptr<const OwnedPlacement> placement) {
  return placement == nullptr ? nullptr : std::make_shared<PlacedRows>(std::move(placement));
}

}  // namespace quire::engine
