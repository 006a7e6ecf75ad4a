// SPDX-License-Identifier: Apache-2.0
#include "engine/read/planned_query.h"

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/number.h"
#include "expr/asks_for_meta.h"
#include "plan/access/id_lookup.h"
#include "plan/access/text_access.h"

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

Status PlannedQuery::MakeContext(const Operation& operation) {
  ASSIGN_OR_RETURN(collator_, CollatorOf(query_.collation, query_.collection.get()));
  own_context_.collator = collator_.get();
  RETURN_IF_ERROR(FillContext(operation, query_.let, &own_context_));
  own_context_.has_clock = query_.has_clock;
  if (query_.collection != nullptr) {
    stored_functions_.emplace(&operation.engine, query_.collection->database);
    own_context_.stored_functions = &*stored_functions_;
  }
  query_.context = &own_context_;
  return Status::Ok();
}

Status PlannedQuery::Parse(const Operation& operation) {
  filter_spec_ = bson::Document(query_.filter_spec);
  sort_spec_ = bson::Document(query_.sort_spec);
  projection_spec_ = bson::Document(query_.projection_spec);
  min_ = bson::Document(query_.min);
  max_ = bson::Document(query_.max);
  hint_ = bson::OwnedValue(query_.hint);
  if (query_.context == nullptr) {
    RETURN_IF_ERROR(MakeContext(operation));
  }
  const expr::ConstantErrors constant_errors(query_.context);
  ASSIGN_OR_RETURN(filter_, expr::match::Filter::Parse(filter_spec_, query_.context));
  if (sort_spec_.view().Has("$natural")) {
    RETURN_IF_ERROR(CheckNaturalSort(sort_spec_));
    hint_ = bson::OwnedValue(bson::Value(sort_spec_.view()));  // natural order is a scan's
  } else if (!query_.for_write || plan::SimpleId(filter_spec_).missing()) {
    ASSIGN_OR_RETURN(sort_, expr::SortPattern::Parse(sort_spec_));
  }  // else there is one document at most, and MongoDB does not look at the pattern
  if (!projection_spec_.empty()) {
    ASSIGN_OR_RETURN(projection_,
                     expr::Projection::Parse(projection_spec_, expr::Projection::Policy::kFind,
                                             query_.context, filter_.get()));
  }
  const bool scored = expr::AsksForMeta(bson::Value(sort_spec_.view()), "textScore") ||
                      expr::AsksForMeta(bson::Value(projection_spec_.view()), "textScore") ||
                      expr::AsksForMeta(bson::Value(query_.write_fields), "textScore");
  if (scored && !plan::HasText(*filter_)) {
    return {40218, "query requires text score metadata, but it is not available"};
  }
  RETURN_IF_ERROR(constant_errors.first());
  if (query_.collection != nullptr) {
    allowed_indexes_ = AllowedIndexes(operation.index_hints.value(), *query_.collection);
  }
  query_.filter = filter_.get();
  query_.sort = sort_.empty() ? nullptr : &sort_;
  query_.projection = projection_.get();
  query_.filter_spec = filter_spec_;
  query_.sort_spec = sort_spec_;
  query_.projection_spec = projection_spec_;
  query_.hint = hint_.value();
  query_.allowed_indexes = allowed_indexes_;
  query_.min = min_;
  query_.max = max_;
  query_.collation = bson::View();  // both are in the context
  query_.let = bson::View();
  return Status::Ok();
}

Result<std::unique_ptr<PlannedQuery>> PlannedQuery::Make(const Operation& operation,
                                                         plan::QuerySpec spec,
                                                         store::Transaction* txn) {
  std::unique_ptr<PlannedQuery> planned(new PlannedQuery(std::move(spec)));
  RETURN_IF_ERROR(planned->Parse(operation));
  if (txn == nullptr) {
    ASSIGN_OR_RETURN(planned->own_txn_, operation.BeginRead());
    txn = planned->own_txn_.get();
  }
  planned->txn_ = txn;
  ASSIGN_OR_RETURN(planned->plan_, plan::Plan::Make(operation.op, planned->query_, *txn));
  return planned;
}

Result<bool> PlannedQuery::Next(OpContext& op, exec::Row* row) {
  if (root_ == nullptr) {
    ASSIGN_OR_RETURN(root_, plan_->Open(*txn_));
  }
  return root_->Next(op, row);
}

}  // namespace quire::engine
