// SPDX-License-Identifier: Apache-2.0
//
// For tests: a node in a folder with its part in a replica set, without the set.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>

#include "engine/engine.h"
#include "engine/replica/replica_data.h"
#include "kv/testing/fault_store.h"

namespace quire::engine::testing {

class Member {
 public:
  // A new one. `faults`, which outlives it, may be null.
  explicit Member(std::string name, kv::FaultPlan* faults = nullptr);
  // Begins with a copy of another one's data.
  Member(Member& source, std::string name);
  ~Member();

  Engine& engine() { return *engine_; }
  ReplicaData& data() { return *data_; }
  const std::string& folder() const { return folder_; }
  const ReplicaStart& start() const { return start_; }

  // As after the death of the process. With `start` false Start is left to the caller.
  void Reopen(bool start = true);
  void Close();

  // Appends the other's log from its own end on and applies up to `upto` (default: all of it).
  void Follow(Member& leader, uint64_t upto = UINT64_MAX, bool apply = true);
  void ApplyTo(uint64_t upto);

  Status Insert(const std::string& ns, std::string_view json);
  Status Update(const std::string& ns, std::string_view filter, std::string_view change);
  Status Delete(const std::string& ns, std::string_view filter);
  // `count` random changes of documents, sessions and the catalog.
  void Change(int count, uint64_t seed);

  // Everything members have in common, as text, once all indexes are found to be right.
  std::string Content();

 private:
  void Open(bool start);
  void ChangeOnce(std::mt19937_64& random);
  void ChangeSchema(std::mt19937_64& random);
  void RunTransaction(std::mt19937_64& random);
  void RunRetryable(std::mt19937_64& random);
  std::string Any(std::mt19937_64& random);

  std::string folder_;
  kv::FaultPlan* faults_ = nullptr;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<ReplicaData> data_;
  ReplicaStart start_;
  int64_t next_id_ = 0;
  int64_t txn_number_ = 0;
};

}  // namespace quire::engine::testing
