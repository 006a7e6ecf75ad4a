// SPDX-License-Identifier: Apache-2.0
//
// config.* as documents of the router's own engine, brought up to the coordination store before
// they are read.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "coord/coord.h"
#include "engine/engine.h"
#include "quire/bson.h"
#include "quire/status.h"
#include "router/catalog/catalog.h"

namespace quire::router {

// Used by the catalog's thread (Catalog::Run).
class Mirror {
 public:
  // Both outlive it.
  Mirror(engine::Engine* engine, Catalog* catalog) : engine_(*engine), catalog_(*catalog) {}

  // Brings one collection ("shards") up to date; "": all of them.
  Status Refresh(coord::Store& store, std::string_view collection);
  // The collection was written by a client: puts what changed into the store. Only settings, and of
  // collections what tells the balancer about them. Error: IllegalOperation for anything else, and
  // the engine is as it was.
  Status Store(coord::Store& store, std::string_view collection);

 private:
  using Documents = std::map<std::string, bson::Document>;  // by the bytes of their _id

  Result<Documents> Wanted(coord::Store& store, std::string_view collection);
  Status Apply(const std::string& ns, Documents wanted);
  Status StoreSettings(coord::Store& store, const Documents& now);
  Status StoreCollections(coord::Store& store, const Documents& now);

  engine::Engine& engine_;
  Catalog& catalog_;
  std::map<std::string, Documents> shown_;  // by namespace
};

}  // namespace quire::router
