// SPDX-License-Identifier: Apache-2.0
#include "engine/write/modify.h"

#include "base/error_codes.h"
#include "base/try.h"
#include "engine/read/read_by_id.h"
#include "engine/write/shard_key_rule.h"
#include "engine/write/write_unit.h"
#include "plan/access/id_lookup.h"
#include "store/collection.h"

namespace quire::engine {

namespace {

using expr::update::Update;

constexpr size_t kChunk = 500;  // documents changed per storage transaction of a multi statement

// REQUIRES: it is no removal.
Result<std::unique_ptr<Update>> ParseUpdate(const ModifySpec& spec, expr::Context* context) {
  if (spec.query.write_upserts) {
    RETURN_IF_ERROR(expr::update::CheckUpsertFilter(spec.query.filter_spec));
  }
  expr::update::ParseOptions options;
  options.upsert = spec.query.write_upserts;
  options.multi = spec.multi;
  options.array_filters = spec.array_filters;
  options.constants = spec.constants;
  options.keep_empty_timestamps = spec.keep_empty_timestamps;
  ASSIGN_OR_RETURN(auto update, Update::Parse(spec.update, options, context));
  if (spec.multi && update->is_replacement()) {
    return Status(kFailedToParse, "multi update is not supported for replacement-style update");
  }
  return update;
}

class Modifier {
 public:
  Modifier(const Operation& operation, const std::string& ns, const ModifySpec& spec,
           int32_t statement, const AnswerOf& answer, request::OpSummary* summary)
      : operation_(operation),
        ns_(ns),
        spec_(spec),
        statement_(operation.StatementId(statement)),
        answer_(answer),
        summary_(summary) {}

  Result<ModifyResult> Run() {
    ASSIGN_OR_RETURN(store::CollectionPtr collection,
                     WritableCollection(operation_, ns_, spec_.query.write_upserts));
    RETURN_IF_ERROR(Prepare(collection.get()));
    if (collection == nullptr) {
      // Nothing to change, but a bad query is still an error.
      RETURN_IF_ERROR(
          PlannedQuery::Make(operation_, QueryOn(nullptr), SessionTransaction(operation_))
              .status());
      return ModifyResult();
    }
    while (true) {
      Status done = spec_.multi ? RunMulti(collection) : RunSingle(collection);
      if (!IsGone(done, operation_) || some_committed_) {
        RETURN_IF_ERROR(done);
        return std::move(result_);
      }
      RETURN_IF_ERROR(operation_.op.CheckInterruptNow());
      ASSIGN_OR_RETURN(collection, WritableCollection(operation_, ns_, spec_.query.write_upserts));
      if (collection == nullptr) {
        return ModifyResult();
      }
    }
  }

 private:
  // Parses the update once, whatever number of attempts and documents follow.
  Status Prepare(const store::CollectionInfo* collection) {
    ASSIGN_OR_RETURN(collator_, CollatorOf(spec_.query.collation, collection));
    context_.collator = collator_.get();
    RETURN_IF_ERROR(FillContext(operation_, spec_.query.let, &context_));
    context_.script_scope = spec_.scripts;
    if (!spec_.multi && spec_.query.sort_spec.empty() && spec_.query.hint.missing() &&
        spec_.query.collation.empty() && spec_.query.write_fields.empty()) {
      id_ = plan::SimpleId(spec_.query.filter_spec);
    }
    if (spec_.update.missing()) {
      return Status::Ok();
    }
    ASSIGN_OR_RETURN(update_, ParseUpdate(spec_, &context_));
    needs_position_ = spec_.update.bytes().find(".$") != std::string_view::npos;
    return Status::Ok();
  }

  plan::QuerySpec QueryOn(store::CollectionPtr collection) const {
    plan::QuerySpec query = spec_.query;
    query.collection = std::move(collection);
    query.for_write = true;
    return query;
  }

  Status RunSingle(const store::CollectionPtr& found) {
    constexpr int kUpsertAttempts = 3;
    for (int attempt = 1;; ++attempt) {
      bool inserting = false;
      Status status = RunWrite(
          operation_, found, [&](store::Transaction& txn, const store::CollectionPtr& collection) {
            return SingleBody(txn, collection, &inserting);
          });
      // Another upsert of the same key won: now there is a document to update.
      bool lost_race = inserting && status.code() == kDuplicateKey && !operation_.in_transaction;
      if (!lost_race || attempt == kUpsertAttempts) {
        return status;
      }
    }
  }

