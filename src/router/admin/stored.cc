// SPDX-License-Identifier: Apache-2.0
#include "router/admin/stored.h"

#include "base/error_codes.h"
#include "router/core.h"

namespace quire::router {

Status RunOnShards(command::Invocation& invocation) {
  return {kInternalError, std::string(invocation.call.command.name) + " ran without its routine"};
}

Task<Status> RunStored(Routed& request, StoredWork work) {
  Catalog& catalog = *request.core.catalog;
  std::shared_ptr<Lookup<bson::Document>> done = catalog.Run(
      [&catalog, work = std::move(work)](coord::Store& store) -> Result<bson::Document> {
        if (Status status = work(store, catalog); !status.ok()) {
          return status;
        }
        return bson::Document();
      });
  Status waited = co_await request.Until(done);
  CO_RETURN_IF_ERROR(waited);
  Result<bson::Document> result = done->Get();
  co_return result.ok() ? Status::Ok() : result.status();
}

Task<Status> AnswerWithNewShards(Routed& request, std::shared_ptr<Lookup<bson::Document>> change) {
  Status changed = co_await request.Until(change);
  CO_RETURN_IF_ERROR(changed);
  Result<bson::Document> reply = change->Get();
  CO_RETURN_IF_ERROR(reply.status());
  std::shared_ptr<Lookup<bool>> again = request.core.catalog->ReloadShards();
  Status reloaded = co_await request.Until(again);
  CO_RETURN_IF_ERROR(reloaded);
  request.call().reply.AppendFields(*reply);
  co_return Status::Ok();
}

}  // namespace quire::router
