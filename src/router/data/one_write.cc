// SPDX-License-Identifier: Apache-2.0
#include "router/data/one_write.h"

#include <algorithm>
#include <utility>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/number.h"
#include "bson/ordered.h"
#include "request/cursor_reply.h"
#include "router/core.h"
#include "router/remote/errors.h"

namespace quire::router {

namespace {

constexpr std::string_view kSortKey = "__sortKey";
constexpr std::chrono::milliseconds kBackOff{5};
constexpr int kMostLostRaces = 3;

bool IsSorted(const OneWrite& write) {
  return !write.sort.empty() && write.sort.front().name() != "$natural";
}

// The value at a dotted path; missing when it is not there.
bson::Value ValueAt(bson::View document, std::string_view path) {
  while (true) {
    const size_t dot = path.find('.');
    const bson::Value value = document[path.substr(0, dot)];
    if (dot == std::string_view::npos) {
      return value;
    }
    if (!value.is_document()) {
      return {};
    }
    document = value.AsDocument();
    path = path.substr(dot + 1);
  }
}

void AppendEquality(std::string_view name, const bson::Value& value, bson::Builder* out) {
  if (value.missing()) {
    out->AppendNull(name);
  } else if (value.is_document() || value.type() == bson::Type::kRegex) {
    out->BeginDocument(name).Append("$eq", value).End();
  } else {
    out->Append(name, value);
  }
}

// The find that asks a shard for its candidate.
bson::Document Question(Routed& request, const Route& route, const OneWrite& write) {
  bson::Builder out;
  out.Append("find", write.ns.substr(write.ns.find('.') + 1)).Append("filter", write.filter);
  out.BeginDocument("projection").Append("_id", 1);
  for (const auto& part : route.chunks->pattern().parts()) {
    if (part.name() != "_id" && !part.name().starts_with("_id.")) {
      out.Append(part.name(), 1);
    }
  }
  if (IsSorted(write)) {
    out.BeginDocument(kSortKey).Append("$meta", "sortKey").End();
  }
  out.End();
  if (!write.sort.empty()) {
    out.Append("sort", write.sort);
  }
  if (!write.collation.empty()) {
    out.Append("collation", write.collation);
  }
  if (!write.hint.missing()) {
    out.Append("hint", write.hint);
  }
  if (!write.let.empty()) {
    out.Append("let", write.let);
  }
  const request::Generic& generic = request.call().generic;
  if (generic.in_transaction()) {
    out.Append("txnNumber", *generic.txn_number).Append("autocommit", false);
  }
  return out.Append("limit", 1).Append("singleBatch", true).Finish();
}

// Bytes that compare as the candidates are sorted.
std::string SortBytes(const OneWrite& write, bson::View candidate) {
  std::string bytes;
  const bson::Value keys = candidate[kSortKey];
  if (!keys.is_array()) {
    return bytes;
  }
  const bson::View list = keys.AsArray();
  auto key = list.begin();
  for (const bson::Element& part : write.sort) {
    if (key == list.end()) {
      break;
    }
    const bool up = part.value().is_number() && bson::ClampedInt64(part.value()) > 0;
    bson::AppendOrdered((*key).value(),
                        up ? bson::Direction::kAscending : bson::Direction::kDescending, nullptr,
                        &bytes, nullptr);
    ++key;
  }
  return bytes;
}

struct Candidate {
  placement::ShardName shard;
  bson::Document document;
};

// The first one in the order of the sort, or of the shards.
Result<std::optional<Candidate>> CandidateIn(const OneWrite& write,
                                             const std::vector<Heard>& heard) {
  std::optional<Candidate> best;
  std::string lowest;
  for (const Heard& one : heard) {
    if (!one.reply.ok()) {
      return ForClients(one.reply.status());
    }
    ASSIGN_OR_RETURN(const auto cursor, request::CursorReply::Read(*one.reply));
    if (cursor.batch.empty()) {
      continue;
    }
    const bson::View found = cursor.batch.front().value().AsDocument();
    std::string key = SortBytes(write, found);
    if (!best || key < lowest) {
      best = Candidate{one.shard, bson::Document(found)};
      lowest = std::move(key);
    }
  }
  return best;
}

// What some shard remembers of the statement. All are asked: the one that wrote may not be one that
// the filter leads to now.
Task<Result<std::optional<bson::Document>>> AskRemembered(Routed& request, int32_t statement) {
  bson::Builder question;
  question.Append("_shardsvrRemembered", 1)
      .Append("txnNumber", *request.call().generic.txn_number)
      .BeginArray("stmtIds")
      .Push(statement)
      .End();
  const bson::Document command = question.Finish();
  std::vector<Asked> asked;
  for (const placement::ShardRecord& shard : request.core.catalog->Shards()) {
    asked.push_back({shard.name, {}, request.Outgoing(command, "admin", nullptr)});
  }
  AskOptions options;
  options.repeatable = true;
  Result<std::vector<Heard>> heard = co_await request.Ask(std::move(asked), options);
  CO_RETURN_IF_ERROR(heard.status());
  std::optional<bson::Document> found;
  for (const Heard& one : *heard) {
    if (!one.reply.ok()) {
      co_return ForClients(one.reply.status());
    }
    const bson::Value list = (*one.reply)["remembered"];
    if (list.is_array() && !list.AsArray().empty()) {
      found = bson::Document(list.AsArray().front().value().AsDocument()["answer"].AsDocument());
    }
  }
  co_return found;
}

Heard Made(const placement::ShardName& shard, bson::Document reply) {
  return {shard, {}, std::move(reply), {}};
}

// Sends one command under the table.
Task<Result<Heard>> AskOne(Routed& request, RoutePtr* route, placement::ShardName shard,
                           bson::Document command, bool* stale) {
  std::vector<Part> parts;
  parts.push_back({std::move(shard), std::move(command)});
  Result<std::vector<Heard>> heard = co_await AskVersioned(request, route, std::move(parts), stale);
  CO_RETURN_IF_ERROR(heard.status());
  co_return std::move(heard->front());
}

}  // namespace

bson::Document ExactFilter(const placement::ShardKeyPattern& pattern, bson::View document,
                           bson::View filter) {
  bson::Builder out;
  out.BeginArray("$and").PushDocument();
  AppendEquality("_id", document["_id"], &out);
  for (const auto& part : pattern.parts()) {
    if (part.name() != "_id" && !part.name().starts_with("_id.")) {
      AppendEquality(part.name(), ValueAt(document, part.name()), &out);
    }
  }
  out.End().Push(filter).End();
  return out.Finish();
}

bson::Document MakingFilter(bson::View document) {
  bson::Builder out;
  out.BeginArray("$and").PushDocument();
  AppendEquality("_id", document["_id"], &out);
  out.End().PushDocument().Append("$alwaysFalse", 1).End().End();
  return out.Finish();
}

bool IsRetryable(Routed& request) {
  const request::Generic& generic = request.call().generic;
  return generic.txn_number.has_value() && !generic.in_transaction();
}

Status KeyChangeNotAllowed() {
  return {kIllegalOperation,
          "Must run update to shard key field in a multi-statement transaction or with "
          "retryWrites: true."};
}

Status KeyChangeOverShards() {
  return {kIllegalOperation,
          "The update moves the document to another shard: that needs a transaction over both, "
          "which is not supported"};
}

Task<Result<Heard>> MakeAtOwner(Routed& request, RoutePtr* route, const OneWrite& write,
                                const Status& error, bool* stale) {
  bson::Document fields;
  if (!error.extra().empty()) {
    fields = bson::Document(bson::View(error.extra().data()));
  }
  const bson::Value image = fields["postImage"];
  if (!image.is_document()) {
    co_return Status(kInternalError, "a shard refused a document that it did not name");
  }
  const bson::View document = image.AsDocument();
  CO_ASSIGN_OR_RETURN(placement::ShardName owner,
                      placement::TargetInsert(*(*route)->chunks, document));
  bson::Document command = write.Making(document);
  Result<Heard> made = co_await AskOne(request, route, std::move(owner), std::move(command), stale);
  co_return made;
}

Task<Result<Heard>> WriteOne(Routed& request, RoutePtr* route, const OneWrite& write,
                             std::vector<placement::ShardName> shards, bool* stale) {
  if (IsRetryable(request)) {
    Result<std::optional<bson::Document>> known = co_await AskRemembered(request, write.statement);
    CO_RETURN_IF_ERROR(known.status());
    if (*known) {
      co_return Made(shards.front(), write.Repeated(**known));
    }
  }
  int lost_races = 0;
  for (int i = 0;; ++i) {
    const bson::Document question = Question(request, **route, write);
    std::vector<Part> questions;
    for (const placement::ShardName& shard : shards) {
      questions.push_back({shard, question});
    }
    Result<std::vector<Heard>> heard =
        co_await AskVersioned(request, route, std::move(questions), stale);
    CO_RETURN_IF_ERROR(heard.status());
    if (*stale) {
      co_return Made(shards.front(), bson::Document());
    }
    CO_ASSIGN_OR_RETURN(const std::optional<Candidate> candidate, CandidateIn(write, *heard));
    if (!candidate && !write.upsert) {
      if (std::optional<bson::Document> none = write.NoneMatched()) {
        co_return Made(shards.front(), *std::move(none));
      }
    }
    placement::ShardName shard = candidate ? candidate->shard : shards.front();
    bson::Document command = write.Command(write.filter, write.upsert);
    if (candidate) {
      const bson::Document exact =
          ExactFilter((*route)->chunks->pattern(), candidate->document, write.filter);
      command = write.Command(exact, false);
    }
    Result<Heard> answer =
        co_await AskOne(request, route, std::move(shard), std::move(command), stale);
    if (!answer.ok() || *stale) {
      co_return answer;
    }
    Status error = write.ErrorIn(*answer);
    if (!candidate && error.code() == kWouldChangeOwningShard) {
      answer = co_await MakeAtOwner(request, route, write, error, stale);
      if (!answer.ok() || *stale) {
        co_return answer;
      }
      error = write.ErrorIn(*answer);
      // Somebody has made it meanwhile: now there may be a document to change.
      if (error.code() != kDuplicateKey || ++lost_races == kMostLostRaces) {
        co_return answer;
      }
    } else if (!candidate || !error.ok() || !answer->reply.ok() || write.Matched(*answer->reply)) {
      co_return answer;
    }
    Status slept = co_await request.Sleep(kBackOff * std::min(i + 1, 20));
    CO_RETURN_IF_ERROR(slept);
  }
}

}  // namespace quire::router
