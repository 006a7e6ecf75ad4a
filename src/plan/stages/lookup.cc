// SPDX-License-Identifier: Apache-2.0
//
// $lookup: how the other collection is read.
#include "exec/join/lookup.h"

#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "base/try.h"
#include "exec/combine/row_spool.h"
#include "exec/documents.h"
#include "exec/evaluation.h"
#include "exec/join/hash_join.h"
#include "exec/join/lookup_unwind.h"
#include "exec/nested_field.h"
#include "expr/collation/collator.h"
#include "plan/stages/lower_stage.h"
#include "plan/stages/sub_pipeline.h"

namespace quire::plan {

namespace {

// An operator and the context its stages were parsed with.
class WithContext final : public exec::Operator {
 public:
  WithContext(std::unique_ptr<expr::Context> context, OperatorPtr top)
      : context_(std::move(context)), top_(std::move(top)) {}
  Result<bool> Next(OpContext& op, exec::Row* row) override { return top_->Next(op, row); }

 private:
  std::unique_ptr<expr::Context> context_;
  OperatorPtr top_;
};

// One running $lookup: chooses how the other side is read and remembers what can be reused.
class LookupRun {
 public:
  LookupRun(const pipeline::LookupStage& stage, PipelineEnvironment& env)
      : stage_(stage), env_(env), evaluation_(stage.context()) {}

  Result<OperatorPtr> Open(OpContext& op, const exec::Row& row) {
    if (!stage_.has_pipeline()) {
      return OpenJoin(op, row);
    }
    bson::Document filter = stage_.joins_fields() ? JoinFilter(row) : bson::Document();
    if (!stage_.variables().empty()) {
      return OpenWithVariables(op, row, filter);
    }
    if (stage_.joins_fields()) {
      return OpenSubPipeline(op, env_, stage_.ns(), filter, stage_.pipeline(),
                             stage_.pipeline_options(), *stage_.context());
    }
    return OpenUncorrelated(op);
  }

 private:
  // The values the local field has, arrays taken apart; null when it has none.
  std::vector<bson::Value> LocalValues(const exec::Row& row) const {
    std::vector<bson::Value> values;
    auto add = [&](const bson::Value& value) {
      values.push_back(value.missing() ? bson::Value::Null() : value);
    };
    exec::VisitValues(bson::Value(row.document), stage_.local_field(), 0,
                      [&](const bson::Value& value) {
                        if (!value.is_array()) {
                          add(value);
                          return;
                        }
                        for (const bson::Element& element : value.AsArray()) {
                          add(element.value());
                        }
                      });
    if (values.empty()) {
      values.push_back(bson::Value::Null());
    }
    return values;
  }

  bson::Document JoinFilter(const exec::Row& row) const {
    std::vector<bson::Value> values = LocalValues(row);
    bson::Builder filter;
    if (values.size() == 1) {
      AppendEqual(values[0], &filter);
      return filter.Finish();
    }
    filter.BeginArray("$or");
    for (const bson::Value& value : values) {
      filter.PushDocument();
      AppendEqual(value, &filter);
      filter.End();
    }
    filter.End();
    return filter.Finish();
  }

  // Nothing may be compared with undefined; it equals itself all the same.
  void AppendEqual(const bson::Value& value, bson::Builder* filter) const {
    filter->BeginDocument(stage_.foreign_field());
    value.type() == bson::Type::kUndefined ? filter->Append("$type", "undefined")
                                           : filter->Append("$eq", value);
    filter->End();
  }

