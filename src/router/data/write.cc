// SPDX-License-Identifier: Apache-2.0
//
// insert, update and delete over shards.
#include "router/data/write.h"

#include <algorithm>
#include <array>

#include "base/error_codes.h"
#include "base/try.h"
#include "quire/doc.h"
#include "request/crud.h"
#include "request/reply.h"
#include "router/core.h"
#include "router/data/forward.h"
#include "router/data/one_write.h"
#include "router/data/target.h"
#include "router/data/write_outcome.h"
#include "router/data/write_parts.h"
#include "router/remote/errors.h"
#include "router/rows.h"
#include "run/write_concern.h"

namespace quire::router {

namespace {

using placement::WriteWay;
using request::WriteReply;

// A batch on its way.
struct Batch {
  std::string ns;
  std::string_view array;  // "documents", "updates", "deletes"
  bson::Document whole;    // the command
  bool ordered = true;
  bool numbered = false;        // its statements are remembered by shards
  bool in_transaction = false;  // of several documents: any error of a shard ends it
  bson::View let;
  std::vector<WriteStatement> statements;
  std::vector<size_t> open;  // places of those that have no answer yet
  WriteReply reply;
  std::vector<bson::Document> concern_errors;
  std::vector<Status> each_errors;  // of the statement that several shards are running
};

bson::View DocumentIn(bson::View statement, std::string_view name) {
  const bson::Value value = statement[name];
  return value.is_document() ? value.AsDocument() : bson::View();
}

bool FlagIn(bson::View statement, std::string_view name) {
  const bson::Value value = statement[name];
  return value.type() == bson::Type::kBool && value.AsBool();
}

bool IsMulti(const Batch& batch, bson::View statement) {
  return batch.array == "updates" ? FlagIn(statement, "multi")
                                  : request::CountIn(statement["limit"]) == 0;
}

void AddError(Batch* batch, size_t place, Status status) {
  WriteReply failed;
  failed.errors.push_back({0, std::move(status)});
  const int32_t index = batch->statements[place].index;
  batch->reply.Add(std::move(failed), [index](int32_t) { return index; });
}

// --- which shards ---

Status TargetOne(Routed& request, const Route& route, const Batch& batch,
                 WriteStatement* statement) {
  statement->way = WriteWay::kDirect;
  if (!route.sharded()) {
    statement->shards = {route.database.primary};
    return Status::Ok();
  }
  if (batch.array == "documents") {
    ASSIGN_OR_RETURN(placement::ShardName shard,
                     placement::TargetInsert(*route.chunks, statement->document));
    statement->shards = {std::move(shard)};
    return Status::Ok();
  }
  const bson::View fields = statement->document;
  const Query query{DocumentIn(fields, "q"), DocumentIn(fields, "collation"), batch.let};
  placement::WriteWish wish;
  wish.multi = IsMulti(batch, fields);
  wish.upsert = FlagIn(fields, "upsert");
  ASSIGN_OR_RETURN(const placement::WriteTargets targets,
                   TargetChange(request, route, query, wish));
  statement->way = targets.way;
  statement->shards.assign(targets.targets.shards.begin(), targets.targets.shards.end());
  return Status::Ok();
}

// Leaves out the shards that have run the statement. False: all of them have.
bool LeaveOutAnswered(WriteStatement* statement) {
  if (statement->answered.empty()) {
    return true;
  }
  statement->way = WriteWay::kEach;
  std::erase_if(statement->shards, [&](const placement::ShardName& shard) {
    return std::find(statement->answered.begin(), statement->answered.end(), shard) !=
           statement->answered.end();
  });
  return !statement->shards.empty();
}

// The statement of several shards has run on all of them.
void EndEach(Batch* batch, size_t place) {
  if (!batch->each_errors.empty()) {
    AddError(batch, place, MergeErrors(batch->each_errors));
    batch->each_errors.clear();
  }
}

// Targets everything that is open. What cannot be targeted has its error; nothing behind it is run
// when the batch is ordered.
void TargetOpen(Routed& request, const Route& route, Batch* batch) {
  std::vector<size_t> open;
  for (const size_t place : batch->open) {
    WriteStatement& statement = batch->statements[place];
    Status status = TargetOne(request, route, *batch, &statement);
    if (status.ok()) {
      if (LeaveOutAnswered(&statement)) {
        open.push_back(place);
      } else {
        EndEach(batch, place);
      }
      continue;
    }
    // Those before it are run first.
    if (batch->ordered && !open.empty()) {
      statement.shards.clear();
      open.push_back(place);
      break;
    }
    AddError(batch, place, std::move(status));
    if (batch->ordered) {
      break;
    }
  }
  batch->open = std::move(open);
}

// --- a statement about one document that may be on any of several shards ---

class StatementWrite final : public OneWrite {
 public:
  StatementWrite(const Batch* batch, size_t place)
      : batch_(*batch), fields_(batch->statements[place].document) {
    ns = batch->ns;
    filter = DocumentIn(fields_, "q");
    sort = DocumentIn(fields_, "sort");
    collation = DocumentIn(fields_, "collation");
    let = batch->let;
    hint = fields_["hint"];
    upsert = FlagIn(fields_, "upsert");
    statement = batch->statements[place].number;
  }

