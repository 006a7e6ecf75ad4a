// SPDX-License-Identifier: Apache-2.0
//
// What a system takes from outside: time, ids, chance.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "quire/bson.h"
#include "quire/status.h"

namespace quire::patterns {

// All are safe for concurrent use.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual bson::Date Now() = 0;
  static Clock* System();
};

class IdSource {
 public:
  virtual ~IdSource() = default;
  virtual bson::ObjectId Next() = 0;
  static IdSource* System();
};

class RandomSource {
 public:
  virtual ~RandomSource() = default;
  // Uniform in [0, 1).
  virtual double Next() = 0;
  static RandomSource* System();
};

// Of the library's own tests: crashes after steps, writes that fail, queries that are looked at.
class CrashHook;
class FaultHook;
class QueryHook;

// Borrowed: they outlive the systems that use them.
struct Seams {
  Clock* clock = Clock::System();
  IdSource* ids = IdSource::System();
  RandomSource* random = RandomSource::System();
  CrashHook* crash = nullptr;
  FaultHook* faults = nullptr;
  QueryHook* queries = nullptr;

  // Crashed when the hook says so. A step that is one of several takes its number apart.
  Status After(std::string_view point) const;
  Status After(std::string_view operation, int step) const;
};

// What a background job did.
struct JobReport {
  int64_t examined = 0;
  int64_t changed = 0;
  int64_t skipped = 0;
  int64_t errors = 0;

  JobReport& operator+=(const JobReport& other);
  // Counts one piece of work that changed so many things, or failed: one that fails does not keep
  // the job from the others. Only Crashed comes back.
  Status Count(const Result<int64_t>& work);
};

// How a system makes changes to several documents: by single-document steps that a clean-up job can
// finish or undo, or in one multi-document transaction.
enum class Backend { kCompensating, kTransactional };

}  // namespace quire::patterns
