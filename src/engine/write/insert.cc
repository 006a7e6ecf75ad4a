// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/error_codes.h"
#include "base/try.h"
#include "engine/write/write.h"
#include "engine/write/write_unit.h"
#include "store/collection.h"

namespace quire::engine {

namespace {

// Which statements of a retryable insert were done, remembered as runs.
class StatementLog {
 public:
  explicit StatementLog(const Operation& operation) : operation_(operation) {}

  bool Remembered(int32_t i) const {
    return operation_.retryable &&
           operation_.session->Remembered(operation_.StatementId(i)) != nullptr;
  }
  void Done(int32_t i) {
    int32_t id = operation_.StatementId(i);
    if (!runs_.empty() && runs_.back().second == id - 1) {
      runs_.back().second = id;
    } else {
      runs_.emplace_back(id, id);
    }
  }
  Status Write(store::Transaction& txn, std::string_view ns) {
    if (!operation_.retryable) {
      return Status::Ok();
    }
    if (operation_.before_commit && !runs_.empty()) {
      RETURN_IF_ERROR(operation_.before_commit());
    }
    for (auto [first, last] : runs_) {
      RETURN_IF_ERROR(operation_.session->Remember(txn, ns, first, last, bson::Document()));
    }
    return Status::Ok();
  }

 private:
  const Operation& operation_;
  std::vector<std::pair<int32_t, int32_t>> runs_;
};

Status InsertOne(const Operation& operation, const request::InsertRequest& request,
                 store::Transaction& txn, const store::CollectionInfo& collection,
                 bson::View document) {
  bson::Document storage;
  ASSIGN_OR_RETURN(bson::View prepared,
                   PrepareForInsert(operation, document, request.keep_empty_timestamps, &storage));
  if (!request.bypass_validation) {
    RETURN_IF_ERROR(CheckValidator(operation, collection, prepared, nullptr));
  }
  // The request outlives every transaction that ends with it.
  const bool outlives = prepared.data() == document.data() && !operation.in_transaction;
  const store::InsertHints hints{.outlives = outlives,
                                 .one_of_many = request.documents.size() >= store::kManyInserts};
  RETURN_IF_ERROR(store::Insert(txn, collection, prepared, hints).status());
  if (collection.capped) {
    RETURN_IF_ERROR(store::TrimCapped(txn, collection));
    txn.OnCommit([state = collection.state] { state->NotifyInsert(); });
  }
  return Status::Ok();
}

size_t BytesOf(const std::vector<bson::View>& documents) {
  size_t bytes = 0;
  for (const bson::View& document : documents) {
    bytes += document.bytes().size();
  }
  return bytes;
}

// The collection, made when there is none, if it takes inserts here.
Result<store::CollectionPtr> InsertableCollection(const Operation& operation,
                                                  const std::string& ns) {
  ASSIGN_OR_RETURN(store::CollectionPtr collection, WritableCollection(operation, ns, true));
  if (operation.in_transaction && collection->capped) {
    return Status(kOperationNotSupportedInTransaction,
                  "Collection '" + ns +
                      "' is a capped collection. Writes in transactions are not "
                      "allowed on capped collections.");
  }
  return collection;
}

// Inserts in one commit what can be inserted.
Result<request::WriteReply> InsertTogether(const Operation& operation, const std::string& ns,
                                           const request::InsertRequest& request) {
  request::WriteReply result;
  Result<store::CollectionPtr> collection = InsertableCollection(operation, ns);
  if (!collection.ok()) {
    if (!IsDocumentError(collection.status())) {
      return collection.status();
    }
    result.errors.push_back({0, collection.status()});
    return result;
  }
  auto count = static_cast<int32_t>(request.documents.size());
  bool alone = count == 1;
  auto body = [&](store::Transaction& txn, const store::CollectionPtr& held) -> Status {
    const store::CollectionInfo& info = *held;
    result = request::WriteReply();
    StatementLog log(operation);
    if (!alone && info.log != nullptr) {
      txn.changes(*info.log).Reserve(
          request.documents.size(), BytesOf(request.documents),
          request.documents.size() >= store::kManyInserts && !info.capped && !info.clustered);
    }
    for (int32_t i = 0; i < count; ++i) {
      if (log.Remembered(i)) {
        ++result.n;
        result.retried.push_back(operation.StatementId(i));
        continue;
      }
      RETURN_IF_ERROR(operation.op.CheckInterrupt());
      if (!alone) {
        txn.SetSavepoint();
      }
      const bson::View document = request.documents[static_cast<size_t>(i)];
      Status inserted = InsertOne(operation, request, txn, info, document);
      if (inserted.ok()) {
        if (!alone) {
          txn.ReleaseSavepoint();
        }
        ++result.n;
        log.Done(i);
        continue;
      }
      if (alone || !IsDocumentError(inserted)) {
        return inserted;
      }
      RETURN_IF_ERROR(txn.RollbackToSavepoint());
      result.errors.push_back({i, inserted});
      if (request.ordered || operation.in_transaction) {
        break;
      }
    }
    return log.Write(txn, info.ns());
  };
  Status status = RunWrite(operation, *collection, body);
  while (IsGone(status, operation)) {
    RETURN_IF_ERROR(operation.op.CheckInterruptNow());
    ASSIGN_OR_RETURN(*collection, InsertableCollection(operation, ns));
    status = RunWrite(operation, *collection, body);
  }
  if (!status.ok()) {
    if (!IsDocumentError(status)) {
      return status;
    }
    result = request::WriteReply();
    result.errors.push_back({0, status});
  }
  operation.engine.metrics.inserted += result.n;
  return result;
}

// MongoDB's way, for those who look at single commits: in groups of a bounded size, and a group
// whose commit is refused document by document.
class GroupedInsert {
 public:
  GroupedInsert(const Operation& operation, const std::string& ns,
                const request::InsertRequest& request)
      : operation_(operation), ns_(ns), request_(request) {}

