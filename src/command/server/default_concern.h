// SPDX-License-Identifier: Apache-2.0
//
// The concerns of commands that give none, as setDefaultRWConcern sets them; stored in
// config.settings as MongoDB does.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <string>

#include "engine/engine.h"
#include "kv/kv.h"
#include "quire/bson.h"

namespace quire::command {

// Safe for concurrent use.
class DefaultConcerns {
 public:
  struct Values {
    std::optional<std::string> read_level;  // none: the implicit one
    std::optional<bson::Document> write;    // none: the implicit one
    bson::Timestamp updated;                // zero before the first change
    bson::Date updated_at;
  };

  Values Get();
  // Stores the values, then puts them in force.
  Status Set(engine::Engine& engine, Values values, kv::Durability durability);
  // Puts in force what is stored.
  void Load(engine::Engine& engine);
  // Of writes that give no concern.
  kv::Durability durability() const { return durability_.load(std::memory_order_relaxed); }

 private:
  std::atomic<kv::Durability> durability_{kv::Durability::kProcess};
  std::mutex mutex_;
  Values values_;  // protected by mutex_
};

}  // namespace quire::command
