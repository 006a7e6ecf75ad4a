// SPDX-License-Identifier: Apache-2.0
//
// A replication that is told its role and how far it is committed. Its log counts: every call of
// Write hands out a slot.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error_codes.h"
#include "base/mutex.h"
#include "bson/number.h"
#include "engine/engine.h"
#include "engine/replication.h"

namespace quire::command {

class FakeData final : public engine::ReplicaData {
 public:
  explicit FakeData(engine::Engine* engine) : engine_(*engine) {}

  Result<engine::ReplicaStart> Start() override { return engine::ReplicaStart(); }
  Status SaveLocal(bson::View) override { return Status::Ok(); }
  void OpenLog(uint64_t epoch) override { epoch_ = epoch; }
  Result<engine::LogEnds> CloseLog() override { return engine::LogEnds(); }
  Result<engine::LogPosition> WriteNoop(bson::View) override {
    engine_.clock().Tick();
    return LastSlot();
  }
  // Everything that the node has written, or the clock has counted.
  engine::LogPosition LastSlot() const override {
    const bson::Timestamp now = engine_.clock().Now();
    return {epoch_, (static_cast<uint64_t>(now.seconds) << 32) | now.increment};
  }
  // A time's seconds, and its increment as milliseconds.
  int64_t WallOf(uint64_t time) const override {
    return static_cast<int64_t>(time >> 32) * 1000 + static_cast<int64_t>(time & 0xffffffff);
  }
  uint64_t Visible() const override { return LastSlot().time; }
  void OnGrown(std::function<void()>) override {}
  void OnBroken(std::function<void(Status)>) override {}
  Result<std::vector<engine::LogSlot>> ReadSlots(engine::LogPosition, uint64_t, size_t) override {
    return std::vector<engine::LogSlot>();
  }
  Status SyncLog() override { return Status::Ok(); }
  void SetCommit(uint64_t) override {}
  void Tidy() override {}
  uint64_t Applied() const override { return LastSlot().time; }
  Status KeepCommittedSnapshot() override { return Status::Ok(); }
  Status Append(std::span<const engine::LogSlot>) override { return Status::Ok(); }
  Result<uint64_t> Apply(uint64_t up_to) override { return up_to; }
  Status Cut(engine::LogPosition) override { return Status::Ok(); }
  Result<engine::LogPosition> Checkpoint(const std::string&) override { return LastSlot(); }
  std::shared_ptr<void> PinLog(uint64_t) override { return nullptr; }

 private:
  engine::Engine& engine_;
  std::atomic<uint64_t> epoch_ = 1;
};

class FakeReplication final : public engine::Replication {
 public:
  explicit FakeReplication(engine::Engine* engine) : data_(engine) {}

  // --- For tests
  // Members n1:1 to n3:3; this one is the first.
  static bson::Document ThreeMembers() {
    return *bson::Document::FromJson(R"({"_id": "s0", "version": 4, "term": {"$numberLong": "2"},
        "members": [
          {"_id": 0, "host": "n1:1", "arbiterOnly": false, "buildIndexes": true, "hidden": false,
           "priority": 1.0, "tags": {}, "secondaryDelaySecs": {"$numberLong": "0"}, "votes": 1},
          {"_id": 1, "host": "n2:2", "arbiterOnly": false, "buildIndexes": true, "hidden": false,
           "priority": 1.0, "tags": {}, "secondaryDelaySecs": {"$numberLong": "0"}, "votes": 1},
          {"_id": 2, "host": "n3:3", "arbiterOnly": false, "buildIndexes": true, "hidden": false,
           "priority": 1.0, "tags": {}, "secondaryDelaySecs": {"$numberLong": "0"}, "votes": 1}],
        "settings": {"heartbeatIntervalMillis": 2000, "electionTimeoutMillis": 10000,
                     "getLastErrorModes": {},
                     "replicaSetId": {"$oid": "0123456789abcdef01234567"}}})");
  }
  void Set(const std::function<void(engine::SetStatus&)>& change) {
    {
      MutexLock lock(mutex_);
      auto next = std::make_shared<engine::SetStatus>(*status_);
      change(*next);
      ++next->topology_counter;
      status_ = std::move(next);
    }
    changed.Ring();
  }
  void Lead(uint64_t epoch) {
    data_.OpenLog(epoch);
    Set([&](engine::SetStatus& status) {
      status.initiated = true;
      status.config = ThreeMembers();
      status.self = 0;
      status.primary = 0;
      status.state = engine::MemberState::kPrimary;
      status.writable = true;
      status.epoch = epoch;
    });
  }
  void Follow(uint64_t epoch) {
    data_.OpenLog(epoch);
    Set([&](engine::SetStatus& status) {
      status.initiated = true;
      status.config = ThreeMembers();
      status.self = 0;
      status.primary = 1;
      status.state = engine::MemberState::kSecondary;
      status.writable = false;
      status.caught_up = true;
      status.epoch = epoch;
    });
  }
  // Answers all that wait.
  void Answer(const Status& status) {
    std::map<int, engine::AnswerFunction> waiting;
    {
      MutexLock lock(mutex_);
      waiting.swap(waiting_);
    }
    for (auto& [id, answer] : waiting) {
      answer(status);
    }
  }
  size_t waiting() {
    MutexLock lock(mutex_);
    return waiting_.size();
  }
  void Pause(bool on) {
    paused_ = on;
    changed.Ring();
  }
  // What was asked for last.
  std::string asked() {
    MutexLock lock(mutex_);
    return asked_;
  }

