// SPDX-License-Identifier: Apache-2.0
#include "router/pipeline/merge_run.h"

#include <deque>
#include <set>

#include "base/current_op.h"
#include "base/error_codes.h"
#include "base/mutex.h"
#include "base/try.h"
#include "command/auth/login.h"
#include "expr/collation/collator.h"
#include "pipeline/parse.h"
#include "pipeline/rewrite.h"
#include "plan/pipeline_environment.h"
#include "plan/stages/lower_stages.h"
#include "quire/doc.h"
#include "request/cursor_reply.h"
#include "request/reply.h"
#include "router/core.h"
#include "router/flow/workers.h"

namespace quire::router {

namespace {

// What a worker makes ahead.
constexpr size_t kAheadRows = 1000;
constexpr size_t kAheadBytes = size_t{1} << 20;

// The rows of shards for an operator that waits where it stands.
class RemoteInput final : public exec::Operator {
 public:
  explicit RemoteInput(std::unique_ptr<RemoteRows> rows) : rows_(std::move(rows)) {}

  Result<bool> Next(OpContext& op, exec::Row* row) override {
    while (true) {
      RETURN_IF_ERROR(op.CheckInterruptNow());
      ASSIGN_OR_RETURN(const bool found, rows_->Next(op, row));
      if (found || !rows_->Pending()) {
        return found;
      }
      Await();
    }
  }

 private:
  void Await() {
    constexpr std::chrono::milliseconds kLook{50};  // whether the operation was killed
    Mutex mutex;
    std::condition_variable wake;
    bool rung = false;
    auto listener = rows_->News()->Listen([&] {
      MutexLock lock(mutex);
      rung = true;
      wake.notify_one();
    });
    if (rows_->HasNews()) {
      return;
    }
    MutexLock lock(mutex);
    wake.wait_for(lock.native(), kLook, [&] { return rung; });
  }

  std::unique_ptr<RemoteRows> rows_;
};

// The documents of another collection, asked for as a client of the router itself would.
class OwnQuery final : public exec::Operator {
 public:
  OwnQuery(Core* core, std::string database, bson::Document command)
      : core_(*core), database_(std::move(database)), command_(std::move(command)) {
    if (core_.commands.info()
            .access_control) {  // what it needs was checked with the whole pipeline
      command::SetLogin(client_,
                        core_.commands.members.Make(core_.commands.accounts_version.load()));
    }
  }
  ~OwnQuery() override {
    if (id_ != 0) {
      bson::Builder kill;
      kill.Append("killCursors", collection_).BeginArray("cursors").Push(id_).End();
      kill.Append("$db", database_);
      Run(kill.Finish());
    }
  }

  Result<bool> Next(OpContext& op, exec::Row* row) override {
    while (true) {
      RETURN_IF_ERROR(op.CheckInterruptNow());
      if (next_ < rows_.size()) {
        row->document = rows_[next_++];
        return true;
      }
      if (asked_ && id_ == 0) {
        return false;
      }
      RETURN_IF_ERROR(Ask());
    }
  }

 private:
  bson::Document Run(const bson::Document& command) {
    request::Request request;
    request.body = command;
    request.database = database_;
    std::string reply;
    core_.commands.Run(client_, request, &reply);
    return bson::Document::FromTrusted(std::move(reply));
  }

  Status Ask() {
    if (!asked_) {
      reply_ = Run(command_);
    } else {
      reply_ = Run(Doc("getMore", id_, "collection", collection_, "$db", database_));
    }
    asked_ = true;
    RETURN_IF_ERROR(request::StatusOf(reply_));
    ASSIGN_OR_RETURN(const auto cursor, request::CursorReply::Read(reply_));
    id_ = cursor.id;
    collection_ = cursor.ns.substr(cursor.ns.find('.') + 1);
    rows_.clear();
    next_ = 0;
    for (const bson::Element& document : cursor.batch) {
      rows_.push_back(document.value().AsDocument());
    }
    return Status::Ok();
  }

  Core& core_;
  request::Client client_;
  const std::string database_;
  const bson::Document command_;
  std::string collection_;
  bool asked_ = false;
  int64_t id_ = 0;
  bson::Document reply_;
  std::vector<bson::View> rows_;
  size_t next_ = 0;
};

// A tree of operators with all that they refer to, and the rows made ahead.
class Run final : public plan::PipelineEnvironment, public std::enable_shared_from_this<Run> {
 public:
  Run(Core* core, MergeRunOptions options) : core_(*core), options_(std::move(options)) {
    for (std::string_view name : pipeline::RewriteNames()) {
      off_.emplace(name);
    }
    op_.memory_limit = options_.memory_limit;
  }

  Status Open(std::unique_ptr<RemoteRows> rows) {
    if (!options_.collation.empty()) {
      ASSIGN_OR_RETURN(collator_, expr::Collator::Parse(options_.collation));
      context_.collator = collator_.get();
    }
    engine::Operation operation{core_.engine(), op_};
    RETURN_IF_ERROR(engine::FillContext(operation, options_.let, &context_));
    pipeline::PipelineOptions parsing;
    parsing.ns = options_.ns;
    ASSIGN_OR_RETURN(stages_, pipeline::ParsePipeline(options_.pipeline, parsing, &context_));
    std::unique_ptr<exec::Operator> input;
    if (rows != nullptr) {
      input = std::make_unique<RemoteInput>(std::move(rows));
    }
    ASSIGN_OR_RETURN(root_, plan::LowerStages(op_, stages_, std::move(input), *this));
    return Status::Ok();
  }

  // --- PipelineEnvironment ---
  bool allow_disk_use() const override { return options_.allow_disk_use; }
  const std::set<std::string>& rewrites_off() const override { return off_; }
  bool HasIndexOn(const pipeline::Namespace&, std::string_view) override { return false; }

