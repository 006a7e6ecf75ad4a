// SPDX-License-Identifier: Apache-2.0
//
// The concerns of commands that give none, as setDefaultRWConcern sets them.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "quire/bson.h"
#include "quire/status.h"
#include "request/generic.h"

namespace quire::run {

// Safe for concurrent use.
class DefaultConcerns {
 public:
  // The _id of the document of config.settings that keeps them, as MongoDB does.
  static constexpr std::string_view kStoredId = "ReadWriteConcernDefaults";

  // Whether the set could ever meet a concern: why not.
  using CheckConcern = std::function<Status(const request::WriteConcern& concern)>;

  struct Values {
    std::optional<std::string> read_level;  // none: the implicit one
    std::optional<bson::Document> write;    // none: the implicit one
    bool waits_for_disk = false;            // what `write` stands for
    bson::Timestamp updated;                // zero before the first change
    bson::Date updated_at;

    // Take what a command gives. Errors: those of MongoDB for what is no default.
    Status SetRead(bson::View concern);
    Status SetWrite(bson::View concern, const CheckConcern& possible);
    // As they are stored.
    bson::Document ToDocument() const;
    static Values FromDocument(bson::View stored);
  };

  Values Get();
  // Puts them in force; they are stored already.
  void Put(Values values);
  // Whether writes that give no concern wait for the disk.
  bool waits_for_disk() const { return waits_for_disk_.load(std::memory_order_relaxed); }
  // Whether reads that give no concern see what is committed only.
  bool reads_majority() const { return reads_majority_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> waits_for_disk_{false};
  std::atomic<bool> reads_majority_{false};
  Mutex mutex_;
  Values values_ QUIRE_GUARDED_BY(mutex_);
};

// What one member can meet.
Status CheckConcernOfOne(const request::WriteConcern& concern);

}  // namespace quire::run
