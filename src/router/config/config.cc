// SPDX-License-Identifier: Apache-2.0
//
// Commands on the database config: run on the router's own engine, which shows what the store says.
#include "router/config/config.h"

#include "base/error_codes.h"
#include "bson/number.h"
#include "request/route.h"
#include "router/config/mirror.h"
#include "router/core.h"

namespace quire::router {

namespace {

Status NotOf(const Result<bson::Document>& result) {
  return result.ok() ? Status::Ok() : result.status();
}

// What the command names; empty: perhaps several.
std::string CollectionOf(Routed& request) {
  const bool pipeline = request.call().command.Is(request::kRunsPipeline);
  const bson::Value target = request.body.view().front().value();
  return target.is_string() && !pipeline ? std::string(target.AsString()) : "";
}

}  // namespace

Task<Status> RouteConfig(Routed& request) {
  Core& core = request.core;
  const std::string name = CollectionOf(request);
  std::shared_ptr<Lookup<bson::Document>> refreshed =
      core.catalog->Run([&core, name](coord::Store& store) -> Result<bson::Document> {
        if (Status status = core.mirror->Refresh(store, name); !status.ok()) {
          return status;
        }
        return bson::Document();
      });
  Status waited = co_await request.Until(refreshed);
  CO_RETURN_IF_ERROR(waited);
  CO_RETURN_IF_ERROR(NotOf(refreshed->Get()));
  CO_RETURN_IF_ERROR(request.RunHere());
  if (!request.call().command.Is(request::kWrite) || !request.call().write_concern_error.empty()) {
    co_return Status::Ok();
  }
  const bson::Value target = request.body.view().front().value();
  const std::string written(target.is_string() ? target.AsString() : "");
  std::shared_ptr<Lookup<bson::Document>> stored =
      core.catalog->Run([&core, written](coord::Store& store) -> Result<bson::Document> {
        if (Status status = core.mirror->Store(store, written); !status.ok()) {
          return status;
        }
        return bson::Document();
      });
  Status done = co_await request.Until(stored);
  CO_RETURN_IF_ERROR(done);
  co_return NotOf(stored->Get());
}

}  // namespace quire::router