  Result<request::WriteReply> Run() {
    const size_t count = request_.documents.size();
    for (size_t first = 0; first < count && !stopped_;) {
      const size_t end = GroupEnd(first);
      ASSIGN_OR_RETURN(request::WriteReply result, InsertRange(first, end));
      if (!refused_.ok() && end - first > 1) {
        for (size_t i = first; i < end && !stopped_; ++i) {
          ASSIGN_OR_RETURN(result, InsertRange(i, i + 1));
          Add(std::move(result), i);
        }
      } else {
        Add(std::move(result), first);
      }
      first = end;
    }
    return std::move(total_);
  }

 private:
  size_t GroupEnd(size_t first) const {
    constexpr size_t kMostDocuments = 500;
    constexpr size_t kMostBytes = 256 * 1024;
    size_t end = first;
    for (size_t bytes = 0;
         end < request_.documents.size() && end - first < kMostDocuments && bytes < kMostBytes;
         ++end) {
      bytes += request_.documents[end].bytes().size();
    }
    return end;
  }

  // `refused_` is the error of the commit, when it is one.
  Result<request::WriteReply> InsertRange(size_t first, size_t end) {
    Operation part = operation_;
    part.first_statement += static_cast<int32_t>(first);
    part.statement_ids = part.statement_ids.subspan(std::min(first, part.statement_ids.size()));
    refused_ = Status::Ok();
    part.before_commit = [this] { return refused_ = operation_.before_commit(); };
    request::InsertRequest documents = request_;
    documents.documents.assign(request_.documents.begin() + static_cast<ptrdiff_t>(first),
                               request_.documents.begin() + static_cast<ptrdiff_t>(end));
    Result<request::WriteReply> result = InsertTogether(part, ns_, documents);
    const bool ends_command = end - first == 1 && !IsDocumentError(refused_);
    if (refused_.ok() || ends_command) {
      return result;
    }
    request::WriteReply none;
    none.errors.push_back({0, refused_});
    return none;
  }

  void Add(request::WriteReply part, size_t first) {
    stopped_ = request_.ordered && !part.errors.empty();
    total_.Add(std::move(part),
               [first](int32_t index) { return index + static_cast<int32_t>(first); });
  }

  const Operation& operation_;
  const std::string& ns_;
  const request::InsertRequest& request_;
  Status refused_ = Status::Ok();
  request::WriteReply total_;
  bool stopped_ = false;
};

}  // namespace

Result<request::WriteReply> Insert(const Operation& operation, const std::string& ns,
                                   const request::InsertRequest& request) {
  return operation.before_commit ? GroupedInsert(operation, ns, request).Run()
                                 : InsertTogether(operation, ns, request);
}

}  // namespace quire::engine
