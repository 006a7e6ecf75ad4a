// SPDX-License-Identifier: Apache-2.0
#include "shard/state/state_log.h"

#include <chrono>
#include <future>
#include <memory>
#include <utility>

#include "base/error_codes.h"
#include "base/try.h"
#include "engine/read/read.h"
#include "engine/replication.h"
#include "engine/sharding.h"
#include "engine/write/write.h"
#include "store/log/logical_clock.h"

namespace quire::shard {

Result<std::vector<bson::Document>> StateLog::ReadAll() {
  OpContext op;
  engine::Operation operation{engine_, op};
  const request::FindRequest find;
  ASSIGN_OR_RETURN(std::shared_ptr<run::Cursor> cursor,
                   engine::Find(operation, std::string(engine::Sharding::kNamespace), find));
  std::vector<bson::Document> out;
  exec::Row row;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, cursor->source->Next(op, &row));
    if (!more) {
      return out;
    }
    out.emplace_back(row.document);
  }
}

Status StateLog::Save(bson::View document) {
  OpContext op;
  engine::Operation operation{engine_, op};
  operation.durability = engine::Durability::kDisk;
  bson::Builder filter;
  filter.Append("_id", document["_id"]);
  const bson::Document by_id = filter.Finish();
  request::UpdateRequest update;
  request::UpdateStatement& statement = update.updates.emplace_back();
  statement.q = by_id.view();
  statement.u = bson::Value(document);
  statement.upsert = true;
  request::OpSummary summary;
  const uint64_t before = epoch();
  ASSIGN_OR_RETURN(auto result, engine::Update(operation, std::string(engine::Sharding::kNamespace),
                                               update, &summary));
  if (!result.errors.empty()) {
    return result.errors.front().status;
  }
  return AwaitMajority(before);
}

Result<bson::Timestamp> StateLog::Note(bson::View note) {
  if (engine_.replication == nullptr) {
    return engine_.clock().Tick();
  }
  const uint64_t before = epoch();
  ASSIGN_OR_RETURN(const engine::LogPosition at, engine_.replication->data().WriteNoop(note));
  RETURN_IF_ERROR(AwaitMajority(before));
  return store::UnpackTime(at.time);
}

Status StateLog::AwaitMajority(uint64_t epoch) {
  engine::Replication* replication = engine_.replication;
  if (replication == nullptr) {
    return Status::Ok();
  }
  const engine::LogPosition last = replication->data().LastSlot();
  if (last.epoch != epoch) {
    return {kPrimarySteppedDown, "the member's leadership ended while it wrote"};
  }
  request::WriteConcern concern;
  concern.w = bson::Value("majority");
  concern.given = true;
  concern.present = true;
  auto answered = std::make_shared<std::promise<Status>>();
  std::future<Status> answer = answered->get_future();
  const auto pending = replication->AwaitConcern(
      last, concern, [answered](Status status) { answered->set_value(std::move(status)); });
  constexpr std::chrono::milliseconds kLook{50};
  while (answer.wait_for(kLook) != std::future_status::ready) {
    if (stopping_.load()) {
      return {kInterruptedAtShutdown, "The server is shutting down"};
    }
  }
  return answer.get();
}

// Not that of the last slot: who has just become primary has none in its own epoch yet.
uint64_t StateLog::epoch() const {
  return engine_.replication == nullptr ? 0 : engine_.replication->status()->epoch;
}

bool StateLog::writable() const {
  return engine_.replication == nullptr || engine_.replication->status()->writable;
}

}  // namespace quire::shard
