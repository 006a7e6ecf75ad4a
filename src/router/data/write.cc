// SPDX-License-Identifier: Apache-2.0
//
// insert, update, delete and findAndModify over shards.
#include "router/data/write.h"

#include <algorithm>

#include "base/error_codes.h"
#include "base/try.h"
#include "quire/doc.h"
#include "request/crud.h"
#include "request/cursor_reply.h"
#include "request/reply.h"
#include "request/write_reply.h"
#include "router/core.h"
#include "router/data/forward.h"
#include "router/data/read.h"
#include "router/data/target.h"
#include "router/data/write_parts.h"
#include "router/remote/errors.h"
#include "router/rows.h"

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
  bson::View let;
  std::vector<WriteStatement> statements;
  std::vector<size_t> open;  // places of those that have no answer yet
  WriteReply reply;
};

// --- which shards ---

// The document with an _id, which is derived from the statement where it may be sent again.
bson::Document WithId(bson::View document) {
  if (document.Has("_id")) {
    return bson::Document(document);
  }
  bson::Builder out;
  out.Append("_id", bson::ObjectId::Generate()).AppendFields(document);
  return out.Finish();
}

bson::View DocumentIn(bson::View statement, std::string_view name) {
  const bson::Value value = statement[name];
  return value.is_document() ? value.AsDocument() : bson::View();
}

bool FlagIn(bson::View statement, std::string_view name) {
  const bson::Value value = statement[name];
  return value.type() == bson::Type::kBool && value.AsBool();
}

Status TargetOne(Routed& request, const Route& route, const Batch& batch,
                 WriteStatement* statement) {
  if (!route.sharded()) {
    statement->way = WriteWay::kDirect;
    statement->shards = {route.database.primary};
    return Status::Ok();
  }
  if (batch.array == "documents") {
    ASSIGN_OR_RETURN(placement::ShardName shard,
                     placement::TargetInsert(*route.chunks, statement->document));
    statement->way = WriteWay::kDirect;
    statement->shards = {std::move(shard)};
    return Status::Ok();
  }
  const bson::View fields = statement->document;
  const Query query{DocumentIn(fields, "q"), DocumentIn(fields, "collation"), batch.let};
  placement::WriteWish wish;
  const bson::Value limit = fields["limit"];
  wish.multi = batch.array == "updates" ? FlagIn(fields, "multi") : request::CountIn(limit) == 0;
  wish.upsert = FlagIn(fields, "upsert");
  ASSIGN_OR_RETURN(const placement::WriteTargets targets,
                   TargetChange(request, route, query, wish));
  statement->way = targets.way;
  statement->shards.assign(targets.targets.shards.begin(), targets.targets.shards.end());
  return Status::Ok();
}

// Targets everything that is open. What cannot be targeted has its error; nothing behind it is run
// when the batch is ordered.
void TargetOpen(Routed& request, const Route& route, Batch* batch) {
  std::vector<size_t> open;
  for (const size_t place : batch->open) {
    WriteStatement& statement = batch->statements[place];
    Status status = TargetOne(request, route, *batch, &statement);
    if (status.ok()) {
      open.push_back(place);
      continue;
    }
    WriteReply failed;
    failed.errors.push_back({0, std::move(status)});
    // Those before it are run first.
    if (batch->ordered && !open.empty()) {
      statement.shards.clear();
      open.push_back(place);
      break;
    }
    batch->reply.Add(std::move(failed), [&](int32_t) { return statement.index; });
    if (batch->ordered) {
      break;
    }
  }
  batch->open = std::move(open);
}

// --- one document of some shard: found first, written by its _id and key then ---

// {$and: [{_id, key}, filter]}
bson::Document ExactFilter(bson::View found, bson::View filter) {
  bson::Builder out;
  out.BeginArray("$and").PushDocument();
  for (const bson::Element& field : found) {
    if (field.type() == bson::Type::kDocument || field.type() == bson::Type::kRegex) {
      out.BeginDocument(field.name());
      out.Append("$eq", field.value()).End();
    } else {
      out.Append(field);
    }
  }
  out.End().Push(filter).End();
  return out.Finish();
}

// The find that asks for a candidate.
bson::Document Question(const Batch& batch, const Route& route, bson::View statement) {
  bson::Builder out;
  const size_t dot = batch.ns.find('.');
  out.Append("find", batch.ns.substr(dot + 1)).Append("filter", DocumentIn(statement, "q"));
  out.BeginDocument("projection").Append("_id", 1);
  for (const auto& part : route.chunks->pattern().parts()) {
    if (part.name() != "_id") {
      out.Append(part.name(), 1);
    }
  }
  out.End();
  for (std::string_view name : {"collation", "hint", "sort"}) {
    if (const bson::Element field = statement.Find(name); field.present()) {
      out.Append(field);
    }
  }
  if (!batch.let.empty()) {
    out.Append("let", batch.let);
  }
  return out.Append("limit", 1).Append("singleBatch", true).Finish();
}

