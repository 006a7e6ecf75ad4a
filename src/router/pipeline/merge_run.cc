// SPDX-License-Identifier: Apache-2.0
#include "router/pipeline/merge_run.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
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
#include "pipeline/stages/group.h"
#include "plan/pipeline_environment.h"
#include "plan/stages/lower_stages.h"
#include "quire/doc.h"
#include "request/cursor_reply.h"
#include "request/reply.h"
#include "router/core.h"
#include "router/flow/workers.h"
#include "router/routed.h"

namespace quire::router {

namespace {

// What a worker makes ahead.
constexpr size_t kAheadRows = 1000;
constexpr size_t kAheadBytes = size_t{1} << 20;

// The rows of shards as the input of a tree.
class RemoteInput final : public exec::Operator {
 public:
  explicit RemoteInput(RemoteRows* rows) : rows_(*rows) {}

  Result<bool> Next(OpContext& op, exec::Row* row) override {
    RETURN_IF_ERROR(op.CheckInterrupt());
    ASSIGN_OR_RETURN(const bool found, rows_.Next(op, row));
    if (!found && rows_.Pending()) {
      return exec::NotYet();
    }
    return found;
  }

 private:
  RemoteRows& rows_;
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
    context_.script_scope = options_.scripts;
    engine::Operation operation{core_.engine(), op_};
    operation.began = options_.began;
    operation.cluster_time = options_.cluster_time;
    RETURN_IF_ERROR(engine::FillContext(operation, options_.let, &context_));
    pipeline::PipelineOptions parsing;
    parsing.ns = options_.ns;
    parsing.internal = options_.scripts != nullptr;
    ASSIGN_OR_RETURN(stages_, pipeline::ParsePipeline(options_.pipeline, parsing, &context_));
    if (options_.partials) {
      auto* group =
          stages_.empty() ? nullptr : pipeline::As<pipeline::GroupStage>(stages_.front().get());
      if (group == nullptr) {
        return {kInternalError, "partial states are merged by a $group"};
      }
      group->set_part(pipeline::GroupStage::Part::kMergesPartials);
    }
    input_ = std::move(rows);
    std::unique_ptr<exec::Operator> input;
    if (input_ != nullptr) {
      input = std::make_unique<RemoteInput>(input_.get());
    }
    ASSIGN_OR_RETURN(root_, plan::LowerStages(op_, stages_, std::move(input), *this));
    return Status::Ok();
  }

