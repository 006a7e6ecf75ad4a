// SPDX-License-Identifier: Apache-2.0
#include "repl/testing/memory_replica.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/error_codes.h"
#include "base/try.h"
#include "repl/message/codec.h"

namespace quire::repl {
namespace {

constexpr std::string_view kNoop = "(no-op)";

std::string ReadFile(const std::string& name) {
  std::ifstream in(name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace

MemoryDisk MemoryDisk::FromFolder(const std::string& folder) {
  MemoryDisk disk;
  auto slots = DecodeSlots(ReadFile(folder + "/slots"));
  disk.slots = slots.ok() ? *std::move(slots) : std::vector<engine::LogSlot>();
  std::ifstream marks(folder + "/more/marks");
  marks >> disk.applied >> disk.commit;
  return disk;
}

engine::LogPosition MemoryReplica::Last() const {
  return disk_->slots.empty() ? disk_->begin : disk_->slots.back().at;
}

engine::LogEnds MemoryReplica::Ends() const {
  engine::LogEnds ends;
  ends.begin = disk_->begin;
  for (const engine::LogSlot& slot : disk_->slots) {
    if (ends.ends.empty() || ends.ends.back().epoch != slot.at.epoch) {
      ends.ends.emplace_back();
    }
    ends.ends.back() = slot.at;
  }
  return ends;
}

Result<engine::LogPosition> MemoryReplica::Add(const std::string& text) {
  std::unique_lock lock(mutex_);
  if (!open_) {
    return Status(kNotWritablePrimary, "not primary");
  }
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(
      std::chrono::system_clock::now().time_since_epoch());
  const uint64_t now = static_cast<uint64_t>(seconds.count()) << 32 | 1;
  engine::LogSlot slot;
  slot.previous = Last().time;
  slot.at = {epoch_, std::max(now, Last().time + 1)};
  slot.groups.push_back({"", text});
  disk_->slots.push_back(slot);
  disk_->applied = slot.at.time;
  const std::function<void()> grown = grown_;
  lock.unlock();
  grown();
  return slot.at;
}

Result<engine::LogPosition> MemoryReplica::Write(const std::string& text) { return Add(text); }

Result<engine::LogPosition> MemoryReplica::WriteNoop(bson::View) { return Add(std::string(kNoop)); }

std::vector<std::string> MemoryReplica::Texts() const {
  std::lock_guard lock(mutex_);
  std::vector<std::string> out;
  for (const engine::LogSlot& slot : disk_->slots) {
    if (slot.at.time <= disk_->applied && slot.groups[0].value != kNoop) {
      out.push_back(slot.groups[0].value);
    }
  }
  return out;
}

void MemoryReplica::HoldSyncs(bool on) {
  std::lock_guard lock(mutex_);
  hold_syncs_ = on;
  synced_.notify_all();
}

Result<engine::ReplicaStart> MemoryReplica::Start() {
  std::lock_guard lock(mutex_);
  engine::ReplicaStart start;
  start.local = disk_->local;
  start.log = Ends();
  start.applied = disk_->applied;
  start.commit = disk_->commit;
  return start;
}

Status MemoryReplica::SaveLocal(bson::View local) {
  std::lock_guard lock(mutex_);
  disk_->local = bson::Document(local);
  return Status::Ok();
}

void MemoryReplica::OpenLog(uint64_t epoch) {
  std::lock_guard lock(mutex_);
  open_ = true;
  epoch_ = epoch;
}

Result<engine::LogEnds> MemoryReplica::CloseLog() {
  std::lock_guard lock(mutex_);
  open_ = false;
  return Ends();
}

engine::LogPosition MemoryReplica::LastSlot() const {
  std::lock_guard lock(mutex_);
  return Last();
}

uint64_t MemoryReplica::Visible() const { return LastSlot().time; }

void MemoryReplica::OnGrown(std::function<void()> grown) {
  std::lock_guard lock(mutex_);
  grown_ = std::move(grown);
}

void MemoryReplica::OnBroken(std::function<void(Status)> broken) {
  std::lock_guard lock(mutex_);
  broken_ = std::move(broken);
}

void MemoryReplica::Break() {
  std::function<void(Status)> broken;
  {
    std::lock_guard lock(mutex_);
    broken = broken_;
  }
  broken({kInternalError, "A slot of the log has no entry"});
}

Result<std::vector<engine::LogSlot>> MemoryReplica::ReadSlots(engine::LogPosition after,
                                                              uint64_t last, size_t most_bytes) {
  std::lock_guard lock(mutex_);
  std::vector<engine::LogSlot> out;
  size_t bytes = 0;
  if (after.time < disk_->begin.time) {
    return Status(kCappedPositionLost, "trimmed");
  }
  for (const engine::LogSlot& slot : disk_->slots) {
    if (slot.at.time <= after.time) {
      continue;
    }
    if (slot.at.time > last || (!out.empty() && bytes + slot.bytes() > most_bytes)) {
      break;
    }
    bytes += slot.bytes();
    out.push_back(slot);
  }
  return out;
}

Status MemoryReplica::SyncLog() {
  std::unique_lock lock(mutex_);
  synced_.wait(lock, [&] { return !hold_syncs_; });
  return Status::Ok();
}

void MemoryReplica::SetCommit(uint64_t commit) {
  std::lock_guard lock(mutex_);
  disk_->commit = commit;
}

uint64_t MemoryReplica::Applied() const {
  std::lock_guard lock(mutex_);
  return disk_->applied;
}

Status MemoryReplica::Append(std::span<const engine::LogSlot> slots) {
  std::lock_guard lock(mutex_);
  for (const engine::LogSlot& slot : slots) {
    if (slot.previous != Last().time) {
      return {kInternalError, "the log would have a hole"};
    }
    disk_->slots.push_back(slot);
  }
  return Status::Ok();
}

Result<uint64_t> MemoryReplica::Apply(uint64_t up_to) {
  std::lock_guard lock(mutex_);
  for (const engine::LogSlot& slot : disk_->slots) {
    if (slot.at.time > disk_->applied && slot.at.time <= up_to) {
      disk_->applied = slot.at.time;
      return disk_->applied;  // a batch of one
    }
  }
  return std::max(disk_->applied, up_to);
}

Status MemoryReplica::Cut(engine::LogPosition after) {
  std::lock_guard lock(mutex_);
  std::erase_if(disk_->slots,
                [&](const engine::LogSlot& slot) { return slot.at.time > after.time; });
  disk_->applied = std::min(disk_->applied, after.time);
  return Status::Ok();
}

Result<engine::LogPosition> MemoryReplica::Checkpoint(const std::string& folder) {
  std::lock_guard lock(mutex_);
  std::filesystem::create_directories(folder + "/data/more");
  std::ofstream(folder + "/data/slots", std::ios::binary) << EncodeSlots(disk_->slots);
  std::ofstream(folder + "/data/more/marks") << disk_->applied << " " << disk_->commit;
  return Last();
}

std::shared_ptr<void> MemoryReplica::PinLog(uint64_t) { return std::make_shared<int>(0); }

}  // namespace quire::repl