struct Candidate {
  placement::ShardName shard;
  bson::Document document;
};

Result<std::optional<Candidate>> CandidateIn(const std::vector<Heard>& heard) {
  for (const Heard& one : heard) {
    if (!one.reply.ok()) {
      return ForClients(one.reply.status());
    }
    ASSIGN_OR_RETURN(const auto cursor, request::CursorReply::Read(*one.reply));
    if (!cursor.batch.empty()) {
      return std::optional(
          Candidate{one.shard, bson::Document(cursor.batch.front().value().AsDocument())});
    }
  }
  return std::optional<Candidate>();
}

// Flattens {a: {b: 1}} to {"a.b": 1} by the key's paths, for a filter.
bson::Document KeyFilter(const placement::ShardKeyPattern& pattern, bson::View document) {
  bson::Builder out;
  out.Append("_id", document["_id"]);
  for (const auto& part : pattern.parts()) {
    if (part.name() == "_id") {
      continue;
    }
    bson::View at = document;
    bson::Value value;
    std::string_view rest = part.name();
    while (true) {
      const size_t dot = rest.find('.');
      value = at[rest.substr(0, dot)];
      if (dot == std::string_view::npos || !value.is_document()) {
        break;
      }
      at = value.AsDocument();
      rest = rest.substr(dot + 1);
    }
    if (value.missing()) {
      out.AppendNull(part.name());
    } else {
      out.Append(part.name(), value);
    }
  }
  return out.Finish();
}

bson::Document WithFilter(bson::View statement, std::string_view name, const bson::Document& filter,
                          bool upsert) {
  bson::Builder out;
  for (const bson::Element& field : statement) {
    if (field.name() == name) {
      out.Append(name, filter);
    } else if (upsert || field.name() != "upsert") {
      out.Append(field);
    }
  }
  return out.Finish();
}

// --- sending ---

// Puts a shard's answer to a part where it belongs. Whether the rest of an ordered batch is run.
Result<bool> TakeAnswer(Batch* batch, const WritePart& part, const Heard& heard) {
  if (!heard.reply.ok()) {
    // Nobody knows what of it was done: the whole command fails, as a lost connection would.
    return ForClients(heard.reply.status());
  }
  ASSIGN_OR_RETURN(WriteReply reply, WriteReply::Read(*heard.reply));
  const bool goes_on = reply.errors.empty() || !batch->ordered;
  for (request::WriteError& error : reply.errors) {
    error.status = ForClients(error.status);
  }
  batch->reply.Add(std::move(reply), [&](int32_t i) {
    return batch->statements[part.statements[static_cast<size_t>(i)]].index;
  });
  return goes_on;
}

constexpr std::chrono::milliseconds kBackOff{5};

// A statement about one document that may be on any of several shards.
Task<Status> RunTwoPhase(Routed& request, RoutePtr* route, Batch* batch, size_t place,
                         bool* stale) {
  WriteStatement& statement = batch->statements[place];
  const bson::View fields = statement.document;
  for (int i = 0;; ++i) {
    std::vector<Part> questions;
    for (const placement::ShardName& shard : statement.shards) {
      questions.push_back({shard, Question(*batch, **route, fields)});
    }
    Result<std::vector<Heard>> heard =
        co_await AskVersioned(request, route, std::move(questions), stale);
    CO_RETURN_IF_ERROR(heard.status());
    if (*stale) {
      co_return Status::Ok();
    }
    CO_ASSIGN_OR_RETURN(const std::optional<Candidate> candidate, CandidateIn(*heard));
    WritePart part{statement.shards.front(), {place}};
    WriteStatement exact = statement;
    if (candidate) {
      part.shard = candidate->shard;
      const bson::Document key = KeyFilter((*route)->chunks->pattern(), candidate->document);
      exact.document = WithFilter(fields, "q", ExactFilter(key, DocumentIn(fields, "q")), false);
    } else if (FlagIn(fields, "upsert")) {
      co_return Status(kShardKeyNotFound,
                       "An upsert on a sharded collection names the whole shard key in its filter");
    } else {
      batch->reply.Add(WriteReply(), [](int32_t index) { return index; });
      co_return Status::Ok();
    }
    std::vector<WriteStatement> sent = batch->statements;
    sent[place] = exact;
    std::vector<Part> writes;
    writes.push_back({part.shard, PartCommand(batch->whole, batch->array, sent, part,
                                              request.call().generic.txn_number.has_value() &&
                                                  !request.call().generic.in_transaction())});
    Result<std::vector<Heard>> written =
        co_await AskVersioned(request, route, std::move(writes), stale);
    CO_RETURN_IF_ERROR(written.status());
    if (*stale) {
      co_return Status::Ok();
    }
    const Heard& answer = written->front();
    const bool gone = answer.reply.ok() && request::CountIn((*answer.reply)["n"]) == 0 &&
                      !answer.reply->view().Has("writeErrors");
    if (!gone) {
      Result<bool> taken = TakeAnswer(batch, part, answer);
      co_return taken.ok() ? Status::Ok() : taken.status();
    }
    Status slept = co_await request.Sleep(kBackOff * std::min(i + 1, 20));
    CO_RETURN_IF_ERROR(slept);
  }
}