  Status SingleBody(store::Transaction& txn, const store::CollectionPtr& collection,
                    bool* inserting) {
    result_ = ModifyResult();
    if (!id_.missing() && !needs_position_ && ReadById::Suits(*collection)) {
      return BodyById(txn, *collection, inserting);
    }
    ASSIGN_OR_RETURN(auto query, PlannedQuery::Make(operation_, QueryOn(collection), &txn));
    exec::Row row;
    ASSIGN_OR_RETURN(bool found, query->Next(operation_.op, &row));
    Summarise(*query);
    if (found) {
      RETURN_IF_ERROR(Change(txn, *collection, &query->filter(), row.meta.record_id, row.document));
    } else {
      RETURN_IF_ERROR(UpsertIfAsked(txn, *collection, inserting));
    }
    return Remember(txn);
  }

  // The same without a plan. The filter is not asked again: it is the _id that was looked for.
  Status BodyById(store::Transaction& txn, const store::CollectionInfo& info, bool* inserting) {
    ReadById read;
    ASSIGN_OR_RETURN(const bool found, read.Find(operation_.op, txn, info, id_, summary_));
    if (found) {
      RETURN_IF_ERROR(Change(txn, info, nullptr, read.record(), read.document()));
    } else {
      RETURN_IF_ERROR(UpsertIfAsked(txn, info, inserting));
    }
    return Remember(txn);
  }

  Status UpsertIfAsked(store::Transaction& txn, const store::CollectionInfo& info,
                       bool* inserting) {
    if (!spec_.query.write_upserts) {
      return Status::Ok();
    }
    *inserting = true;
    return Upsert(txn, info);
  }

  Status RunMulti(const store::CollectionPtr& collection) {
    result_ = ModifyResult();
    ASSIGN_OR_RETURN(auto query, PlannedQuery::Make(operation_, QueryOn(collection),
                                                    SessionTransaction(operation_)));
    std::vector<store::RecordId> chunk;
    bool more = true;
    bool any = false;
    while (more && result_.stopped.ok()) {
      chunk.clear();
      exec::Row row;
      while (chunk.size() < kChunk || operation_.in_transaction) {
        RETURN_IF_ERROR(operation_.op.CheckInterrupt());
        ASSIGN_OR_RETURN(more, query->Next(operation_.op, &row));
        if (!more) {
          break;
        }
        chunk.push_back(row.meta.record_id);
      }
      any = any || !chunk.empty();
      if (!chunk.empty()) {
        RETURN_IF_ERROR(RunChunk(collection, *query, chunk));
        some_committed_ = true;
      }
    }
    Summarise(*query);
    if (!any && spec_.query.write_upserts) {
      return RunWrite(operation_, collection,
                      [&](store::Transaction& txn, const store::CollectionPtr& info) {
                        result_ = ModifyResult();
                        return Upsert(txn, *info);
                      });
    }
    return Status::Ok();
  }

  Status RunChunk(const store::CollectionPtr& collection, PlannedQuery& query,
                  const std::vector<store::RecordId>& chunk) {
    ModifyResult before = result_;
    return RunWrite(operation_, collection,
                    [&](store::Transaction& txn, const store::CollectionPtr& info) -> Status {
                      result_ = before;
                      for (store::RecordId id : chunk) {
                        RETURN_IF_ERROR(operation_.op.CheckInterrupt());
                        txn.SetSavepoint();
                        Status changed = ChangeAgain(txn, *info, query, id);
                        if (changed.ok()) {
                          txn.ReleaseSavepoint();
                          continue;
                        }
                        if (!IsDocumentError(changed)) {
                          return changed;
                        }
                        RETURN_IF_ERROR(txn.RollbackToSavepoint());
                        result_.stopped = changed;
                        break;
                      }
                      return Status::Ok();
                    });
  }

