// SPDX-License-Identifier: Apache-2.0
//
// Where $out and $merge write.
#include <algorithm>
#include <atomic>

#include "base/current_op.h"
#include "base/error_codes.h"
#include "base/try.h"
#include "bson/compare.h"
#include "engine/read/pipeline_run.h"
#include "engine/schema/schema.h"
#include "engine/write/modify.h"
#include "engine/write/out_collection.h"
#include "engine/write/write.h"
#include "expr/agg/expression.h"
#include "expr/script.h"

namespace quire::engine {

namespace {

std::string FullName(const pipeline::Namespace& ns) { return ns.database + "." + ns.collection; }

// Collects documents and inserts them in batches.
class Inserter {
 public:
  Inserter(Engine& engine, kv::Durability durability, std::string ns, bool bypass_validation)
      : engine_(engine),
        durability_(durability),
        ns_(std::move(ns)),
        bypass_validation_(bypass_validation) {}

  Status Add(OpContext& op, bson::View document) {
    constexpr size_t kBatch = 1000;
    constexpr size_t kBatchBytes = size_t{8} << 20;
    batch_.emplace_back(document);
    bytes_ += document.size();
    return batch_.size() >= kBatch || bytes_ >= kBatchBytes ? Flush(op) : Status::Ok();
  }

  Status Flush(OpContext& op) {
    if (batch_.empty()) {
      return Status::Ok();
    }
    Operation operation{engine_, op};
    operation.durability = durability_;
    request::InsertRequest request;
    request.bypass_validation = bypass_validation_;
    for (const bson::Document& document : batch_) {
      request.documents.push_back(document.view());
    }
    ASSIGN_OR_RETURN(request::WriteReply result, Insert(operation, ns_, request));
    batch_.clear();
    bytes_ = 0;
    return result.FirstError();
  }

 private:
  Engine& engine_;
  kv::Durability durability_;
  std::string ns_;
  bool bypass_validation_;
  std::vector<bson::Document> batch_;
  size_t bytes_ = 0;
};

// The second part is this process's alone.
const std::string& OwnTemporary() {
  static const std::string own =
      std::string(kOutTemporary) + bson::ObjectId::Generate().ToHex() + ".";
  return own;
}

bool IsDaysOld(std::string_view object_id) {
  constexpr int64_t kDay = int64_t{24} * 60 * 60;
  constexpr size_t kTimeDigits = 8;
  if (!bson::ObjectId::FromHex(object_id)) {
    return false;  // somebody else's
  }
  const int64_t made = std::stoll(std::string(object_id.substr(0, kTimeDigits)), nullptr, 16);
  return bson::Date::Now().millis / 1000 - made > kDay;
}

// What processes that ended within an $out have left in a database.
void DropLeftTemporaries(Engine& engine, std::string_view database) {
  for (const store::CollectionPtr& one : engine.catalog().snapshot()->InDatabase(database)) {
    const bool left = one->name.starts_with(kOutTemporary) &&
                      !one->name.starts_with(OwnTemporary()) &&
                      !one->name.starts_with(kRoutersOutTemporary);
    const bool left_elsewhere = one->name.starts_with(kCollectedElsewhere) &&
                                IsDaysOld(one->name.substr(kCollectedElsewhere.size()));
    if (left || left_elsewhere) {
      // Best effort: the next one tries again.
      const Status dropped = engine.catalog().Drop(one->ns(), kv::Durability::kProcess);
      (void)dropped;
    }
  }
}

// $out: everything goes into a new collection that replaces the target at the end.
class OutSink : public plan::DocumentSink {
 public:
  OutSink(PipelineRun& run, const pipeline::SinkOptions& options)
      : engine_(run.engine()),
        durability_(run.durability()),
        target_(FullName(options.target)),
        timeseries_(options.timeseries),
        temporary_(options.target.database + "." + OwnTemporary() + std::to_string(next_++)),
        inserter_(engine_, durability_, temporary_, run.bypass_validation()) {}

  ~OutSink() override {
    if (!finished_) {
      // Best effort: an unfinished result is of no use to anybody. Not ended with its operation.
      CurrentOpScope of_none(nullptr);
      Status dropped = engine_.catalog().Drop(temporary_, kv::Durability::kProcess);
      (void)dropped;
    }
  }

  Status Start(OpContext& op) {
    Operation operation{engine_, op};
    operation.durability = durability_;
    DropLeftTemporaries(engine_, target_.substr(0, target_.find('.')));
    return MakeOutCollection(operation, target_, temporary_, timeseries_);
  }

  Status Write(OpContext& op, bson::View document) override { return inserter_.Add(op, document); }

  Status Finish(OpContext& op) override {
    RETURN_IF_ERROR(inserter_.Flush(op));
    Operation operation{engine_, op};
    operation.durability = durability_;
    RETURN_IF_ERROR(PutInPlace(operation, temporary_, target_, bson::Value()));
    finished_ = true;
    return Status::Ok();
  }