  Result<std::unique_ptr<exec::Operator>> OpenPipeline(OpContext&, const pipeline::Namespace& ns,
                                                       pipeline::Stages stages,
                                                       const expr::Context& context) override {
    bson::Builder out;
    if (ns.collection.empty()) {
      out.Append("aggregate", 1);
    } else {
      out.Append("aggregate", ns.collection);
    }
    out.BeginArray("pipeline");
    for (size_t i = 0; i < stages.size(); ++i) {
      const pipeline::Stage& stage = *stages[i];
      const bool again = i > 0 && stages[i - 1]->name() == stage.name() &&
                         stages[i - 1]->kind() != stage.kind() &&
                         stages[i - 1]->spec().BinaryEquals(stage.spec());
      if (!again) {
        out.PushDocument().Append(stage.name(), stage.spec()).End();
      }
    }
    out.End().BeginDocument("cursor").End();
    if (!options_.collation.empty()) {
      out.Append("collation", options_.collation);
    }
    if (!context.let.empty()) {
      out.BeginDocument("let");
      for (const auto& [name, value] : context.let) {
        out.BeginDocument(name).Append("$literal", value.value()).End();
      }
      out.End();
    }
    out.Append("$db", ns.database);
    return std::unique_ptr<exec::Operator>(
        std::make_unique<OwnQuery>(&core_, ns.database, out.Finish()));
  }

  Result<std::unique_ptr<exec::Operator>> OpenSource(OpContext&, std::string_view stage,
                                                     const bson::Value&) override {
    return Status(kIllegalOperation, std::string(stage) + " cannot run behind other stages");
  }

  Result<std::unique_ptr<plan::DocumentSink>> OpenSink(OpContext&,
                                                       const pipeline::SinkOptions&) override {
    return Status(kInternalError, "a sink is written by its routine");
  }

  // --- rows ---
  // On a worker: makes the next rows.
  void Fill() {
    CurrentOpScope current(&op_);
    size_t bytes = 0;
    for (size_t i = 0; i < kAheadRows && bytes < kAheadBytes; ++i) {
      exec::Row row;
      Result<bool> more = root_->Next(op_, &row);
      MutexLock lock(mutex_);
      if (!more.ok()) {
        problem_ = more.status();
        break;
      }
      if (!*more) {
        ended_ = true;
        break;
      }
      bytes += row.document.size();
      rows_.emplace_back(row.document);
    }
    {
      MutexLock lock(mutex_);
      filling_ = false;
    }
    news.Ring();
  }

  // False: none is there now.
  Result<bool> Take(bson::Document* document) {
    bool fill = false;
    {
      MutexLock lock(mutex_);
      if (!rows_.empty()) {
        *document = std::move(rows_.front());
        rows_.pop_front();
        pending_ = false;
        return true;
      }
      RETURN_IF_ERROR(problem_);
      pending_ = !ended_;
      fill = !ended_ && !filling_;
      filling_ = filling_ || fill;
    }
    if (fill && Workers::IsOne()) {
      Fill();
      return Take(document);
    }
    if (fill) {
      core_.workers->Post([self = shared_from_this()] { self->Fill(); });
    }
    return false;
  }

  // Whether Take gave none because rows are being made. They may be there by now.
  bool Pending() {
    MutexLock lock(mutex_);
    return pending_;
  }
  bool HasNews() {
    MutexLock lock(mutex_);
    return !rows_.empty() || !problem_.ok() || ended_;
  }
  bool AtEnd() {
    MutexLock lock(mutex_);
    return rows_.empty() && ended_;
  }
  void Kill() { op_.Kill(kCursorKilled); }

  Bell news;

 private:
  Core& core_;
  const MergeRunOptions options_;
  std::set<std::string> off_;
  OpContext op_;
  std::shared_ptr<const expr::Collator> collator_;
  expr::Context context_;
  pipeline::Stages stages_;
  std::unique_ptr<exec::Operator> root_;
  Mutex mutex_;
  std::deque<bson::Document> rows_ QUIRE_GUARDED_BY(mutex_);
  Status problem_ QUIRE_GUARDED_BY(mutex_);
  bool ended_ QUIRE_GUARDED_BY(mutex_) = false;
  bool filling_ QUIRE_GUARDED_BY(mutex_) = false;
  bool pending_ QUIRE_GUARDED_BY(mutex_) = false;
};

class MergeRows final : public run::RowSource {
 public:
  explicit MergeRows(std::shared_ptr<Run> run) : run_(std::move(run)) {}
  ~MergeRows() override { run_->Kill(); }

  Result<bool> Next(OpContext&, exec::Row* row) override {
    ASSIGN_OR_RETURN(const bool found, run_->Take(&current_));
    if (found) {
      row->document = current_;
    }
    return found;
  }
  Status Refresh(OpContext&) override { return Status::Ok(); }
  Bell* News() override { return &run_->news; }
  bool HasNews() const override { return run_->HasNews(); }
  bool Pending() const override { return run_->Pending(); }
  Status Check() const override { return Status::Ok(); }
  std::string PlanSummary() const override { return ""; }
  exec::Counters Totals() const override { return {}; }
  bool AtEnd() const override { return run_->AtEnd(); }

 private:
  std::shared_ptr<Run> run_;
  bson::Document current_;
};

}  // namespace

Result<std::unique_ptr<run::RowSource>> OpenMergeRun(Core* core, MergeRunOptions options,
                                                     std::unique_ptr<RemoteRows> input) {
  auto run = std::make_shared<Run>(core, std::move(options));
  RETURN_IF_ERROR(run->Open(std::move(input)));
  return std::unique_ptr<run::RowSource>(std::make_unique<MergeRows>(std::move(run)));
}

}  // namespace quire::router
