// SPDX-License-Identifier: Apache-2.0
#include "engine/read/find_in_oplog.h"

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/compare.h"
#include "engine/read/pipeline_run.h"

namespace quire::engine {

Result<std::shared_ptr<run::Cursor>> FindInOplog(const Operation& operation,
                                                 const request::FindRequest& request) {
  bson::Document pipeline = PipelineOf(StagesOf(request));
  auto run = std::make_unique<PipelineRun>(operation, pipeline::Namespace{"local", "oplog.rs"},
                                           pipeline, true);
  bson::Value natural = request.sort["$natural"];
  if (natural.missing() && request.hint.is_document()) {
    natural = request.hint.AsDocument()["$natural"];
  }
  bool backwards = natural.is_number() && bson::Compare(natural, bson::Value(0)) < 0;
  if (backwards && request.tailable) {
    return Status(kBadValue, "tailable cursors read forwards");
  }
  if (backwards) {
    run->ReadBackwards();
  }
  RETURN_IF_ERROR(run->Open(operation, request.collation, request.let, bson::Value()));
  auto cursor = std::make_shared<run::Cursor>();
  cursor->ns = "local.oplog.rs";
  cursor->tailable = request.tailable;
  cursor->await_data = request.await_data;
  cursor->no_timeout = request.no_cursor_timeout;
  if (operation.session != nullptr) {
    cursor->lsid = operation.session->lsid;
  }
  cursor->source = std::move(run);
  return cursor;
}

}  // namespace quire::engine