  // Changes a document that was found in an earlier snapshot, if it still matches.
  Status ChangeAgain(store::Transaction& txn, const store::CollectionInfo& info,
                     const PlannedQuery& query, store::RecordId id) {
    kv::ReadValue value;
    ASSIGN_OR_RETURN(bool there, store::Fetch(txn, info, id, &value));
    if (!there) {
      return Status::Ok();
    }
    bson::View document(value.view().data());
    ASSIGN_OR_RETURN(bool matches, query.filter().Matches(document));
    return matches ? Change(txn, info, &query.filter(), id, document) : Status::Ok();
  }

  // `filter` found the document; null when its _id did, where nothing asks for more.
  Status Change(store::Transaction& txn, const store::CollectionInfo& info,
                const expr::match::Filter* filter, store::RecordId id, bson::View document) {
    RETURN_IF_ERROR(store::ClaimRecord(txn, info, id));
    ++result_.n;
    if (update_ == nullptr) {
      if (spec_.want != ModifySpec::Return::kNothing) {
        RETURN_IF_ERROR(Project(filter, document));
      }
      return store::Remove(txn, info, id, document);
    }
    expr::match::Details details;
    if (needs_position_) {
      RETURN_IF_ERROR(filter->Matches(document, nullptr, &details).status());
    }
    std::string bytes;
    ASSIGN_OR_RETURN(auto outcome, update_->Apply(document, details.array_index, false, &bytes));
    bson::View after = outcome.modified ? bson::View(bytes.data()) : document;
    if (spec_.want != ModifySpec::Return::kNothing) {
      RETURN_IF_ERROR(Project(filter, spec_.want == ModifySpec::Return::kAfter ? after : document));
    }
    if (!outcome.modified) {
      return Status::Ok();
    }
    RETURN_IF_ERROR(CheckKeyChange(operation_, info, spec_.multi, outcome, document, after));
    if (!spec_.bypass_validation) {
      RETURN_IF_ERROR(CheckValidator(operation_, info, after, &document));
    }
    ++result_.modified;
    return store::Replace(
        txn, info, id, document, after,
        {.all = outcome.all, .paths = &outcome.touched, .replacement = update_->is_replacement()});
  }

  Status Upsert(store::Transaction& txn, const store::CollectionInfo& info) {
    ASSIGN_OR_RETURN(bson::Document seed,
                     expr::update::UpsertSeed(spec_.query.filter_spec, update_->is_replacement()));
    std::string bytes;
    ASSIGN_OR_RETURN(auto outcome, update_->Apply(seed, "", true, &bytes));
    bson::View made = outcome.modified ? bson::View(bytes.data()) : seed.view();
    bson::Document storage;
    ASSIGN_OR_RETURN(bson::View prepared,
                     PrepareForInsert(operation_, made, spec_.keep_empty_timestamps, &storage));
    RETURN_IF_ERROR(CheckUpsertedKey(info, prepared));
    if (!spec_.bypass_validation) {
      RETURN_IF_ERROR(CheckValidator(operation_, info, prepared, nullptr));
    }
    RETURN_IF_ERROR(store::Insert(txn, info, prepared).status());
    if (info.capped) {
      RETURN_IF_ERROR(store::TrimCapped(txn, info));
      txn.OnCommit([state = info.state] { state->NotifyInsert(); });
    }
    result_.n = 1;
    result_.upserted = bson::OwnedValue(prepared["_id"]);
    if (spec_.want == ModifySpec::Return::kAfter) {
      return Project(nullptr, prepared);
    }
    return Status::Ok();
  }

  Status Project(const expr::match::Filter* filter, bson::View document) {
    if (spec_.query.write_fields.empty()) {
      result_.document = bson::Document(document);
      return Status::Ok();
    }
    ASSIGN_OR_RETURN(auto projection,
                     expr::Projection::Parse(spec_.query.write_fields,
                                             expr::Projection::Policy::kFind, &context_, filter));
    std::string bytes;
    RETURN_IF_ERROR(projection->Apply(document, nullptr, &bytes));
    result_.document = bson::Document::FromTrusted(std::move(bytes));
    return Status::Ok();
  }

  Status Remember(store::Transaction& txn) {
    if (!operation_.retryable) {
      return Status::Ok();
    }
    if (operation_.before_commit && txn.wrote()) {
      RETURN_IF_ERROR(operation_.before_commit());
    }
    txn.MarkWrote();
    return operation_.session->Remember(txn, ns_, statement_, statement_, answer_(result_));
  }

