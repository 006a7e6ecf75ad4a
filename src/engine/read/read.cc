// SPDX-License-Identifier: Apache-2.0
#include "engine/read/read.h"

#include <algorithm>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/number.h"
#include "engine/read/aggregate.h"
#include "engine/read/find_in_oplog.h"
#include "engine/sharding.h"

namespace quire::engine {

namespace {

// The rows of a find. A scan in natural order goes on from the last record it gave: between
// getMores it holds no snapshot, and later batches show later writes.
class FindSource : public run::RowSource {
 public:
  FindSource(const Operation& operation, const request::FindRequest& request,
             std::unique_ptr<PlannedQuery> query, store::CollectionPtr collection)
      : engine_(operation.engine),
        collection_(std::move(collection)),
        ownership_(collection_ == nullptr ? nullptr : CurrentOwnership(collection_->ns())),
        query_(std::move(query)),
        began_(query_->context().now),
        cluster_time_(query_->context().cluster_time) {
    tailable_ = request.tailable;
    resumable_ = !operation.in_transaction && operation.snapshot == nullptr &&
                 collection_ != nullptr && !collection_->clustered && request.sort.empty() &&
                 request.hint.missing() && request.let.empty() && !request.return_key &&
                 query_->plan().Summary() == "COLLSCAN";
    if (tailable_ || resumable_) {
      filter_ = bson::Document(request.filter);
      projection_ = bson::Document(request.projection);
      collation_ = bson::Document(request.collation);
      show_record_id_ = request.show_record_id;
      limit_ = request.limit;
      seen_ = collection_->state->inserts();
    }
  }

  Result<bool> Next(OpContext& op, exec::Row* row) override {
    if (query_ == nullptr) {
      RETURN_IF_ERROR(Refresh(op));
    }
    if (limit_ > 0 && given_ == limit_) {
      return false;
    }
    ASSIGN_OR_RETURN(bool more, query_->Next(op, row));
    if (more) {
      last_ = row->meta.record_id;
      ++given_;
    }
    return more;
  }

  bool AtEnd() const override {
    return query_ != nullptr && ((limit_ > 0 && given_ == limit_) || query_->AtEnd());
  }

  Status Refresh(OpContext& op) override {
    Operation operation{engine_, op};
    operation.began = began_;
    operation.cluster_time = cluster_time_;
    plan::QuerySpec spec;
    spec.collection = collection_;
    spec.filter_spec = filter_;
    spec.projection_spec = projection_;
    spec.collation = collation_;
    spec.show_record_id = show_record_id_;
    spec.tailable = tailable_;
    spec.ownership = ownership_;
    spec.hint = NaturalHint();
    spec.has_scan_after = last_ != 0;
    spec.scan_after = last_;
    seen_ = collection_->state->inserts();
    KeepTotals();
    ASSIGN_OR_RETURN(query_, PlannedQuery::Make(operation, std::move(spec), nullptr));
    return Status::Ok();
  }

  void Rest() override {
    if (resumable_ && last_ != 0) {
      summary_ = query_->plan().Summary();
      KeepTotals();
      query_.reset();
    }
  }

  bool HoldsSnapshot() const override { return query_ != nullptr; }
  void Finish() override {
    summary_ = query_->plan().Summary();
    KeepTotals();
    query_.reset();
  }

  Bell* News() override { return tailable_ ? &collection_->state->news : nullptr; }
  bool HasNews() const override {
    return collection_->state->inserts() != seen_ || collection_->state->dropped;
  }

  Status Check() const override {
    if (collection_ == nullptr) {
      return Status::Ok();
    }
    if (collection_->state->dropped) {
      return {kQueryPlanKilled,
              "collection dropped. UUID changed or namespace was dropped: " + collection_->ns()};
    }
    store::CollectionPtr now = engine_.catalog().Find(collection_->ns());
    if (now == nullptr || now->uuid != collection_->uuid) {
      return {kQueryPlanKilled, "collection renamed from '" + collection_->ns() + "'"};
    }
    return Status::Ok();
  }

  std::string PlanSummary() const override {
    return query_ == nullptr ? summary_ : query_->plan().Summary();
  }
  exec::Counters Totals() const override {
    exec::Counters all = query_ == nullptr ? exec::Counters() : query_->plan().Totals();
    all.keys_examined += keys_before_;
    all.docs_examined += docs_before_;
    return all;
  }

