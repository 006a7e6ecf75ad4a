// SPDX-License-Identifier: Apache-2.0
#include "command/data/far_sink.h"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error_codes.h"
#include "base/try.h"
#include "engine/read/aggregate.h"
#include "engine/replication.h"
#include "engine/write/out_collection.h"
#include "quire/doc.h"
#include "request/reply.h"
#include "run/condition.h"

namespace quire::command {

namespace {

constexpr size_t kMostBytes = size_t{8} << 20;
constexpr size_t kMostDocuments = 10'000;
// For the primary's answer to a batch, and to what ends a large $out.
constexpr std::chrono::minutes kBatchTimeout{2};
constexpr std::chrono::minutes kEndTimeout{30};
bool IsSink(bson::View stage) { return stage.Has("$out") || stage.Has("$merge"); }

class FarSink : public std::enable_shared_from_this<FarSink> {
 public:
  FarSink(Invocation& i, bson::View sink, std::shared_ptr<run::Cursor> cursor)
      : engine_(i.engine),
        call_(i.call),
        cursor_(std::move(cursor)),
        database_(i.database()),
        sink_(sink),
        replaces_(sink.Has("$out")) {
    bson::Builder further;
    for (const char* name : {"bypassDocumentValidation", "collation", "let"}) {
      if (bson::Value value = i.body()[name]; !value.missing()) {
        further.Append(name, value);
      }
    }
    further_ = further.Finish();
    if (const bson::Value concern = i.body()["writeConcern"]; concern.is_document()) {
      concern_ = bson::Document(concern.AsDocument());
    }
  }

  // Sends the next batch, and what follows once that is written.
  Status Next() {
    ASSIGN_OR_RETURN(const bool last, Read());
    if (last && (!replaces_ || temporary_.empty())) {
      return Ask(Batch(sink_, true), kBatchTimeout,
                 [this](bson::View reply) { return End(reply); });
    }
    const bson::Document stage = replaces_ ? CollectingStage() : bson::Document(sink_.view());
    const size_t count = documents_.size();
    return Ask(Batch(stage, false), kBatchTimeout, [this, last, count](bson::View) {
      collected_ += static_cast<int64_t>(count);
      return last ? CountCollected() : Next();
    });
  }

 private:
  using Then = std::function<Status(bson::View reply)>;

  // Whether the rows have come to their end. A batch fits into a command, whatever its documents.
  Result<bool> Read() {
    size_t bytes = 0;
    if (held_) {
      bytes = held_->view().size();
      documents_.push_back(*std::exchange(held_, std::nullopt));
    }
    exec::Row row;
    while (documents_.size() < kMostDocuments) {
      ASSIGN_OR_RETURN(const bool more, cursor_->source->Next(call_.op, &row));
      if (!more) {
        return true;
      }
      bytes += row.document.size();
      if (bytes > kMostBytes && !documents_.empty()) {
        held_ = bson::Document(row.document);
        return false;
      }
      documents_.emplace_back(row.document);
    }
    return false;
  }

  // What writes the first part of a large $out, and then the others.
  bson::Document CollectingStage() {
    if (temporary_.empty()) {
      temporary_ = std::string(engine::kCollectedElsewhere) + bson::ObjectId::Generate().ToHex();
      return Doc("$out", Doc("db", TargetDatabase(), "coll", temporary_));
    }
    return Doc("$merge", Doc("into", Doc("db", TargetDatabase(), "coll", temporary_), "whenMatched",
                             "fail", "whenNotMatched", "insert"));
  }

  std::string TargetDatabase() const {
    const bson::Value out = sink_["$out"];
    const bson::Value named = out.is_document() ? out.AsDocument()["db"] : bson::Value();
    return named.is_string() ? std::string(named.AsString()) : database_;
  }

  // {aggregate: 1, pipeline: [{$documents: ...}, stage]}. Only the last one waits as the client
  // wants it to.
  bson::Document Batch(bson::View stage, bool last) {
    bson::Builder out;
    out.Append("aggregate", 1).BeginArray("pipeline").PushDocument();
    if (documents_.empty()) {
      out.BeginArray("$documents").End();
    } else {
      out.BeginDocument("$documents").BeginArray("$literal");
      for (const bson::Document& document : documents_) {
        out.Push(document);
      }
      out.End().End();
    }
    out.End().Push(stage).End();
    documents_.clear();
    AppendRest(last, database_, &out);
    return out.Finish();
  }

  void AppendRest(bool last, const std::string& database, bson::Builder* out) const {
    out->BeginDocument("cursor").End().AppendFields(further_);
    if (!last) {
      out->Append("writeConcern", Doc("w", 1));
    } else if (!concern_.view().empty()) {
      out->Append("writeConcern", concern_);
    }
    out->Append("$db", database);
  }