  void Summarise(const PlannedQuery& query) {
    exec::Counters totals = query.plan().Totals();
    summary_->plan = query.plan().Summary();
    summary_->keys_examined += totals.keys_examined;
    summary_->docs_examined += totals.docs_examined;
  }

  const Operation& operation_;
  const std::string& ns_;
  const ModifySpec& spec_;
  const int32_t statement_;
  const AnswerOf& answer_;
  request::OpSummary* summary_;
  std::shared_ptr<const expr::Collator> collator_;
  expr::Context context_;
  std::unique_ptr<Update> update_;
  bson::Value id_;  // what a filter that is nothing else asks for; missing: it is more
  bool needs_position_ = false;
  bool some_committed_ = false;  // chunks of a multi-document statement
  ModifyResult result_;
};

}  // namespace

plan::QuerySpec QueryOf(const request::UpdateStatement& statement) {
  plan::QuerySpec query;
  query.filter_spec = statement.q;
  query.sort_spec = statement.sort;
  query.hint = statement.hint;
  query.collation = statement.collation;
  query.limit = !statement.multi && !statement.sort.empty() ? 1 : 0;
  query.for_write = true;
  query.write_upserts = statement.upsert;
  return query;
}

plan::QuerySpec QueryOf(const request::DeleteStatement& statement) {
  plan::QuerySpec query;
  query.filter_spec = statement.q;
  query.hint = statement.hint;
  query.collation = statement.collation;
  query.for_write = true;
  return query;
}

plan::QuerySpec QueryOf(const request::FindAndModifyRequest& request) {
  plan::QuerySpec query;
  query.filter_spec = request.query;
  query.sort_spec = request.sort;
  query.hint = request.hint;
  query.collation = request.collation;
  query.limit = request.sort.empty() ? 0 : 1;
  query.for_write = true;
  query.write_upserts = request.upsert;
  query.write_returns = true;
  query.write_fields = request.fields;
  return query;
}

ModifySpec SpecOf(const request::UpdateRequest& request,
                  const request::UpdateStatement& statement) {
  ModifySpec spec;
  spec.query = QueryOf(statement);
  spec.query.let = request.let;
  spec.update = statement.u;
  spec.constants = statement.constants;
  spec.array_filters = statement.array_filters.view;
  spec.multi = statement.multi;
  spec.bypass_validation = request.bypass_validation;
  spec.keep_empty_timestamps = request.keep_empty_timestamps;
  return spec;
}

ModifySpec SpecOf(const request::FindAndModifyRequest& request) {
  ModifySpec spec;
  spec.query = QueryOf(request);
  spec.query.let = request.let;
  spec.update = request.remove ? bson::Value() : request.update;
  spec.array_filters = request.array_filters.view;
  spec.bypass_validation = request.bypass_validation;
  spec.keep_empty_timestamps = request.keep_empty_timestamps;
  spec.want = request.return_new ? ModifySpec::Return::kAfter : ModifySpec::Return::kBefore;
  return spec;
}

Status CheckUpdate(const Operation& operation, const ModifySpec& spec,
                   const store::CollectionInfo* collection) {
  if (spec.update.missing()) {
    return Status::Ok();
  }
  ASSIGN_OR_RETURN(auto collator, CollatorOf(spec.query.collation, collection));
  expr::Context context;
  context.collator = collator.get();
  RETURN_IF_ERROR(FillContext(operation, spec.query.let, &context));
  return ParseUpdate(spec, &context).status();
}

Result<ModifyResult> Modify(const Operation& operation, const std::string& ns,
                            const ModifySpec& spec, int32_t statement, const AnswerOf& answer,
                            request::OpSummary* summary) {
  Modifier modifier(operation, ns, spec, statement, answer, summary);
  ASSIGN_OR_RETURN(ModifyResult result, modifier.Run());
  auto& metrics = operation.engine.metrics;
  if (spec.update.missing()) {
    metrics.deleted += result.n;
  } else {
    metrics.updated += result.n - (result.upserted ? 1 : 0);
    metrics.inserted += result.upserted ? 1 : 0;
  }
  return result;
}

}  // namespace quire::engine
