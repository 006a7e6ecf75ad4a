// SPDX-License-Identifier: Apache-2.0
#include "router/data/merged.h"

#include <algorithm>

#include "base/try.h"
#include "request/cursor_reply.h"
#include "router/core.h"
#include "router/cursor/remote_rows.h"
#include "router/remote/end_cursor.h"
#include "run/batch.h"

namespace quire::router {

std::vector<OpenedCursor> TakeOpened(Routed& request, std::vector<Heard> heard) {
  std::vector<OpenedCursor> opened;
  for (Heard& one : heard) {
    const bson::Value time = (*one.reply)["operationTime"];
    if (time.type() == bson::Type::kTimestamp) {
      request.call().operation_time = std::max(request.call().operation_time, time.AsTimestamp());
    }
    opened.push_back({one.shard, one.host, *std::move(one.reply)});
  }
  return opened;
}

Status OpenMerged(Routed& request, std::vector<Heard> heard, const MergeOptions& merge) {
  auto cursor = std::make_shared<run::Cursor>();
  cursor->ns = merge.ns;
  cursor->lsid = request.call().generic.lsid;
  cursor->no_timeout = merge.no_timeout;
  RemoteRowsOptions options;
  options.database = std::string(DatabaseOf(merge.ns));
  options.collection = merge.ns.substr(options.database.size() + 1);
  options.session = request.SessionFields();
  options.sorted = merge.sorted;
  options.wrapped = merge.sorted;
  options.allows_partial = merge.allows_partial;
  options.skip = merge.skip;
  options.limit = merge.limit;
  options.batch_size = merge.batch_size;
  options.live = &request.core.cursors;
  options.reads_ahead = !request.call().generic.in_transaction();
  cursor->source = std::make_unique<RemoteRows>(&request.core.lanes(), std::move(options),
                                                TakeOpened(request, std::move(heard)));
  run::FirstBatch first;
  first.size = merge.batch_size;
  first.single = merge.single_batch;
  first.partial = merge.partial;
  first.needs = request.invocation.needs;
  first.at_cluster_time = request.snapshot_time;
  return run::AppendFirstBatch(request.core.engine().cursors(), std::move(cursor), first,
                               request.call());
}

void KillOpened(Routed& request, const std::vector<Heard>& heard) {
  for (const Heard& one : heard) {
    if (!one.reply.ok()) {
      continue;
    }
    auto cursor = request::CursorReply::Read(*one.reply);
    if (!cursor.ok() || cursor->id == 0) {
      continue;
    }
    const bson::Document session = request.SessionFields();
    const std::string database(DatabaseOf(cursor->ns));
    EndCursor(&request.core.lanes(), one.host, database, cursor->ns.substr(database.size() + 1),
              cursor->id, session);
  }
}

namespace {

// Until the source has a row, or none any more.
class RowsArrived final : public Wait {
 public:
  explicit RowsArrived(run::RowSource* source)
      : source_(*source), listener_(source->News()->Listen([this] { rung.Ring(); })) {}
  bool ready() override { return source_.HasNews(); }

 private:
  run::RowSource& source_;
  std::unique_ptr<Bell::Listener> listener_;
};

}  // namespace

Task<Result<bool>> NextRow(Routed& request, run::Cursor& cursor, exec::Row* row) {
  while (true) {
    Result<bool> found = cursor.source->Next(request.op(), row);
    if (!found.ok() || *found || !cursor.source->Pending()) {
      co_return found;
    }
    auto arrived = std::make_shared<RowsArrived>(cursor.source.get());
    Status waited = co_await request.Until(arrived);
    CO_RETURN_IF_ERROR(waited);
  }
}

}  // namespace quire::router
