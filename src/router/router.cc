// SPDX-License-Identifier: Apache-2.0
#include "router/router.h"

#include "base/try.h"
#include "router/accounts.h"
#include "router/backend.h"
#include "router/config/mirror.h"
#include "router/rows.h"

namespace quire::router {

namespace {
constexpr size_t kWorkers = 16;
}  // namespace

Router::Router(engine::Engine* engine, command::ServerInfo info)
    : Commands(engine, std::move(info), Rows(), std::make_unique<RouterBackend>(this, &core_)),
      core_(this) {}

Router::~Router() { Disconnect(); }

Status Router::Connect(RouterOptions options) {
  store_ = std::move(options.store);
  ASSIGN_OR_RETURN(pool_, peer::Pool::Start(std::move(options.peers)));
  lanes_ = std::make_unique<Lanes>(pool_.get());
  ASSIGN_OR_RETURN(members_,
                   Members::Start(pool_.get(), [lanes = lanes_.get()](const std::string& host) {
                     lanes->GiveUp(host);
                   }));
  remote_ = std::make_unique<Remote>(
      Remote{*lanes_, *members_, [this](bson::View reply) { core_.NoteReply(reply); }});
  core_.remote = remote_.get();
  CatalogOptions catalog;
  catalog.store = store_.get();
  catalog.cluster = options.cluster;
  catalog.self = info().host;
  catalog.on_shards = [this](const auto& shards) { members_->SetShards(shards); };
  catalog.now = [this] { return engine().clock().Tick(); };
  ASSIGN_OR_RETURN(catalog_, Catalog::Start(std::move(catalog)));
  core_.catalog = catalog_.get();
  ASSIGN_OR_RETURN(workers_, Workers::Start(kWorkers));
  core_.workers = workers_.get();
  mirror_ = std::make_unique<Mirror>(&engine(), catalog_.get());
  core_.mirror = mirror_.get();
  ASSIGN_OR_RETURN(accounts_, Accounts::Start(&core_));
  core_.accounts = accounts_.get();
  return Status::Ok();
}

void Router::Disconnect() {
  engine().cursors().Clear();  // they hold cursors of shards
  workers_.reset();
  accounts_.reset();
  catalog_.reset();
  members_.reset();
  pool_.reset();  // answers everything that is under way
  lanes_.reset();
}

}  // namespace quire::router