Task<Status> RunBatch(Routed& request, Batch* batch, RoutePtr route) {
  const request::Generic& generic = request.call().generic;
  const bool with_ids = generic.txn_number.has_value() && !generic.in_transaction();
  int refreshes = 0;
  TargetOpen(request, *route, batch);
  while (!batch->open.empty()) {
    WriteStatement& first = batch->statements[batch->open.front()];
    bool stale = false;
    if (first.shards.empty()) {  // it could not be targeted, and those before it are done
      TargetOpen(request, *route, batch);
      continue;
    }
    if (first.way == WriteWay::kTwoPhase) {
      const size_t place = batch->open.front();
      const size_t errors = batch->reply.errors.size();
      Status status = co_await RunTwoPhase(request, &route, batch, place, &stale);
      CO_RETURN_IF_ERROR(status);
      if (!stale) {
        batch->open.erase(batch->open.begin());
        if (batch->ordered && batch->reply.errors.size() > errors) {
          break;
        }
        continue;
      }
    } else {
      std::vector<WritePart> parts = NextParts(batch->statements, batch->open, batch->ordered);
      std::vector<Part> sent;
      for (const WritePart& part : parts) {
        sent.push_back({part.shard, PartCommand(batch->whole, batch->array, batch->statements, part,
                                                with_ids)});
      }
      Result<std::vector<Heard>> heard =
          co_await AskVersioned(request, &route, std::move(sent), &stale);
      CO_RETURN_IF_ERROR(heard.status());
      std::vector<size_t> done;
      bool goes_on = true;
      for (size_t i = 0; i < parts.size(); ++i) {
        const Heard& one = (*heard)[i];
        if (!one.reply.ok() && IsStale(one.reply.status().code())) {
          continue;
        }
        CO_ASSIGN_OR_RETURN(const bool taken, TakeAnswer(batch, parts[i], one));
        goes_on = goes_on && taken;
        done.insert(done.end(), parts[i].statements.begin(), parts[i].statements.end());
      }
      // Of a statement for several shards those that have answered are not asked again.
      if (stale && parts.size() > 1 && parts[0].statements == parts[1].statements) {
        WriteStatement& each = batch->statements[parts[0].statements.front()];
        for (size_t i = 0; i < parts.size(); ++i) {
          if ((*heard)[i].reply.ok()) {
            std::erase(each.shards, parts[i].shard);
          }
        }
        done.clear();
      }
      std::erase_if(batch->open, [&](size_t place) {
        return std::find(done.begin(), done.end(), place) != done.end();
      });
      if (!goes_on && batch->ordered) {
        break;
      }
    }
    if (stale) {
      if (++refreshes > kMostRefreshes) {
        co_return Status(kStaleConfig, "The placement of " + batch->ns + " changes all the time");
      }
      TargetOpen(request, *route, batch);
    }
  }
  co_return Status::Ok();
}

// The statements of the command, kept.
Status ReadStatements(bson::View whole, Batch* batch) {
  const bson::Value list = whole[batch->array];
  if (!list.is_array()) {
    return Status::Ok();
  }
  int32_t index = 0;
  for (const bson::Element& element : list.AsArray()) {
    if (element.type() != bson::Type::kDocument) {
      continue;
    }
    const bson::View document = element.value().AsDocument();
    batch->open.push_back(batch->statements.size());
    batch->statements.push_back(
        {index++,
         batch->array == "documents" ? WithId(document) : bson::Document(document),
         WriteWay::kDirect,
         {}});
  }
  return Status::Ok();
}