 private:
  static std::atomic<int64_t> next_;
  Engine& engine_;
  kv::Durability durability_;
  std::string target_;
  bson::Document timeseries_;
  std::string temporary_;
  Inserter inserter_;
  bool finished_ = false;
};

std::atomic<int64_t> OutSink::next_{1};

// $merge: one statement per document.
class MergeSink : public plan::DocumentSink {
 public:
  MergeSink(PipelineRun& run, const pipeline::SinkOptions& options)
      : engine_(run.engine()),
        durability_(run.durability()),
        bypass_validation_(run.bypass_validation()),
        context_(run.context()),
        options_(options),
        target_(FullName(options.target)),
        on_(options.on) {
    if (on_.empty()) {
      on_.push_back("_id");
    }
  }

  Status Start() {
    store::CollectionPtr target = engine_.catalog().Find(target_);
    if (target != nullptr && target->is_view()) {
      return {kCommandNotSupportedOnView, "Namespace " + target_ + " is a view, not a collection"};
    }
    if (target == nullptr && on_.size() == 1 && on_.front() == "_id") {
      return Status::Ok();
    }
    if (target != nullptr) {
      for (const auto& index : target->indexes) {
        if ((index->unique || index->is_id) && index->partial_filter == nullptr &&
            SameFields(*index) && SameCollation(index->collator.get(), context_.collator)) {
          takes_null_ = !index->sparse && !index->is_id;
          return Status::Ok();
        }
      }
    }
    return {51183, "Cannot find index to verify that join fields will be unique"};
  }

  // A document that cannot be written does not keep those behind it from being written: the first
  // error is told at the end of a batch.
  Status Write(OpContext& op, bson::View document) override {
    constexpr int kBatch = 1000;
    Status written = WriteOne(op, document);
    if (!written.ok() && (op.killed() || !IsOfDocument(written))) {
      return written;
    }
    if (first_error_.ok()) {
      first_error_ = written;
    }
    return ++written_ % kBatch == 0 ? first_error_ : Status::Ok();
  }

  Status Finish(OpContext&) override { return first_error_; }

 private:
  static bool IsOfDocument(const Status& status) {
    constexpr int kCodes[] = {kDuplicateKey, kDocumentValidationFailure, kImmutableField,
                              kMergeStageNoMatchingDocument};
    return std::find(std::begin(kCodes), std::end(kCodes), status.code()) != std::end(kCodes);
  }

  Status WriteOne(OpContext& op, bson::View document) {
    Operation operation{engine_, op};
    operation.durability = durability_;
    operation.began = context_.now;
    operation.cluster_time = context_.cluster_time;
    bson::Document with_id;
    if (!document.Has("_id") && on_.front() == "_id") {
      bson::Builder made;
      made.Append("_id", bson::ObjectId::Generate()).AppendFields(document);
      with_id = made.Finish();
      document = with_id;
    }
    ASSIGN_OR_RETURN(bson::Document query, QueryFor(document));
    if (options_.matched == pipeline::SinkOptions::Matched::kFail) {
      request::InsertRequest insert;
      insert.bypass_validation = bypass_validation_;
      insert.documents.push_back(document);
      ASSIGN_OR_RETURN(request::WriteReply result, Insert(operation, target_, insert));
      return result.FirstError();
    }
    return Update(operation, document, query);
  }

  bool SameFields(const store::IndexInfo& index) const {
    if (index.keys.parts.size() != on_.size() || index.keys.special != nullptr) {
      return false;
    }
    for (const auto& part : index.keys.parts) {
      if (std::find(on_.begin(), on_.end(), part.path) == on_.end()) {
        return false;
      }
    }
    return true;
  }

  Result<bson::Document> QueryFor(bson::View document) const {
    bson::Builder query;
    for (const std::string& path : on_) {
      bson::Value value(document);
      std::string_view rest = path;
      while (!rest.empty() && value.is_document()) {
        size_t dot = rest.find('.');
        value = value.AsDocument()[rest.substr(0, dot)];
        rest = dot == std::string_view::npos ? "" : rest.substr(dot + 1);
      }
      bool missing = !rest.empty() || value.nullish();
      if (missing && takes_null_) {
        value = bson::Value::Null();
      } else if (missing) {
        return Status(51132, "$merge write error: 'on' field '" + path +
                                 "' cannot be missing, null or undefined");
      }
      if (value.is_array()) {
        return Status(51185, "$merge write error: 'on' field '" + path + "' is an array");
      }
      query.BeginDocument(path).Append("$eq", value).End();
    }
    return query.Finish();
  }