  // Whether a stage reads other collections, and so waits where it stands.
  bool waits() const {
    return std::any_of(stages_.begin(), stages_.end(), [](const pipeline::StagePtr& stage) {
      return pipeline::OpensOthers(stage->kind());
    });
  }
  exec::Operator& root() { return *root_; }
  RemoteRows* input() { return input_.get(); }

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
    if (options_.snapshot_time) {
      out.Append("readConcern", SnapshotConcern(*options_.snapshot_time));
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

  // --- rows made ahead by workers ---
  // On a worker: makes the next rows. Leaves it, to go on later, where the shards' rows are not
  // there yet.
  void Fill() {
    MutexLock lock(fill_mutex_);
    if (MakeRows()) {
      FillLater();
    } else {
      Filled();
    }
  }
  // The same, and waits for them.
  void FillHere() {
    MutexLock lock(fill_mutex_);
    while (MakeRows()) {
      AwaitInput();
    }
    Filled();
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
    if (fill && Workers::IsOne()) {  // all of them may wait for such as this one
      FillHere();
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
  // True: the shards' rows are not there yet.
  bool MakeRows() QUIRE_REQUIRES(fill_mutex_) {
    CurrentOpScope current(&op_);
    size_t bytes = 0;
    for (size_t i = 0; i < kAheadRows && bytes < kAheadBytes; ++i) {
      exec::Row row;
      Result<bool> more = root_->Next(op_, &row);
      MutexLock lock(mutex_);
      if (!more.ok() && exec::IsNotYet(more.status())) {
        return rows_.empty();
      }
      if (!more.ok()) {
        problem_ = more.status();
        return false;
      }
      if (!*more) {
        ended_ = true;
        return false;
      }
      bytes += row.document.size();
      rows_.emplace_back(row.document);
    }
    return false;
  }
  void Filled() {
    {
      MutexLock lock(mutex_);
      filling_ = false;
    }
    news.Ring();
  }
  void FillLater() QUIRE_REQUIRES(fill_mutex_) {
    // With the bell locked: whoever lets go of the run last must not do it here.
    auto again = [weak = weak_from_this()] {
      if (std::shared_ptr<Run> self = weak.lock()) {
        Workers& workers = *self->core_.workers;
        workers.Post([self = std::move(self)] {
          if (self->listening_.exchange(false)) {
            self->Fill();
          }
        });
      }
    };
    listening_.store(true);
    listener_ = input_->News()->Listen(again);
    if (input_->HasNews() || !op_.CheckInterruptNow().ok()) {
      again();
    }
  }
  void AwaitInput() QUIRE_REQUIRES(fill_mutex_) {
    constexpr std::chrono::milliseconds kLook{50};  // whether the operation was killed
    Mutex mutex;
    std::condition_variable wake;
    bool rung = false;
    auto listener = input_->News()->Listen([&] {
      MutexLock lock(mutex);
      rung = true;
      wake.notify_one();
    });
    if (input_->HasNews()) {
      return;
    }
    MutexLock lock(mutex);
    wake.wait_for(lock.native(), kLook, [&] { return rung; });
  }

  Core& core_;
  const MergeRunOptions options_;
  std::set<std::string> off_;
  OpContext op_;
  std::shared_ptr<const expr::Collator> collator_;
  expr::Context context_;
  pipeline::Stages stages_;
  std::unique_ptr<RemoteRows> input_;  // null: the pipeline has a source of its own
  std::unique_ptr<exec::Operator> root_;
  Mutex fill_mutex_;  // before mutex_: one at a time makes rows
  std::atomic<bool> listening_ = false;
  std::unique_ptr<Bell::Listener> listener_ QUIRE_GUARDED_BY(fill_mutex_);  // to the input
  Mutex mutex_;
  std::deque<bson::Document> rows_ QUIRE_GUARDED_BY(mutex_);
  Status problem_ QUIRE_GUARDED_BY(mutex_);
  bool ended_ QUIRE_GUARDED_BY(mutex_) = false;
  bool filling_ QUIRE_GUARDED_BY(mutex_) = false;
  bool pending_ QUIRE_GUARDED_BY(mutex_) = false;
};

// Rows that are made on the thread that wants them.
class MergeRows final : public run::RowSource {
 public:
  explicit MergeRows(std::shared_ptr<Run> run) : run_(std::move(run)) {}

  Result<bool> Next(OpContext& op, exec::Row* row) override {
    pending_ = false;
    if (ended_) {
      return false;
    }
    Result<bool> more = run_->root().Next(op, row);
    if (!more.ok() && exec::IsNotYet(more.status())) {
      pending_ = true;
      return false;
    }
    ended_ = more.ok() && !*more;
    return more;
  }
  Status Refresh(OpContext&) override { return Status::Ok(); }
  Bell* News() override { return run_->input() == nullptr ? nullptr : run_->input()->News(); }
  bool HasNews() const override { return run_->input() == nullptr || run_->input()->HasNews(); }
  bool Pending() const override { return pending_; }
  Status Check() const override { return Status::Ok(); }
  std::string PlanSummary() const override { return ""; }
  exec::Counters Totals() const override { return {}; }
  bool AtEnd() const override { return ended_; }

 private:
  std::shared_ptr<Run> run_;
  bool pending_ = false;
  bool ended_ = false;
};

// Rows that workers make.
class WorkedRows final : public run::RowSource {
 public:
  explicit WorkedRows(std::shared_ptr<Run> run) : run_(std::move(run)) {}
  ~WorkedRows() override { run_->Kill(); }

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
  if (run->waits()) {
    return std::unique_ptr<run::RowSource>(std::make_unique<WorkedRows>(std::move(run)));
  }
  return std::unique_ptr<run::RowSource>(std::make_unique<MergeRows>(std::move(run)));
}

}  // namespace quire::router