  // --- Replication
  const std::string& set_name() const override { return name_; }
  std::shared_ptr<const engine::SetStatus> status() const override {
    MutexLock lock(mutex_);
    return status_;
  }
  bool writes_paused() const override { return paused_; }
  engine::ReplicaData& data() override { return data_; }
  Status CheckWriteConcern(const request::WriteConcern& concern) const override {
    if (concern.w.is_number() && bson::ClampedInt64(concern.w) > 3) {
      return {kUnsatisfiableWriteConcern, "Not enough data-bearing nodes"};
    }
    if (concern.w.is_string() && concern.w.AsString() != "majority") {
      return {kUnknownReplWriteConcern, "No write concern mode named '" +
                                            std::string(concern.w.AsString()) +
                                            "' found in replica set configuration"};
    }
    return Status::Ok();
  }
  std::unique_ptr<engine::PendingAnswer> AwaitConcern(engine::LogPosition,
                                                      const request::WriteConcern& concern,
                                                      engine::AnswerFunction answer) override {
    return Wait("concern " + bson::ToJson(concern.w), std::move(answer));
  }
  std::unique_ptr<engine::PendingAnswer> AwaitLinearizable(engine::AnswerFunction answer) override {
    return Wait("linearizable", std::move(answer));
  }
  std::unique_ptr<engine::PendingAnswer> AwaitTime(uint64_t, bool committed,
                                                   engine::AnswerFunction answer) override {
    return Wait(committed ? "committed" : "applied", std::move(answer));
  }
  void Initiate(bson::Document config, engine::AnswerFunction answer) override {
    Note("initiate " + bson::ToJson(config));
    answer(Status::Ok());
  }
  void Reconfigure(bson::Document config, bool force, engine::AnswerFunction answer) override {
    Note((force ? "force " : "reconfigure ") + bson::ToJson(config));
    answer(Status::Ok());
  }
  void StepDown(std::chrono::milliseconds stay_down, std::chrono::milliseconds catch_up, bool force,
                engine::AnswerFunction answer) override {
    Note("step down " + std::to_string(stay_down.count()) + " " + std::to_string(catch_up.count()) +
         (force ? " force" : ""));
    Keep(std::move(answer));
  }
  void AskPrimary(bson::Document command, std::chrono::milliseconds,
                  std::function<void(Result<bson::Document>)> answer) override {
    Note(bson::ToJson(command));
    answer(primary_reply_);
  }
  // What the primary says to whatever it is asked.
  void SetPrimaryReply(Result<bson::Document> reply) { primary_reply_ = std::move(reply); }
  void StepUp(engine::AnswerFunction answer) override { answer(Status::Ok()); }
  void Freeze(std::chrono::milliseconds duration, engine::AnswerFunction answer) override {
    Note("freeze " + std::to_string(duration.count()));
    answer(Status::Ok());
  }
  Status SetMaintenance(bool on) override {
    return on ? Status::Ok() : Status(kOperationFailed, "already out of maintenance mode");
  }
  void Receive(bson::Document message,
               std::function<void(Result<bson::Document>)> answer) override {
    Keep([message, answer = std::move(answer)](const Status& status) {
      bson::Builder reply;
      reply.Append("heard", message["message"]);
      answer(status.ok() ? Result<bson::Document>(reply.Finish()) : Result<bson::Document>(status));
    });
  }

 private:
  class Pending final : public engine::PendingAnswer {
   public:
    Pending(FakeReplication* all, int id) : all_(*all), id_(id) {}
    ~Pending() override {
      MutexLock lock(all_.mutex_);
      all_.waiting_.erase(id_);
    }

   private:
    FakeReplication& all_;
    const int id_;
  };

  void Note(std::string what) {
    MutexLock lock(mutex_);
    asked_ = std::move(what);
  }
  int Keep(engine::AnswerFunction answer) {
    MutexLock lock(mutex_);
    waiting_.emplace(++next_, std::move(answer));
    return next_;
  }
  std::unique_ptr<engine::PendingAnswer> Wait(std::string what, engine::AnswerFunction answer) {
    Note(std::move(what));
    return std::make_unique<Pending>(this, Keep(std::move(answer)));
  }

  const std::string name_ = "s0";
  FakeData data_;
  Result<bson::Document> primary_reply_ =
      Status(kPrimarySteppedDown, "No primary exists currently");
  std::atomic<bool> paused_ = false;
  mutable Mutex mutex_;
  std::shared_ptr<const engine::SetStatus> status_ QUIRE_GUARDED_BY(mutex_) =
      std::make_shared<engine::SetStatus>();
  std::map<int, engine::AnswerFunction> waiting_ QUIRE_GUARDED_BY(mutex_);
  int next_ QUIRE_GUARDED_BY(mutex_) = 0;
  std::string asked_ QUIRE_GUARDED_BY(mutex_);
};

}  // namespace quire::command