  // Somebody may have dropped it meanwhile: then what came later is all that is there.
  Status CountCollected() {
    const bson::Document count = Doc("aggregate", temporary_, "pipeline", List(Doc("$count", "n")),
                                     "cursor", Doc(), "$db", TargetDatabase());
    return Ask(count, kEndTimeout, [this](bson::View reply) -> Status {
      const bson::View rows = reply["cursor"].AsDocument()["firstBatch"].AsArray();
      if (rows.empty() || request::CountIn(rows.front().value().AsDocument()["n"]) != collected_) {
        return {kOperationFailed, "the collection of $out's documents was changed meanwhile"};
      }
      return ReplaceTarget();
    });
  }

  Status ReplaceTarget() {
    bson::Builder out;
    out.Append("aggregate", temporary_).BeginArray("pipeline").Push(sink_).End();
    AppendRest(true, TargetDatabase(), &out);
    return Ask(out.Finish(), kEndTimeout, [this](bson::View reply) {
      DropTemporary();
      return End(reply);
    });
  }

  void DropTemporary() {
    if (!temporary_.empty()) {
      engine_.replication->AskPrimary(Doc("drop", std::exchange(temporary_, ""), "writeConcern",
                                          Doc("w", 1), "$db", TargetDatabase()),
                                      kBatchTimeout, [](const Result<bson::Document>&) {});
    }
  }

  Status End(bson::View reply) {
    if (bson::Value error = reply["writeConcernError"]; error.is_document()) {
      call_.write_concern_error = bson::Document(error.AsDocument());
    }
    call_.reply.BeginDocument("cursor")
        .BeginArray("firstBatch")
        .End()
        .Append("id", int64_t{0})
        .Append("ns", cursor_->ns)
        .End();
    return Status::Ok();
  }

  // `then` gets the reply, when it is no error.
  Status Ask(bson::Document command, std::chrono::milliseconds timeout, Then then) {
    struct Received {
      run::Answer answer;
      bson::Document reply;  // written before the answer is given
    };
    auto received = std::make_shared<Received>();
    engine_.replication->AskPrimary(std::move(command), timeout,
                                    [received](Result<bson::Document> reply) {
                                      if (!reply.ok()) {
                                        received->answer.Give(reply.status());
                                        return;
                                      }
                                      received->reply = *std::move(reply);
                                      received->answer.Give(request::StatusOf(received->reply));
                                    });
    std::shared_ptr<run::Answer> answer(received, &received->answer);
    run::AwaitAnswer(std::move(answer), nullptr, call_,
                     [self = shared_from_this(), received, then = std::move(then)](Status status) {
                       return self->Heard(std::move(status), received->reply, then);
                     });
    return Status::Ok();
  }

  Status Heard(Status status, bson::View reply, const Then& then) {
    if (status.ok()) {
      if (bson::Value time = reply["operationTime"]; time.type() == bson::Type::kTimestamp) {
        engine_.clock().Advance(time.AsTimestamp());
        call_.operation_time = time.AsTimestamp();
      }
      status = then(reply);
    }
    if (!status.ok()) {
      DropTemporary();
    }
    return status;
  }

  engine::Engine& engine_;
  request::Call& call_;
  const std::shared_ptr<run::Cursor> cursor_;
  const std::string database_;
  const bson::Document sink_;
  const bool replaces_;
  bson::Document further_;  // what else the client says of the writes
  bson::Document concern_;
  std::vector<bson::Document> documents_;  // of the next batch
  std::optional<bson::Document> held_;     // what did not fit into it
  std::string temporary_;                  // of a large $out, once it was begun
  int64_t collected_ = 0;
};

}  // namespace

bool WritesElsewhere(const Invocation& i, const request::AggregateRequest& request) {
  if (i.engine.replication == nullptr || i.engine.replication->status()->writable ||
      i.commands.in_cluster()) {
    return false;
  }
  // What is not a pipeline with one sink, at its end, is refused as everywhere.
  int sinks = 0;
  bool ends = false;
  for (const bson::Element& e : request.pipeline.view) {
    const bson::View stage = e.value().is_document() ? e.value().AsDocument() : bson::View();
    if (stage.Has("$changeStream")) {
      return false;
    }
    ends = IsSink(stage);
    sinks += ends ? 1 : 0;
  }
  return ends && sinks == 1;
}

Status RunFarSink(Invocation& i, const request::AggregateRequest& request) {
  bson::Builder stages;
  stages.BeginArray("pipeline");
  bson::View sink;
  for (const bson::Element& e : request.pipeline.view) {
    const bson::View stage = e.value().AsDocument();
    if (IsSink(stage)) {
      sink = stage;
    } else {
      stages.Push(stage);
    }
  }
  const bson::Document reading = stages.End().Finish();
  request::AggregateRequest read = request;
  read.pipeline.view = reading["pipeline"].AsArray();
  ASSIGN_OR_RETURN(auto cursor, engine::Aggregate(i.operation, i.database(), read));
  return std::make_shared<FarSink>(i, sink, std::move(cursor))->Next();
}

}  // namespace quire::command