  // The variables of a pipeline update: the command's `let`, and the stage's over the new document.
  Result<bson::Document> Variables(bson::View document) const {
    bson::Builder out;
    bson::View let = options_.let;
    for (const auto& [name, value] : context_.let) {
      if (let.empty() ? name != "new" : !let.Has(name)) {
        out.BeginDocument(name).Append("$literal", value.value()).End();
      }
    }
    if (let.empty()) {
      out.BeginDocument("new").Append("$literal", document).End();
      return out.Finish();
    }
    Arena arena;
    for (const bson::Element& e : let) {
      expr::agg::ParseScope scope;
      scope.context = &context_;
      ASSIGN_OR_RETURN(auto expression, expr::agg::ParseExpression(e.value(), scope));
      expr::agg::EvalContext eval;
      eval.context = &context_;
      eval.root = bson::Value(document);
      eval.arena = &arena;
      eval.variables.resize(scope.slots);
      ASSIGN_OR_RETURN(bson::Value value, expression->Evaluate(eval));
      if (!value.missing()) {
        out.BeginDocument(e.name()).Append("$literal", value).End();
      }
    }
    return out.Finish();
  }

  Status Update(const Operation& operation, bson::View document, bson::View query) {
    using Matched = pipeline::SinkOptions::Matched;
    using NotMatched = pipeline::SinkOptions::NotMatched;
    ModifySpec spec;
    spec.query.filter_spec = query;
    spec.bypass_validation = bypass_validation_;
    spec.query.write_upserts = options_.not_matched == NotMatched::kInsert;
    bson::Document update;
    bson::Document variables;
    switch (options_.matched) {
      case Matched::kReplace:
        spec.update = bson::Value(document);
        break;
      case Matched::kKeepExisting:
        update = Wrapped("$setOnInsert", document);
        spec.update = bson::Value(update.view());
        break;
      case Matched::kMerge:
      case Matched::kFail:
        update = Wrapped("$set", document);
        spec.update = bson::Value(update.view());
        break;
      case Matched::kPipeline: {
        ASSIGN_OR_RETURN(variables, Variables(document));
        spec.query.let = variables;
        spec.scripts = expr::ScriptScope(context_);
        spec.update = bson::Value::Array(options_.pipeline);
        return UpdateByPipeline(operation, document, spec);
      }
    }
    return Run(operation, spec);
  }

  // Without a match a pipeline is not run: the new document is inserted as it is.
  Status UpdateByPipeline(const Operation& operation, bson::View document, ModifySpec spec) {
    bool insert = spec.query.write_upserts;
    spec.query.write_upserts = false;
    request::OpSummary summary;
    ASSIGN_OR_RETURN(ModifyResult result, Modify(operation, target_, spec, 0, {}, &summary));
    if (result.n > 0) {
      return Status::Ok();
    }
    if (insert) {
      request::InsertRequest request;
      request.bypass_validation = bypass_validation_;
      request.documents.push_back(document);
      ASSIGN_OR_RETURN(request::WriteReply inserted, Insert(operation, target_, request));
      return inserted.FirstError();
    }
    return Unmatched();
  }

  Status Run(const Operation& operation, const ModifySpec& spec) {
    request::OpSummary summary;
    ASSIGN_OR_RETURN(ModifyResult result, Modify(operation, target_, spec, 0, {}, &summary));
    return result.n == 0 ? Unmatched() : Status::Ok();
  }

  Status Unmatched() const {
    if (options_.not_matched == pipeline::SinkOptions::NotMatched::kFail) {
      return {kMergeStageNoMatchingDocument,
              "$merge could not find a matching document in the target collection for at "
              "least one document in the source collection"};
    }
    return Status::Ok();
  }

  static bson::Document Wrapped(std::string_view name, bson::View document) {
    bson::Builder out;
    out.Append(name, document);
    return out.Finish();
  }

  Engine& engine_;
  kv::Durability durability_;
  bool bypass_validation_;
  const expr::Context& context_;
  const pipeline::SinkOptions options_;
  std::string target_;
  std::vector<std::string> on_;
  bool takes_null_ = false;  // null and missing are values of `on` like others
  Status first_error_ = Status::Ok();
  int64_t written_ = 0;
};

}  // namespace

Status CheckSink(PipelineRun& run, const pipeline::SinkOptions& options) {
  return options.mode == pipeline::SinkOptions::Mode::kOut ? Status::Ok()
                                                           : MergeSink(run, options).Start();
}

Result<std::unique_ptr<plan::DocumentSink>> MakeSink(OpContext& op, PipelineRun& run,
                                                     const pipeline::SinkOptions& options) {
  if (options.mode == pipeline::SinkOptions::Mode::kOut) {
    auto out = std::make_unique<OutSink>(run, options);
    RETURN_IF_ERROR(out->Start(op));
    return std::unique_ptr<plan::DocumentSink>(std::move(out));
  }
  auto merge = std::make_unique<MergeSink>(run, options);
  RETURN_IF_ERROR(merge->Start());
  return std::unique_ptr<plan::DocumentSink>(std::move(merge));
}

}  // namespace quire::engine