Task<Status> RouteBatch(Routed& request, std::string_view array, bool create) {
  CO_ASSIGN_OR_RETURN(std::string ns, request.Namespace());
  Batch batch;
  batch.ns = ns;
  batch.array = array;
  batch.whole = Whole(*request.call().request);
  const bson::Value ordered = batch.whole["ordered"];
  batch.ordered = ordered.type() != bson::Type::kBool || ordered.AsBool();
  Result<RoutePtr> found = co_await request.Find(ns, create);
  if (!found.ok() && found.status().code() == kNamespaceNotFound) {
    co_return request.RunHere();
  }
  CO_RETURN_IF_ERROR(found.status());
  if (!(*found)->sharded()) {
    const ForwardOptions options{.create = create};
    Status forwarded = co_await Forward(request, ns, options);
    co_return forwarded;
  }
  batch.let = DocumentIn(batch.whole, "let");
  CO_RETURN_IF_ERROR(ReadStatements(batch.whole, &batch));
  request.call().summary.ns = ns;
  Status status = co_await RunBatch(request, &batch, *found);
  CO_RETURN_IF_ERROR(status);
  batch.reply.AppendTo(&request.call().reply, array == "updates");
  co_return Status::Ok();
}

Task<Status> RouteInsert(Routed& request) { return RouteBatch(request, "documents", true); }
Task<Status> RouteUpdate(Routed& request) { return RouteBatch(request, "updates", true); }
Task<Status> RouteDelete(Routed& request) { return RouteBatch(request, "deletes", false); }

// --- findAndModify ---

Task<Status> RouteFindAndModify(Routed& request) {
  CO_ASSIGN_OR_RETURN(std::string ns, request.Namespace());
  Result<RoutePtr> found = co_await request.Find(ns, true);
  CO_RETURN_IF_ERROR(found.status());
  RoutePtr route = *found;
  CO_ASSIGN_OR_RETURN(const auto modify, request::FindAndModifyRequest::Parse(request.body));
  for (int i = 0; i <= kMostRefreshes; ++i) {
    if (!route->sharded()) {
      const ForwardOptions options{.create = true};
      Status forwarded = co_await Forward(request, ns, options);
      co_return forwarded;
    }
    const Query query{modify.query, modify.collation, modify.let};
    placement::WriteWish wish;
    wish.upsert = modify.upsert;
    CO_ASSIGN_OR_RETURN(const placement::WriteTargets targets,
                        TargetChange(request, *route, query, wish));
    bool stale = false;
    placement::ShardName shard = *targets.targets.shards.begin();
    bson::Document command = request.body;
    if (targets.way == WriteWay::kTwoPhase) {
      Batch batch;
      batch.ns = ns;
      batch.let = modify.let;
      bson::Builder statement;
      statement.Append("q", modify.query);
      for (std::string_view name : {"sort", "collation", "hint"}) {
        if (const bson::Element field = request.body.view().Find(name); field.present()) {
          statement.Append(field);
        }
      }
      const bson::Document asked = statement.Finish();
      const bson::Document question = Question(batch, *route, asked);
      const bool sorted = !modify.sort.empty() && targets.targets.shards.size() > 1;
      std::vector<Part> questions;
      for (const placement::ShardName& one : targets.targets.shards) {
        questions.push_back({one, question});
      }
      Result<std::vector<Heard>> heard =
          co_await AskVersioned(request, &route, std::move(questions), &stale);
      CO_RETURN_IF_ERROR(heard.status());
      if (stale) {
        continue;
      }
      if (sorted) {
        co_return Status(kIllegalOperation,
                         "findAndModify with a sort names the shard key in its query");
      }
      CO_ASSIGN_OR_RETURN(const std::optional<Candidate> candidate, CandidateIn(*heard));
      if (!candidate && modify.upsert) {
        co_return Status(kShardKeyNotFound,
                         "An upsert on a sharded collection names the whole shard key in its "
                         "filter");
      }
      if (candidate) {
        shard = candidate->shard;
        const bson::Document key = KeyFilter(route->chunks->pattern(), candidate->document);
        command = WithFilter(request.body, "query", ExactFilter(key, modify.query), false);
      }
    }
    std::vector<Part> parts;
    parts.push_back({shard, command});
    Result<std::vector<Heard>> heard =
        co_await AskVersioned(request, &route, std::move(parts), &stale);
    CO_RETURN_IF_ERROR(heard.status());
    if (!stale) {
      co_return request.Deliver(std::move(heard->front()));
    }
  }
  co_return Status(kStaleConfig, "The placement of " + ns + " changes all the time");
}

}  // namespace

Task<Result<WriteReply>> RunStatement(Routed& request, std::string ns, std::string_view array,
                                      const bson::Document& command, bson::Document statement,
                                      int32_t index) {
  Batch batch;
  batch.ns = ns;
  batch.array = array;
  batch.whole = command;
  batch.let = DocumentIn(batch.whole, "let");
  batch.open = {0};
  batch.statements.push_back(
      {index, array == "documents" ? WithId(statement) : statement, WriteWay::kDirect, {}});
  Result<RoutePtr> route = co_await request.Find(ns, true);
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
      {"findAndModify", RouteFindAndModify},
  };
  return kRows;
}

}  // namespace quire::router