  bson::Document Command(bson::View with_filter, bool upserts) const override {
    bson::Builder out;
    for (const bson::Element& field : fields_) {
      if (field.name() == "q") {
        out.Append("q", with_filter);
      } else if (upserts || field.name() != "upsert") {
        out.Append(field);
      }
    }
    return Alone(out.Finish());
  }

  bson::Document Making(bson::View document) const override {
    const bson::Document making = MakingFilter(document);
    bson::Builder out;
    out.Append("q", making).Append("u", document).Append("upsert", true);
    if (!collation.empty()) {
      out.Append("collation", collation);
    }
    return Alone(out.Finish());
  }

  std::optional<bson::Document> NoneMatched() const override { return Doc("n", 0); }

  bson::Document Repeated(bson::View answer) const override {
    WriteReply reply;
    reply.n = request::CountIn(answer["n"]);
    reply.modified = request::CountIn(answer["nModified"]);
    if (const bson::Value id = answer["upserted"]; !id.missing()) {
      reply.upserted.push_back({0, bson::OwnedValue(id)});
    }
    reply.retried = {statement};
    bson::Builder out;
    reply.AppendTo(&out, true);
    return out.Finish();
  }

  bool Matched(bson::View reply) const override { return request::CountIn(reply["n"]) > 0; }

  Status ErrorIn(const Heard& heard) const override {
    if (!heard.reply.ok()) {
      return Status::Ok();
    }
    auto reply = WriteReply::Read(*heard.reply);
    return reply.ok() ? reply->FirstError() : reply.status();
  }

 private:
  bson::Document Alone(bson::Document statement_of) const {
    std::vector<WriteStatement> one;
    one.push_back({0, std::move(statement_of), WriteWay::kDirect, {}, statement});
    const WritePart part{{}, {0}};
    return PartCommand(batch_.whole, batch_.array, one, part, batch_.numbered);
  }

  const Batch& batch_;
  const bson::View fields_;
};

// --- answers ---

// A document that an upsert makes on another shard than the one that was asked.
struct Displaced {
  size_t place;
  Status error;
};

// What a round of requests has brought.
struct Round {
  std::vector<bool> done;  // by place
  std::vector<Displaced> displaced;
  bool goes_on = true;  // false: the batch ends here

