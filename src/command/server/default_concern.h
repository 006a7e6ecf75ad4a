// SPDX-License-Identifier: Apache-2.0
//
// The concerns of commands that give none, as setDefaultRWConcern sets them; stored in
// config.settings as MongoDB does.
#pragma once

#include <atomic>
#include <optional>
#include <string>

#include "base/mutex.h"
#include "engine/durability.h"
#include "engine/engine.h"
#include "quire/bson.h"

namespace quire::command {

// What a default read concern's document asks for; nothing when it is empty.
Result<std::optional<std::string>> ReadDefaultLevel(bson::View spec);
// The default write concern as it is shown afterwards, and the durability it stands for.
Result<bson::Document> ReadDefaultWrite(bson::View spec, engine::Durability* durability);
// Whether `w` may be that of a default write concern.
Status CheckDefaultW(const bson::Value& w);

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
  Status Set(engine::Engine& engine, Values values, engine::Durability durability);
  // Puts in force what is stored.
  void Load(engine::Engine& engine);
  // Of writes that give no concern.
  engine::Durability durability() const { return durability_.load(std::memory_order_relaxed); }

 private:
  std::atomic<engine::Durability> durability_{engine::Durability::kProcess};
  Mutex mutex_;
  Values values_ QUIRE_GUARDED_BY(mutex_);
};

}  // namespace quire::command
