// SPDX-License-Identifier: Apache-2.0
#include "engine/read.h"

#include <algorithm>
#include <unordered_set>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/compare.h"
#include "bson/number.h"
#include "engine/aggregate.h"
#include "engine/oplog.h"

namespace quire::engine {

store::Transaction* SessionTransaction(const Operation& operation) {
  return operation.in_transaction ? operation.session->transaction() : nullptr;
}

Result<std::shared_ptr<const expr::Collator>> CollatorOf(bson::View spec,
                                                         const store::CollectionInfo* collection) {
  if (!spec.empty()) {
    return expr::Collator::Parse(spec);
  }
  return collection != nullptr ? collection->collator : nullptr;
}

namespace {

Status CheckNaturalSort(bson::View sort) {
  if (sort.Count() > 1) {
    return {kBadValue, "Cannot include '$natural' in compound sort: " + bson::ToJson(sort)};
  }
  auto direction = bson::ExactInt64(sort["$natural"]);
  if (direction != 1 && direction != -1) {
    return {kBadValue, "$natural sort cannot be set to a value other than -1 or 1."};
  }
  return Status::Ok();
}

// What the hints of query settings allow on the collection; empty when they say nothing about it.
bson::Document AllowedIndexes(const bson::Value& hints, const store::CollectionInfo& collection) {
  auto concerns = [&](const bson::Value& hint) {
    bson::View ns = hint.AsDocument()["ns"].AsDocument();
    return ns["db"].AsString() == collection.database && ns["coll"].AsString() == collection.name;
  };
  if (hints.is_document() && concerns(hints)) {
    return bson::Document(hints.AsDocument()["allowedIndexes"].AsArray());
  }
  if (hints.is_array()) {
    for (const bson::Element& e : hints.AsArray()) {
      if (concerns(e.value())) {
        return bson::Document(e.value().AsDocument()["allowedIndexes"].AsArray());
      }
    }
  }
  return bson::Document();
}

}  // namespace

Status PlannedQuery::Parse(const Operation& operation, const Parts& parts) {
  filter_spec_ = bson::Document(parts.filter);
  sort_spec_ = bson::Document(parts.sort);
  projection_spec_ = bson::Document(parts.projection);
  min_ = bson::Document(parts.min);
  max_ = bson::Document(parts.max);
  hint_ = bson::OwnedValue(parts.hint);
  if (parts.context != nullptr) {
    context_ = parts.context;
  } else {
    ASSIGN_OR_RETURN(collator_, CollatorOf(parts.collation, parts.collection.get()));
    own_context_.collator = collator_.get();
    RETURN_IF_ERROR(FillContext(operation, parts.let, &own_context_));
    if (parts.collection != nullptr) {
      stored_functions_.emplace(&operation.engine, parts.collection->database);
      own_context_.stored_functions = &*stored_functions_;
    }
  }
  ASSIGN_OR_RETURN(filter_, expr::match::Filter::Parse(filter_spec_, context_));
  if (sort_spec_.view().Has("$natural")) {
    RETURN_IF_ERROR(CheckNaturalSort(sort_spec_));
    hint_ = bson::OwnedValue(bson::Value(sort_spec_.view()));  // natural order is a scan's
  } else {
    ASSIGN_OR_RETURN(sort_, expr::SortPattern::Parse(sort_spec_));
  }
  if (!projection_spec_.empty()) {
    ASSIGN_OR_RETURN(projection_,
                     expr::Projection::Parse(projection_spec_, expr::Projection::Policy::kFind,
                                             context_, filter_.get()));
  }
  query_.collection = parts.collection;
  query_.context = context_;
  query_.filter = filter_.get();
  query_.filter_spec = filter_spec_;
  query_.sort = sort_.empty() ? nullptr : &sort_;
  query_.projection = projection_.get();
  query_.sort_spec = sort_spec_;
  query_.projection_spec = projection_spec_;
  query_.projection_optional = parts.projection_optional;
  query_.no_fields = parts.no_fields;
  query_.hint = hint_.value();
  if (parts.collection != nullptr) {
    allowed_indexes_ = AllowedIndexes(operation.index_hints.value(), *parts.collection);
    query_.allowed_indexes = allowed_indexes_;
  }
  query_.min = min_;
  query_.max = max_;
  query_.skip = parts.skip;
  query_.limit = parts.limit;
  query_.return_key = parts.return_key;
  query_.show_record_id = parts.show_record_id;
  query_.tailable = parts.tailable;
  query_.allow_disk_use = parts.allow_disk_use;
  query_.wants_text_score = parts.wants_text_score;
  query_.count_only = parts.count_only;
  query_.distinct_path = parts.distinct_path;
  query_.for_write = parts.for_write;
  query_.write_stage = parts.write_stage;
  query_.explain = parts.explain;
  query_.has_scan_after = parts.has_scan_after;
  query_.scan_after = parts.scan_after;
  return Status::Ok();
}

Result<std::unique_ptr<PlannedQuery>> PlannedQuery::Make(const Operation& operation,
                                                         const Parts& parts,
                                                         store::Transaction* txn) {
  std::unique_ptr<PlannedQuery> planned(new PlannedQuery());
  RETURN_IF_ERROR(planned->Parse(operation, parts));
  if (txn == nullptr) {
    ASSIGN_OR_RETURN(planned->own_txn_, store::Transaction::Begin(operation.engine.store(), true));
    txn = planned->own_txn_.get();
  }
  planned->txn_ = txn;
  ASSIGN_OR_RETURN(planned->plan_, plan::MakePlan(operation.op, planned->query_, *txn));
  return planned;
}

Result<bool> PlannedQuery::Next(OpContext& op, exec::Row* row) {
  if (root_ == nullptr) {
    ASSIGN_OR_RETURN(root_, plan_->Open(*txn_));
  }
  return root_->Next(op, row);
}

namespace {

// The rows of a find. A scan in natural order goes on from the last record it gave: between
// getMores it holds no snapshot, and later batches show later writes.
class FindSource : public RowSource {
 public:
  FindSource(const Operation& operation, const request::FindRequest& request,
             std::unique_ptr<PlannedQuery> query, store::CollectionPtr collection)
      : engine_(operation.engine), collection_(std::move(collection)), query_(std::move(query)) {
    tailable_ = request.tailable;
    resumable_ = !operation.in_transaction && !operation.snapshot_read && collection_ != nullptr &&
                 !collection_->clustered && request.sort.empty() && request.hint.missing() &&
                 request.let.empty() && !request.return_key &&
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

  Status Refresh(OpContext& op) override {
    Operation operation{engine_, op};
    PlannedQuery::Parts parts;
    parts.collection = collection_;
    parts.filter = filter_;
    parts.projection = projection_;
    parts.collation = collation_;
    parts.show_record_id = show_record_id_;
    parts.tailable = tailable_;
    parts.hint = natural_.view()["hint"];
    parts.has_scan_after = last_ != 0;
    parts.scan_after = last_;
    seen_ = collection_->state->inserts();
    ASSIGN_OR_RETURN(query_, PlannedQuery::Make(operation, parts, nullptr));
    return Status::Ok();
  }

  void Rest() override {
    if (resumable_ && last_ != 0) {
      summary_ = query_->plan().Summary();
      query_.reset();
    }
  }

  bool HoldsSnapshot() const override { return query_ != nullptr; }
  void Finish() override {
    summary_ = query_->plan().Summary();
    query_.reset();
  }

  void Await(OpContext& op, std::chrono::steady_clock::time_point deadline) override {
    constexpr auto kSlice = std::chrono::milliseconds(100);
    while (!op.killed() && collection_->state->inserts() == seen_ && !collection_->state->dropped &&
           std::chrono::steady_clock::now() < deadline) {
      collection_->state->WaitForInsert(
          seen_, std::min(deadline, std::chrono::steady_clock::now() + kSlice));
    }
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
    return query_ == nullptr ? exec::Counters() : query_->plan().Totals();
  }
  void AppendFields(bson::Builder*) const override {}

 private:
  Engine& engine_;
  store::CollectionPtr collection_;
  bson::Document filter_;
  bson::Document projection_;
  bson::Document collation_;
  bool show_record_id_ = false;
  bool tailable_ = false;
  bool resumable_ = false;
  int64_t limit_ = 0;
  int64_t given_ = 0;
  std::string summary_;  // of the plan whose query rests
  // A scan stays one, whatever indexes are made meanwhile.
  const bson::Document natural_ =
      bson::Builder().BeginDocument("hint").Append("$natural", 1).End().Finish();
  std::unique_ptr<PlannedQuery> query_;
  store::RecordId last_ = 0;
  uint64_t seen_ = 0;
};

// Calls `visit` with every value `path` reaches, arrays opened on the way and at the end. No path:
// the value itself; an empty one names a field without a name.
template <typename F>
void VisitValues(const bson::Value& value, std::optional<std::string_view> path, F& visit) {
  if (!path) {
    if (!value.is_array()) {
      visit(value);
      return;
    }
    for (const bson::Element& e : value.AsArray()) {
      visit(e.value());
    }
    return;
  }
  size_t dot = path->find('.');
  std::string_view name = path->substr(0, dot);
  std::optional<std::string_view> rest;
  if (dot != std::string_view::npos) {
    rest = path->substr(dot + 1);
  }
  if (value.is_document() || value.is_array()) {
    if (bson::Element e = value.AsDocument().Find(name); e.present()) {
      VisitValues(e.value(), rest, visit);
      return;
    }
  }
  if (value.is_array()) {
    for (const bson::Element& e : value.AsArray()) {
      if (e.type() == bson::Type::kDocument) {
        VisitValues(e.value(), path, visit);
      }
    }
  }
}

bson::Document StageOf(std::string_view name, const bson::Value& argument) {
  bson::Builder stage;
  stage.Append(name, argument);
  return stage.Finish();
}

}  // namespace

std::vector<bson::Document> StagesOf(const request::FindRequest& request) {
  std::vector<bson::Document> stages;
  if (!request.filter.empty()) {
    stages.push_back(StageOf("$match", bson::Value(request.filter)));
  }
  if (!request.sort.empty() && !request.sort.Has("$natural")) {
    stages.push_back(StageOf("$sort", bson::Value(request.sort)));
  }
  if (request.skip > 0) {
    stages.push_back(StageOf("$skip", bson::Value(request.skip)));
  }
  if (request.limit > 0) {
    stages.push_back(StageOf("$limit", bson::Value(request.limit)));
  }
  if (!request.projection.empty()) {
    stages.push_back(StageOf("$project", bson::Value(request.projection)));
  }
  return stages;
}

namespace {

// A find on a view: its parts become stages after the view's own.
Result<std::shared_ptr<Cursor>> FindOnView(const Operation& operation, const std::string& ns,
                                           const request::FindRequest& request) {
  if (request.tailable || request.return_key || request.show_record_id || !request.min.empty() ||
      !request.max.empty()) {
    return Status(kInvalidPipelineOperator, "Option not supported on views: " + ns);
  }
  return ReadView(operation, ns, StagesOf(request), request.collation, request.let, request.hint);
}

void Summarise(const PlannedQuery& query, request::OpSummary* summary) {
  exec::Counters totals = query.plan().Totals();
  summary->plan = query.plan().Summary();
  summary->keys_examined = totals.keys_examined;
  summary->docs_examined = totals.docs_examined;
}

}  // namespace

PlannedQuery::Parts FindParts(const request::FindRequest& request,
                              store::CollectionPtr collection) {
  PlannedQuery::Parts parts;
  parts.collection = std::move(collection);
  parts.filter = request.filter;
  parts.projection = request.projection;
  parts.hint = request.hint;
  // Sorting by $natural asks for the scan's own order, as the hint of that name does.
  if (request.sort.Has("$natural") && request.sort.Count() == 1 && request.hint.missing()) {
    parts.hint = bson::Value(request.sort);
  } else {
    parts.sort = request.sort;
  }
  parts.min = request.min;
  parts.max = request.max;
  parts.collation = request.collation;
  parts.let = request.let;
  parts.skip = request.skip;
  parts.limit = request.limit;
  parts.return_key = request.return_key;
  parts.show_record_id = request.show_record_id;
  parts.tailable = request.tailable;
  parts.allow_disk_use = request.allow_disk_use;
  return parts;
}

Result<std::shared_ptr<Cursor>> Find(const Operation& operation, const std::string& ns,
                                     const request::FindRequest& request) {
  ASSIGN_OR_RETURN(store::CollectionPtr collection, operation.Find(ns));
  if (collection != nullptr && collection->is_oplog) {
    return FindInOplog(operation, request);
  }
  if (ReadsAsView(collection.get(), ns)) {
    return FindOnView(operation, ns, request);
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
  ASSIGN_OR_RETURN(auto query, PlannedQuery::Make(operation, FindParts(request, collection),
                                                  SessionTransaction(operation)));
  auto cursor = std::make_shared<Cursor>();
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
  return cursor;
}

namespace {

// Collects the different values of a path; the reply has them in order.
class DistinctValues {
 public:
  DistinctValues(const bson::StringCompare* strings, std::string_view path)
      : strings_(strings), path_(path), seen_(64, Hash{strings}, Same{strings}) {}

  // `rows` is anything with Next.
  template <typename Rows>
  Status AddAll(OpContext& op, Rows& rows) {
    constexpr size_t kMaxReply = size_t{16} << 20;
    exec::Row row;
    auto visit = [&](const bson::Value& value) {
      if (seen_.insert(bson::OwnedValue(value)).second) {
        bytes_ += value.EncodedSize() + 8;
      }
    };
    while (true) {
      RETURN_IF_ERROR(op.CheckInterrupt());
      ASSIGN_OR_RETURN(bool more, rows.Next(op, &row));
      if (!more) {
        return Status::Ok();
      }
      VisitValues(bson::Value(row.document), path_, visit);
      if (bytes_ > kMaxReply) {
        return {17217, "distinct too big, 16mb cap"};
      }
    }
  }

  void Append(bson::Builder* reply) const {
    std::vector<bson::Value> sorted;
    sorted.reserve(seen_.size());
    for (const bson::OwnedValue& value : seen_) {
      sorted.push_back(value.value());
    }
    std::sort(sorted.begin(), sorted.end(), [&](const bson::Value& a, const bson::Value& b) {
      return bson::Compare(a, b, strings_) < 0;
    });
    reply->BeginArray("values");
    for (const bson::Value& value : sorted) {
      reply->Push(value);
    }
    reply->End();
  }

 private:
  struct Hash {
    const bson::StringCompare* strings;
    size_t operator()(const bson::OwnedValue& v) const { return bson::Hash(v.value(), strings); }
  };
  struct Same {
    const bson::StringCompare* strings;
    bool operator()(const bson::OwnedValue& a, const bson::OwnedValue& b) const {
      return bson::Compare(a.value(), b.value(), strings) == 0;
    }
  };
  const bson::StringCompare* strings_;
  std::string_view path_;
  size_t bytes_ = 0;
  std::unordered_set<bson::OwnedValue, Hash, Same> seen_;
};

Result<int64_t> CountOnView(const Operation& operation, const std::string& ns,
                            const request::CountRequest& request) {
  std::vector<bson::Document> stages;
  if (!request.query.empty()) {
    stages.push_back(StageOf("$match", bson::Value(request.query)));
  }
  if (request.skip > 0) {
    stages.push_back(StageOf("$skip", bson::Value(request.skip)));
  }
  if (request.limit > 0) {
    stages.push_back(StageOf("$limit", bson::Value(request.limit)));
  }
  ASSIGN_OR_RETURN(auto cursor,
                   ReadView(operation, ns, stages, request.collation, bson::View(), request.hint));
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
  PlannedQuery::Parts parts;
  parts.collection = collection;
  parts.filter = request.query;
  parts.hint = request.hint;
  parts.collation = request.collation;
  parts.skip = request.skip;
  parts.limit = request.limit;
  parts.count_only = true;
  if (ReadsAsView(collection.get(), ns)) {
    return CountOnView(operation, ns, request);
  }
  if (collection != nullptr && request.query.empty() && !operation.in_transaction &&
      request.hint.missing()) {
    int64_t n = collection->state->documents;
    n = n > request.skip ? n - request.skip : 0;
    summary->plan = "RECORD_STORE_FAST_COUNT";
    return request.limit > 0 ? std::min(n, request.limit) : n;
  }
  ASSIGN_OR_RETURN(auto query, PlannedQuery::Make(operation, parts, SessionTransaction(operation)));
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

Status Distinct(const Operation& operation, const std::string& ns,
                const request::DistinctRequest& request, request::OpSummary* summary,
                bson::Builder* reply) {
  ASSIGN_OR_RETURN(store::CollectionPtr collection, operation.Find(ns));
  ASSIGN_OR_RETURN(auto collator, CollatorOf(request.collation, collection.get()));
  DistinctValues values(collator.get(), request.key);
  if (ReadsAsView(collection.get(), ns)) {
    std::vector<bson::Document> stages;
    if (!request.query.empty()) {
      stages.push_back(StageOf("$match", bson::Value(request.query)));
    }
    ASSIGN_OR_RETURN(auto cursor, ReadView(operation, ns, stages, request.collation, bson::View(),
                                           request.hint));
    RETURN_IF_ERROR(values.AddAll(operation.op, *cursor->source));
  } else {
    PlannedQuery::Parts parts;
    parts.collection = collection;
    parts.filter = request.query;
    parts.hint = request.hint;
    parts.collation = request.collation;
    parts.distinct_path = request.key;
    ASSIGN_OR_RETURN(auto query,
                     PlannedQuery::Make(operation, parts, SessionTransaction(operation)));
    RETURN_IF_ERROR(values.AddAll(operation.op, *query));
    Summarise(*query, summary);
  }
  values.Append(reply);
  return Status::Ok();
}

}  // namespace quire::engine
