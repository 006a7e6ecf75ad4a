// SPDX-License-Identifier: Apache-2.0
//
// A member's data in memory: slots with a text each. What is applied is the list of those texts.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/replica/replica_data.h"

namespace quire::repl {

// Survives the process it belongs to.
struct MemoryDisk {
  bson::Document local;
  std::vector<engine::LogSlot> slots;
  engine::LogPosition begin;
  uint64_t applied = 0;
  uint64_t commit = 0;

  // What CopyFolder brought to <dbpath>/data.
  static MemoryDisk FromFolder(const std::string& folder);
};

class MemoryReplica final : public engine::ReplicaData {
 public:
  explicit MemoryReplica(std::shared_ptr<MemoryDisk> disk) : disk_(std::move(disk)) {}

  // A client's write. Error: NotWritablePrimary.
  Result<engine::LogPosition> Write(const std::string& text);
  // The texts of what is applied, without no-ops.
  std::vector<std::string> Texts() const;
  // As when a slot could not be written.
  void Break();
  // While on, nothing becomes durable.
  void HoldSyncs(bool on);

  Result<engine::ReplicaStart> Start() override;
  Status SaveLocal(bson::View local) override;
  void OpenLog(uint64_t epoch) override;
  Result<engine::LogEnds> CloseLog() override;
  Result<engine::LogPosition> WriteNoop(bson::View note) override;
  engine::LogPosition LastSlot() const override;
  int64_t WallOf(uint64_t time) const override { return static_cast<int64_t>(time >> 32) * 1000; }
  uint64_t Visible() const override;
  void OnGrown(std::function<void()> grown) override;
  void OnBroken(std::function<void(Status)> broken) override;
  Result<std::vector<engine::LogSlot>> ReadSlots(engine::LogPosition after, uint64_t last,
                                                 size_t most_bytes) override;
  Status SyncLog() override;
  void Tidy() override {}
  void SetCommit(uint64_t commit) override;
  uint64_t Applied() const override;
  Status KeepCommittedSnapshot() override { return Status::Ok(); }
  Status Append(std::span<const engine::LogSlot> slots) override;
  Result<uint64_t> Apply(uint64_t up_to) override;
  Status Cut(engine::LogPosition after) override;
  Result<engine::LogPosition> Checkpoint(const std::string& folder) override;
  std::shared_ptr<void> PinLog(uint64_t time) override;

 private:
  engine::LogEnds Ends() const;
  engine::LogPosition Last() const;
  Result<engine::LogPosition> Add(const std::string& text);

  const std::shared_ptr<MemoryDisk> disk_;
  mutable std::mutex mutex_;
  std::condition_variable synced_;
  bool hold_syncs_ = false;
  bool open_ = false;
  uint64_t epoch_ = 0;
  std::function<void()> grown_ = [] {};
  std::function<void(Status)> broken_ = [](const Status&) {};
};

}  // namespace quire::repl
