// SPDX-License-Identifier: Apache-2.0
#include "engine/write/bulk_write.h"

#include "base/error_codes.h"
#include "base/try.h"
#include "engine/collection_uuid.h"
#include "engine/write/write.h"
#include "engine/write/write_unit.h"

namespace quire::engine {

namespace {

using request::BulkOperation;

class Bulk {
 public:
  Bulk(const Operation& operation, const request::BulkWriteRequest& request,
       request::OpSummary* summary)
      : operation_(operation), request_(request), summary_(summary) {}

  Result<request::BulkWriteReply> Run() {
    size_t at = 0;
    while (at < request_.operations.size() && !stopped_) {
      ASSIGN_OR_RETURN(at, RunFrom(at));
    }
    return std::move(result_);
  }

 private:
  // Runs the operation at `at`, with the inserts into the same collection that follow it; gives
  // the next to run.
  Result<size_t> RunFrom(size_t at) {
    const BulkOperation& op = request_.operations[at];
    const request::BulkTarget& target = request_.targets[op.target];
    Status right = CheckCollectionUuid(operation_, target.ns, target.collection_uuid);
    if (!right.ok()) {
      Add(at, right);
      return at + 1;
    }
    if (op.kind == BulkOperation::Kind::kInsert) {
      return RunInserts(at, target.ns);
    }
    Operation own = From(at);
    Result<request::WriteReply> done = op.kind == BulkOperation::Kind::kUpdate
                                           ? RunUpdate(own, op, target.ns)
                                           : RunDelete(own, op, target.ns);
    if (!done.ok() && !IsDocumentError(done.status())) {
      return done.status();
    }
    AddDone(at, done);
    return at + 1;
  }

  Operation From(size_t at) const {
    Operation own = operation_;
    own.first_statement += static_cast<int32_t>(at);
    own.statement_ids =
        at < own.statement_ids.size() ? own.statement_ids.subspan(at) : std::span<const int32_t>();
    return own;
  }

  Result<size_t> RunInserts(size_t at, const std::string& ns) {
    request::InsertRequest insert;
    insert.ordered = request_.ordered;
    insert.bypass_validation = request_.bypass_validation;
    insert.keep_empty_timestamps = request_.keep_empty_timestamps;
    size_t end = at;
    while (end < request_.operations.size() &&
           request_.operations[end].kind == BulkOperation::Kind::kInsert &&
           request_.operations[end].target == request_.operations[at].target) {
      insert.documents.push_back(request_.operations[end++].document);
    }
    ASSIGN_OR_RETURN(request::WriteReply done, Insert(From(at), ns, insert));
    auto error = done.errors.begin();
    for (size_t i = at; i < end && !stopped_; ++i) {
      if (error != done.errors.end() && error->index == static_cast<int32_t>(i - at)) {
        Add(i, (error++)->status);
        continue;
      }
      // What refuses the collection is told once and holds for every document.
      bool refused = done.n == 0 && done.errors.size() == 1;
      Add(i, refused ? done.errors.front().status : Status::Ok());
    }
    Retried(done);
    return end;
  }

  Result<request::WriteReply> RunUpdate(const Operation& own, const BulkOperation& op,
                                        const std::string& ns) {
    request::UpdateRequest update;
    update.updates.push_back(op.update);
    update.bypass_validation = request_.bypass_validation;
    update.keep_empty_timestamps = request_.keep_empty_timestamps;
    update.let = request_.let;
    return Update(own, ns, update, summary_);
  }

  Result<request::WriteReply> RunDelete(const Operation& own, const BulkOperation& op,
                                        const std::string& ns) {
    request::DeleteRequest remove;
    remove.deletes.push_back(op.remove);
    remove.let = request_.let;
    return Delete(own, ns, remove, summary_);
  }

  void AddDone(size_t at, const Result<request::WriteReply>& done) {
    if (!done.ok()) {
      Add(at, done.status());
      return;
    }
    Add(at, done->errors.empty() ? Status::Ok() : done->errors.front().status);
    request::BulkItem& item = result_.items.back();
    item.n = done->n;
    item.modified = done->modified;
    if (!done->upserted.empty()) {
      item.upserted = done->upserted.front().id;
    }
    Retried(*done);
  }

  void Add(size_t at, const Status& status) {
    request::BulkItem item;
    item.index = static_cast<int32_t>(at);
    item.kind = request_.operations[at].kind;
    item.status = status;
    item.n = status.ok() && item.kind == BulkOperation::Kind::kInsert ? 1 : 0;
    result_.items.push_back(std::move(item));
    stopped_ = !status.ok() && (request_.ordered || operation_.in_transaction);
  }

  void Retried(const request::WriteReply& done) {
    result_.retried.insert(result_.retried.end(), done.retried.begin(), done.retried.end());
  }

  const Operation& operation_;
  const request::BulkWriteRequest& request_;
  request::OpSummary* summary_;
  request::BulkWriteReply result_;
  bool stopped_ = false;
};

Status CheckRetryable(const Operation& operation, const request::BulkWriteRequest& request) {
  for (const BulkOperation& op : request.operations) {
    bool multi = (op.kind == BulkOperation::Kind::kUpdate && op.update.multi) ||
                 (op.kind == BulkOperation::Kind::kDelete && op.remove.limit == 0);
    if (operation.retryable && multi) {
      return {kInvalidOptions, "Cannot use retryable writes with multi=true"};
    }
  }
  return Status::Ok();
}

}  // namespace

Result<request::BulkWriteReply> BulkWrite(const Operation& operation,
                                          const request::BulkWriteRequest& request,
                                          request::OpSummary* summary) {
  RETURN_IF_ERROR(CheckRetryable(operation, request));
  const auto run = [&](const Operation& own) { return Bulk(own, request, summary).Run(); };
  return request.operations.size() > 1 ? WithOneSync(operation, run) : run(operation);
}

}  // namespace quire::engine