 private:
  // A scan stays one, whatever indexes are made meanwhile.
  static bson::Value NaturalHint() {
    static const bson::Document hint = bson::Builder().Append("$natural", 1).Finish();
    return bson::Value(hint.view());
  }
  // The query is about to go, and what it counted with it.
  void KeepTotals() {
    const exec::Counters all = Totals();
    keys_before_ = query_ == nullptr ? keys_before_ : all.keys_examined;
    docs_before_ = query_ == nullptr ? docs_before_ : all.docs_examined;
  }

  Engine& engine_;
  store::CollectionPtr collection_;
  const std::shared_ptr<const exec::Ownership> ownership_;  // as it was when the cursor was opened
  uint64_t keys_before_ = 0;                                // examined by queries before this one
  uint64_t docs_before_ = 0;
  bson::Document filter_;
  bson::Document projection_;
  bson::Document collation_;
  bool show_record_id_ = false;
  bool tailable_ = false;
  bool resumable_ = false;
  int64_t limit_ = 0;
  int64_t given_ = 0;
  std::string summary_;  // of the plan whose query rests
  std::unique_ptr<PlannedQuery> query_;
  const bson::Date began_;              // $$NOW in all batches
  const bson::Timestamp cluster_time_;  // and $$CLUSTER_TIME
  store::RecordId last_ = 0;
  uint64_t seen_ = 0;
};

}  // namespace

Result<ViewRead> FindOnView(const std::string& ns, const request::FindRequest& request) {
  if (request.tailable || request.return_key || request.show_record_id || !request.min.empty() ||
      !request.max.empty()) {
    return Status(kInvalidPipelineOperator, "Option not supported on views: " + ns);
  }
  const bool natural = request.sort.Has("$natural") && request.hint.missing();
  return ViewRead{StagesOf(request), request.collation, request.let,
                  natural ? bson::Value(request.sort) : request.hint};
}

void Summarise(const PlannedQuery& query, request::OpSummary* summary) {
  exec::Counters totals = query.plan().Totals();
  summary->plan = query.plan().Summary();
  summary->keys_examined = totals.keys_examined;
  summary->docs_examined = totals.docs_examined;
}

plan::QuerySpec FindQuery(const request::FindRequest& request, store::CollectionPtr collection) {
  plan::QuerySpec spec;
  spec.collection = std::move(collection);
  spec.filter_spec = request.filter;
  spec.projection_spec = request.projection;
  spec.hint = request.hint;
  // Sorting by $natural asks for the scan's own order, as the hint of that name does.
  if (request.sort.Has("$natural") && request.sort.Count() == 1 && request.hint.missing()) {
    spec.hint = bson::Value(request.sort);
  } else {
    spec.sort_spec = request.sort;
  }
  spec.min = request.min;
  spec.max = request.max;
  spec.collation = request.collation;
  spec.let = request.let;
  spec.skip = request.skip;
  spec.limit = request.limit;
  spec.return_key = request.return_key;
  spec.show_record_id = request.show_record_id;
  spec.tailable = request.tailable;
  spec.allow_disk_use = request.allow_disk_use;
  return spec;
}

plan::QuerySpec CountQuery(const request::CountRequest& request, store::CollectionPtr collection) {
  plan::QuerySpec spec;
  spec.collection = std::move(collection);
  spec.filter_spec = request.query;
  spec.hint = request.hint;
  spec.collation = request.collation;
  spec.skip = request.skip;
  spec.limit = request.limit;
  spec.count_only = true;
  spec.has_clock = false;
  return spec;
}

Result<std::shared_ptr<run::Cursor>> Find(const Operation& operation, const std::string& ns,
                                          const request::FindRequest& request,
                                          const ShardRowsWish& rows) {
  ASSIGN_OR_RETURN(store::CollectionPtr collection, operation.Find(ns));
  if (collection != nullptr && collection->is_oplog) {
    return FindInOplog(operation, request);
  }
  if (ReadsAsView(collection.get(), ns)) {
    ASSIGN_OR_RETURN(ViewRead read, FindOnView(ns, request));
    return ReadView(operation, ns, read);
  }
  if (request.tailable && collection != nullptr && !collection->capped) {
    return Status(kBadValue, "error processing query: ns=" + ns +
                                 " tailable cursor requested on non capped collection");
  }
  if (request.tailable && !request.sort.empty() &&
      bson::ExactInt64(request.sort["$natural"]) != 1) {
    return Status(kBadValue,
                  "error processing query: ns=" + ns +
                      " cannot use tailable option with a sort other than {$natural: 1}");
  }
  plan::QuerySpec spec = FindQuery(request, collection);
  spec.ownership = CurrentOwnership(ns);
  spec.wants_sort_key = rows.rows;
  ASSIGN_OR_RETURN(auto query,
                   PlannedQuery::Make(operation, std::move(spec), SessionTransaction(operation)));
  auto cursor = std::make_shared<run::Cursor>();
  cursor->ns = ns;
  // On an empty collection there is no record to go on from: the cursor is dead at once.
  cursor->tailable =
      request.tailable && collection != nullptr && collection->state->documents.load() > 0;
  cursor->await_data = request.await_data;
  cursor->no_timeout = request.no_cursor_timeout;
  if (operation.session != nullptr) {
    cursor->lsid = operation.session->lsid;
  }
  if (operation.in_transaction) {
    cursor->txn_number = operation.session->txn_number();
  }
  request::FindRequest kept = request;
  kept.tailable = cursor->tailable;
  cursor->source =
      std::make_unique<FindSource>(operation, kept, std::move(query), std::move(collection));
  if (rows.rows) {
    cursor->source = MakeShardRows(std::move(cursor->source), rows.metadata);
  }
  return cursor;
}

ViewRead CountOnView(const request::CountRequest& request) {
  ViewRead read{{}, request.collation, bson::View(), request.hint};
  if (!request.query.empty()) {
    read.stages.push_back(StageOf("$match", bson::Value(request.query)));
  }
  if (request.skip > 0) {
    read.stages.push_back(StageOf("$skip", bson::Value(request.skip)));
  }
  if (request.names_limit) {  // a $limit of 0 is refused there, as in MongoDB
    read.stages.push_back(StageOf("$limit", bson::Value(request.limit)));
  }
  return read;
}

ViewRead ExplainedCountOnView(const request::CountRequest& request) {
  ViewRead read = CountOnView(request);
  read.stages.push_back(StageOf("$count", bson::Value("count")));
  return read;
}

namespace {

Result<int64_t> CountView(const Operation& operation, const std::string& ns,
                          const request::CountRequest& request) {
  ASSIGN_OR_RETURN(auto cursor, ReadView(operation, ns, CountOnView(request)));
  int64_t n = 0;
  exec::Row row;
  while (true) {
    RETURN_IF_ERROR(operation.op.CheckInterrupt());
    ASSIGN_OR_RETURN(bool more, cursor->source->Next(operation.op, &row));
    if (!more) {
      return n;
    }
    ++n;
  }
}

}  // namespace

Result<int64_t> Count(const Operation& operation, const std::string& ns,
                      const request::CountRequest& request, request::OpSummary* summary) {
  ASSIGN_OR_RETURN(store::CollectionPtr collection, operation.Find(ns));
  if (ReadsAsView(collection.get(), ns)) {
    return CountView(operation, ns, request);
  }
  if (collection != nullptr && request.query.empty() && !operation.in_transaction &&
      request.hint.missing()) {
    int64_t n = collection->state->documents;
    n = n > request.skip ? n - request.skip : 0;
    summary->plan = "RECORD_STORE_FAST_COUNT";
    return request.limit > 0 ? std::min(n, request.limit) : n;
  }
  plan::QuerySpec spec = CountQuery(request, collection);
  spec.ownership = CurrentOwnership(ns);
  ASSIGN_OR_RETURN(auto query,
                   PlannedQuery::Make(operation, std::move(spec), SessionTransaction(operation)));
  int64_t n = 0;
  exec::Row row;
  while (true) {
    ASSIGN_OR_RETURN(bool more, query->Next(operation.op, &row));
    if (!more) {
      break;
    }
    ++n;
    RETURN_IF_ERROR(operation.op.CheckInterrupt());
  }
  Summarise(*query, summary);
  return n;
}

}  // namespace quire::engine
