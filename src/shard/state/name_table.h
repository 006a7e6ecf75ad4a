// SPDX-License-Identifier: Apache-2.0
//
// The names that a shard knows, in memory: who may use them now, who uses them, who changes them.
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "engine/sharding.h"
#include "shard/core/ledger.h"
#include "shard/state/name_document.h"

namespace quire::shard {

// Safe for concurrent use.
class NameTable {
 public:
  // What a request named that the shard has not heard of.
  struct Unknown {
    std::string id;
    placement::ShardVersion version;
  };
  // See engine::Sharding. What is unknown is added to *unknown.
  engine::Sharding::Admission Admit(std::span<const engine::NamespaceVersion> names, bool writes,
                                    bool direct, std::vector<Unknown>* unknown);
  std::shared_ptr<const engine::OwnedPlacement> PlacementOf(std::string_view ns) const;

  // The record of a name; an empty one when it is not known.
  NameRecord Get(const std::string& id) const;
  std::vector<NameRecord> All() const;
  // As the log says now.
  void Put(NameRecord record);
  // As the log says at a start, or after it was taken back: of the rest nothing is known.
  void Reset(std::vector<NameRecord> records);
  // The version is not what the coordination store says: requests with it are out of date.
  void Refute(const std::string& id, const placement::ShardVersion& version);

  // Keeps others from changing the names.
  class Hold {
   public:
    Hold(NameTable* table, std::vector<std::string> ids) : table_(table), ids_(std::move(ids)) {}
    ~Hold();
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    NameTable* const table_;
    const std::vector<std::string> ids_;  // in order
  };
  // Waits for others who do. Null when they are not done after `timeout`.
  std::unique_ptr<Hold> Take(std::vector<std::string> ids, std::chrono::milliseconds timeout);

  // Lets nobody in, and waits for the writes that are. False when there still are some after
  // `timeout`: the name is open again then.
  bool Close(const std::string& id, std::chrono::milliseconds timeout);
  // Requests pass again as far as the log says so.
  void Open(const std::string& id);

  void SetShard(std::string name) {
    MutexLock lock(mutex_);
    shard_ = std::move(name);
  }

 private:
  class TablePass;
  struct Entry {
    NameRecord record;
    std::shared_ptr<const engine::OwnedPlacement> placement;
    int passes = 0;
    bool closed = false;
    bool held = false;
    std::optional<placement::ShardVersion> refuted;
  };
  Verdict Judge(const std::string& id, const std::optional<placement::ShardVersion>& received) const
      QUIRE_REQUIRES(mutex_);
  // Whether the name, or a collection of the database that it is, is known as sharded.
  bool HasSharded(const engine::NamespaceVersion& name) const QUIRE_REQUIRES(mutex_);
  Status StaleNamespace(const engine::NamespaceVersion& name) const QUIRE_REQUIRES(mutex_);
  Status StaleDatabase(const engine::NamespaceVersion& name) const QUIRE_REQUIRES(mutex_);
  void Leave(const std::vector<std::string>& ids);

  mutable Mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Entry, std::less<>> entries_ QUIRE_GUARDED_BY(mutex_);
  std::string shard_ QUIRE_GUARDED_BY(mutex_);
};

}  // namespace quire::shard