  Result<OperatorPtr> OpenJoin(OpContext& op, const exec::Row& row) {
    if (!indexed_) {
      indexed_ = env_.HasIndexOn(stage_.ns(), stage_.foreign_field()) ||
                 env_.rewrites_off().count("hash-join") > 0;
    }
    bson::View inner = stage_.inner_filter();
    if (*indexed_) {
      bson::Document filter = JoinFilter(row);
      if (!inner.empty()) {
        bson::Builder both;
        both.BeginArray("$and").Push(filter.view()).Push(inner).End();
        filter = both.Finish();
      }
      return OpenSubPipeline(op, env_, stage_.ns(), filter, bson::View(), stage_.pipeline_options(),
                             *stage_.context());
    }
    if (!filled_) {
      if (once_ == nullptr) {
        ASSIGN_OR_RETURN(once_, OpenSubPipeline(op, env_, stage_.ns(), inner, bson::View(),
                                                stage_.pipeline_options(), *stage_.context()));
        table_.emplace(stage_.context()->collator);
      }
      ASSIGN_OR_RETURN(filled_,
                       table_->Fill(op, *once_, exec::SplitFieldPath(stage_.foreign_field())));
      once_.reset();
      if (!filled_) {
        indexed_ = true;
        return OpenJoin(op, row);
      }
    }
    std::set<size_t> positions;
    for (const bson::Value& value : LocalValues(row)) {
      for (size_t at : table_->Find(value)) {
        positions.insert(at);
      }
    }
    exec::Documents::List found;
    for (size_t at : positions) {
      found.push_back(table_->document(at));
    }
    return OperatorPtr(std::make_unique<exec::Documents>(std::move(found)));
  }

  Result<OperatorPtr> OpenWithVariables(OpContext& op, const exec::Row& row,
                                        const bson::Document& filter) {
    auto context = std::make_unique<expr::Context>(*stage_.context());
    expr::agg::EvalContext& eval = evaluation_.Start(row);
    std::vector<bson::OwnedValue> values;
    for (const auto& variable : stage_.variables()) {
      ASSIGN_OR_RETURN(bson::Value value, variable.value->Evaluate(eval));
      values.emplace_back(value);
    }
    pipeline::BindVariables(stage_.variables(), values, context.get());
    ASSIGN_OR_RETURN(auto top, OpenSubPipeline(op, env_, stage_.ns(), filter, stage_.pipeline(),
                                               stage_.pipeline_options(), *context));
    return OperatorPtr(std::make_unique<WithContext>(std::move(context), std::move(top)));
  }

  // The pipeline gives the same for every document: it runs once.
  Result<OperatorPtr> OpenUncorrelated(OpContext& op) {
    if (!filled_) {
      if (once_ == nullptr) {
        ASSIGN_OR_RETURN(once_,
                         OpenSubPipeline(op, env_, stage_.ns(), bson::View(), stage_.pipeline(),
                                         stage_.pipeline_options(), *stage_.context()));
        cached_ = std::make_shared<exec::RowSpool>(op.memory_limit, env_.allow_disk_use());
      }
      exec::Row found;
      for (;;) {
        ASSIGN_OR_RETURN(bool more, once_->Next(op, &found));
        if (!more) {
          break;
        }
        RETURN_IF_ERROR(cached_->Add(found.document));
      }
      once_.reset();
      filled_ = true;
    }
    return exec::RowSpool::Read(cached_);
  }

  const pipeline::LookupStage& stage_;
  PipelineEnvironment& env_;
  exec::Evaluation evaluation_;
  std::optional<bool> indexed_;  // by an index, or because the table would be too large
  OperatorPtr once_;             // what is read once for all rows, while it is
  bool filled_ = false;          // with it: the table or the spool
  std::optional<exec::HashJoinTable> table_;
  std::shared_ptr<exec::RowSpool> cached_;
};

}  // namespace

Result<OperatorPtr> LowerLookup(const pipeline::LookupStage& stage, OperatorPtr input,
                                PipelineEnvironment& env) {
  auto run = std::make_shared<LookupRun>(stage, env);
  auto inner = [run](OpContext& op, const exec::Row& row) { return run->Open(op, row); };
  if (stage.unwind()) {
    return OperatorPtr(
        std::make_unique<exec::LookupUnwind>(std::move(input), *stage.unwind(), std::move(inner)));
  }
  return OperatorPtr(
      std::make_unique<exec::Lookup>(std::move(input), stage.as(), std::move(inner)));
}

}  // namespace quire::plan