  explicit Round(const Batch& batch) : done(batch.statements.size()) {}
  void Close(Batch* batch) const {
    std::erase_if(batch->open, [&](size_t place) { return done[place]; });
  }
};

// Ends the command, whatever statement it is of.
bool EndsCommand(const Batch& batch, int code) {
  static constexpr std::array<int, 7> kCodes = {
      kMaxTimeMSExpired, kInterrupted,       kInterruptedAtShutdown, kClientDisconnect,
      kStaleConfig,      kTransactionTooOld, kNoSuchTransaction};
  return batch.in_transaction || std::find(kCodes.begin(), kCodes.end(), code) != kCodes.end();
}

// The shard could not be asked: its own statements have failed, no others.
bool IsUnreachable(int code) {
  return IsNetworkError(code) || IsNotPrimary(code) || IsStepDown(code) ||
         code == kFailedToSatisfyReadPreference;
}

void Settle(Batch* batch, const WritePart& part, std::vector<request::WriteError> errors,
            Round* round) {
  const size_t first = part.statements.front();
  if (batch->statements[first].way == WriteWay::kEach) {
    batch->statements[first].answered.push_back(part.shard);
    for (request::WriteError& error : errors) {
      batch->each_errors.push_back(std::move(error.status));
    }
    return;
  }
  for (const size_t place : part.statements) {
    round->done[place] = true;
  }
  for (request::WriteError& error : errors) {
    const size_t place = part.statements[static_cast<size_t>(error.index)];
    bson::Value upserts;
    if (error.status.code() == kWouldChangeOwningShard && !error.status.extra().empty()) {
      upserts = bson::View(error.status.extra().data())["shouldUpsert"];
      const bool made = upserts.type() == bson::Type::kBool && upserts.AsBool();
      if (made && (batch->numbered || batch->in_transaction)) {
        round->displaced.push_back({place, std::move(error.status)});
        // Those behind it have not been run.
        for (size_t i = static_cast<size_t>(error.index);
             batch->ordered && i < part.statements.size(); ++i) {
          round->done[part.statements[i]] = false;
        }
        round->done[place] = false;
        continue;
      }
      error.status = made ? KeyChangeNotAllowed() : KeyChangeOverShards();
    }
    AddError(batch, place, ForClients(error.status));
    round->goes_on = !batch->ordered;
  }
}

// Puts a shard's answer to a part where it belongs. Error: of the whole command.
Status TakeAnswer(Batch* batch, const WritePart& part, const Heard& heard, Round* round) {
  std::vector<request::WriteError> errors;
  if (!heard.reply.ok()) {
    Status status = ForClients(heard.reply.status());
    if (batch->in_transaction || !IsUnreachable(heard.reply.status().code())) {
      return status;
    }
    for (size_t i = 0; i < (batch->ordered ? 1 : part.statements.size()); ++i) {
      errors.push_back({static_cast<int32_t>(i), status});
    }
  } else {
    ASSIGN_OR_RETURN(WriteReply reply, WriteReply::Read(*heard.reply));
    errors = std::exchange(reply.errors, {});
    if (!reply.write_concern_error.empty()) {
      batch->concern_errors.push_back(std::exchange(reply.write_concern_error, {}));
    }
    batch->reply.Add(std::move(reply), [&](int32_t i) {
      return batch->statements[part.statements[static_cast<size_t>(i)]].index;
    });
  }
  Settle(batch, part, std::move(errors), round);
  return Status::Ok();
}

// --- sending ---

// A round of one statement about one document.
Task<Status> RunOne(Routed& request, RoutePtr* route, Batch* batch, size_t place, Round* round,
                    bool* stale) {
  const StatementWrite write(batch, place);
  Result<Heard> answer =
      co_await WriteOne(request, route, write, batch->statements[place].shards, stale);
  if (!answer.ok()) {
    if (EndsCommand(*batch, answer.status().code())) {
      co_return answer.status();
    }
    round->done[place] = true;
    AddError(batch, place, answer.status());
    round->goes_on = !batch->ordered;
    co_return Status::Ok();
  }
  if (*stale) {
    co_return Status::Ok();
  }
  const WritePart part{answer->shard, {place}};
  co_return TakeAnswer(batch, part, *answer, round);
}

// A round of statements whose shards are known.
Task<Status> RunParts(Routed& request, RoutePtr* route, Batch* batch, Round* round, bool* stale) {
  const std::vector<WritePart> parts = NextParts(batch->statements, batch->open, batch->ordered);
  std::vector<Part> sent;
  for (const WritePart& part : parts) {
    sent.push_back({part.shard, PartCommand(batch->whole, batch->array, batch->statements, part,
                                            batch->numbered)});
  }
  Result<std::vector<Heard>> heard = co_await AskVersioned(request, route, std::move(sent), stale);
  CO_RETURN_IF_ERROR(heard.status());
  for (size_t i = 0; i < parts.size(); ++i) {
    const Heard& one = (*heard)[i];
    if (one.reply.ok() || !IsStale(one.reply.status().code())) {
      CO_RETURN_IF_ERROR(TakeAnswer(batch, parts[i], one, round));
    }
  }
  const size_t first = parts.front().statements.front();
  if (!*stale && batch->statements[first].way == WriteWay::kEach) {
    round->done[first] = true;
    const size_t errors = batch->reply.errors.size();
    EndEach(batch, first);
    round->goes_on = !batch->ordered || batch->reply.errors.size() == errors;
  }
  co_return Status::Ok();
}

// Makes what upserts have left to other shards.
Task<Status> RunDisplaced(Routed& request, RoutePtr* route, Batch* batch, Round* round,
                          bool* stale) {
  const std::vector<Displaced> displaced = std::exchange(round->displaced, {});
  for (const Displaced& one : displaced) {
    const StatementWrite write(batch, one.place);
    Result<Heard> made = co_await MakeAtOwner(request, route, write, one.error, stale);
    CO_RETURN_IF_ERROR(made.status());
    if (*stale) {
      co_return Status::Ok();
    }
    const WritePart part{made->shard, {one.place}};
    CO_RETURN_IF_ERROR(TakeAnswer(batch, part, *made, round));
  }
  co_return Status::Ok();
}

Task<Status> RunBatch(Routed& request, Batch* batch, RoutePtr route) {
  int refreshes = 0;
  TargetOpen(request, *route, batch);
  while (!batch->open.empty()) {
    const size_t first = batch->open.front();
    if (batch->statements[first].shards.empty()) {  // those before it are done
      TargetOpen(request, *route, batch);
      continue;
    }
    bool stale = false;
    Round round(*batch);
    Status status = Status::Ok();
    if (batch->statements[first].way == WriteWay::kTwoPhase) {
      status = co_await RunOne(request, &route, batch, first, &round, &stale);
    } else {
      status = co_await RunParts(request, &route, batch, &round, &stale);
    }
    CO_RETURN_IF_ERROR(status);
    if (!round.displaced.empty() && !stale) {
      status = co_await RunDisplaced(request, &route, batch, &round, &stale);
      CO_RETURN_IF_ERROR(status);
    }
    round.Close(batch);
    if (!round.goes_on) {
      break;
    }
    if (stale) {
      if (++refreshes > kMostRefreshes) {
        co_return AlwaysStale(batch->ns);
      }
      TargetOpen(request, *route, batch);
    }
  }
  batch->reply.write_concern_error = MergeConcernErrors(batch->concern_errors);
  co_return Status::Ok();
}

// --- the command ---

// An _id for a document that has none. The statement of a retryable write gives it the same one
// each time, so that it goes to the same shard.
bson::ObjectId NewId(Routed& request, int32_t number) {
  if (!IsRetryable(request)) {
    return bson::ObjectId::Generate();
  }
  std::string seed(request.call().generic.lsid);
  seed += '/' + std::to_string(*request.call().generic.txn_number) + '/' + std::to_string(number);
  bson::ObjectId id;
  uint64_t hash = 0xcbf29ce484222325ULL;
  for (size_t round = 0; round < id.bytes.size(); round += 4) {
    for (const char byte : seed) {
      hash = (hash ^ static_cast<uint8_t>(byte)) * 0x100000001b3ULL;
    }
    hash ^= hash >> 29;
    for (size_t i = 0; i < 4; ++i) {
      id.bytes[round + i] = static_cast<uint8_t>(hash >> (8 * i + 16));
    }
  }
  return id;
}

bson::Document WithId(Routed& request, bson::View document, int32_t number) {
  if (document.Has("_id")) {
    return bson::Document(document);
  }
  bson::Builder out;
  out.Append("_id", NewId(request, number)).AppendFields(document);
  return out.Finish();
}

// The number of the statement in a retryable write.
int32_t NumberOf(bson::View whole, int32_t index) {
  const bson::Value list = whole["stmtIds"];
  if (list.is_array()) {
    const bson::Value number = list.AsArray()[std::to_string(index)];
    return number.type() == bson::Type::kInt32 ? number.AsInt32() : index;
  }
  const bson::Value first = whole["stmtId"];
  return (first.type() == bson::Type::kInt32 ? first.AsInt32() : 0) + index;
}

void AddStatement(Routed& request, Batch* batch, bson::View document, int32_t index,
                  int32_t number) {
  batch->open.push_back(batch->statements.size());
  batch->statements.push_back(
      {index,
       batch->array == "documents" ? WithId(request, document, number) : bson::Document(document),
       WriteWay::kDirect,
       {},
       number});
}

void Begin(Routed& request, Batch* batch) {
  batch->numbered = IsRetryable(request);
  batch->in_transaction = request.call().generic.in_transaction();
  batch->let = DocumentIn(batch->whole, "let");
}

// A message may be nearly as large as one may be: with more around it it would be too large.
bool IsForwarded(const request::Request& request) {
  constexpr size_t kMostForwarded = size_t{32} << 20;
  constexpr size_t kAround = 12;  // each document's place in an array
  size_t bytes = request.body.size();
  for (const request::Sequence& sequence : request.sequences) {
    for (const bson::View document : sequence.documents) {
      bytes += document.size() + kAround;
    }
  }
  return bytes <= kMostForwarded;
}

Task<Status> RouteBatch(Routed& request, std::string_view array, bool create) {
  CO_ASSIGN_OR_RETURN(std::string ns, request.Namespace());
  Result<RoutePtr> found = co_await request.Find(ns, create);
  if (!found.ok() && found.status().code() == kNamespaceNotFound) {
    co_return request.RunHere();
  }
  CO_RETURN_IF_ERROR(found.status());
  if (!(*found)->sharded() && IsForwarded(*request.call().request)) {
    bool sharded = false;
    const ForwardOptions options{.create = create, .replan = &sharded};
    Status forwarded = co_await Forward(request, ns, options);
    if (!sharded) {
      co_return forwarded;
    }
    found = co_await request.Find(ns, create);
    CO_RETURN_IF_ERROR(found.status());
  }
  Batch batch;
  batch.ns = ns;
  batch.array = array;
  batch.whole = Whole(*request.call().request);
  const bson::Value ordered = batch.whole["ordered"];
  batch.ordered = ordered.type() != bson::Type::kBool || ordered.AsBool();
  Begin(request, &batch);
  const bson::Value list = batch.whole[array];
  if (list.is_array()) {
    int32_t index = 0;
    for (const bson::Element& element : list.AsArray()) {
      if (element.type() == bson::Type::kDocument) {
        AddStatement(request, &batch, element.value().AsDocument(), index,
                     NumberOf(batch.whole, index));
        ++index;
      }
    }
  }
  request.call().summary.ns = ns;
  Status status = co_await RunBatch(request, &batch, *found);
  CO_RETURN_IF_ERROR(status);
  if (run::IsUnacknowledged(request.call().generic.write_concern)) {
    batch.reply = WriteReply();
  }
  batch.reply.AppendTo(&request.call().reply, array == "updates");
  co_return Status::Ok();
}

Task<Status> RouteInsert(Routed& request) { return RouteBatch(request, "documents", true); }
Task<Status> RouteUpdate(Routed& request) { return RouteBatch(request, "updates", true); }
Task<Status> RouteDelete(Routed& request) { return RouteBatch(request, "deletes", false); }

}  // namespace

Task<Result<WriteReply>> RunStatements(Routed& request, const StatementRun& run) {
  Batch batch;
  batch.ns = run.ns;
  batch.array = run.array;
  batch.whole = run.command;
  batch.ordered = run.ordered;
  Begin(request, &batch);
  for (const auto& [index, statement] : run.statements) {
    AddStatement(request, &batch, statement, index, index);
  }
  Result<RoutePtr> route = co_await request.Find(run.ns, true);
  CO_RETURN_IF_ERROR(route.status());
  Status status = co_await RunBatch(request, &batch, *route);
  CO_RETURN_IF_ERROR(status);
  co_return std::move(batch.reply);
}

std::span<const RoutineRow> WriteRoutines() {
  static constexpr RoutineRow kRows[] = {
      {"insert", RouteInsert},
      {"update", RouteUpdate},
      {"delete", RouteDelete},
  };
  return kRows;
}

}  // namespace quire::router
