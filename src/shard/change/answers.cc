// SPDX-License-Identifier: Apache-2.0
#include "shard/change/answers.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "base/error_codes.h"
#include "base/try.h"

namespace quire::shard {

namespace {

constexpr size_t kMostBytes = size_t{4} << 20;  // of a request, unless one answer alone is larger
constexpr std::chrono::milliseconds kTimeout{10'000};

// Requests of bounded size to the other shard.
class AnswerStream {
 public:
  AnswerStream(Context* context, std::string_view ns, const placement::ShardRecord& to)
      : context_(*context), ns_(ns), to_(to) {}

  Status Add(const bson::Document& answer) {
    const size_t size = answer.bytes().size();
    if (bytes_ + size > kMostBytes) {
      RETURN_IF_ERROR(Flush());
    }
    bytes_ += size;
    answers_.push_back(answer);
    return Status::Ok();
  }

  Status Flush() {
    if (answers_.empty()) {
      return Status::Ok();
    }
    bson::Builder out;
    out.Append("_shardsvrTakeAnswers", ns_).BeginArray("answers");
    for (const bson::Document& answer : answers_) {
      out.Push(answer);
    }
    out.End().Append("$db", "admin");
    answers_.clear();
    bytes_ = 0;
    return context_.peers.Call(to_, out.Finish(), kTimeout).status();
  }

 private:
  Context& context_;
  const std::string_view ns_;
  const placement::ShardRecord& to_;
  std::vector<bson::Document> answers_;
  size_t bytes_ = 0;
};

}  // namespace

Status SendAnswers(Context& context, std::string_view ns, std::string_view to) {
  ASSIGN_OR_RETURN(auto shards, context.store.ReadShards());
  std::erase_if(shards, [&](const auto& shard) {
    return to.empty() ? shard.name == context.shard : shard.name != to;
  });
  if (shards.empty() && !to.empty()) {
    return {kShardNotFound, "shard " + std::string(to) + " is not in the cluster's list of shards"};
  }
  // A write that is undone here must not be remembered there.
  RETURN_IF_ERROR(context.log.AwaitMajority(context.log.epoch()));
  std::vector<AnswerStream> streams;
  for (const placement::ShardRecord& shard : shards) {
    streams.emplace_back(&context, ns, shard);
  }
  const Status read =
      context.engine.sessions().ReadAnswers(ns, [&](const bson::Document& answer) -> Status {
        for (AnswerStream& stream : streams) {
          RETURN_IF_ERROR(stream.Add(answer));
        }
        return Status::Ok();
      });
  RETURN_IF_ERROR(read);
  for (AnswerStream& stream : streams) {
    RETURN_IF_ERROR(stream.Flush());
  }
  return Status::Ok();
}

Result<bson::Document> TakeAnswers(Context& context, bson::View command) {
  if (!command["answers"].is_array()) {
    return Status(kFailedToParse, "_shardsvrTakeAnswers takes a list of answers");
  }
  const uint64_t epoch = context.log.epoch();
  for (const bson::Element& answer : command["answers"].AsArray()) {
    if (!answer.value().is_document()) {
      return Status(kFailedToParse, "_shardsvrTakeAnswers takes a list of answers");
    }
    RETURN_IF_ERROR(context.engine.sessions().Import(answer.value().AsDocument()));
  }
  RETURN_IF_ERROR(context.log.AwaitMajority(epoch));
  return bson::Document();
}

}  // namespace quire::shard
