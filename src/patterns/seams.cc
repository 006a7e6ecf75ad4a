// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/seams.h"

#include <random>
#include <string>

#include "patterns/hooks.h"
#include "quire/patterns/error.h"

namespace quire::patterns {

namespace {

class SystemClock : public Clock {
 public:
  bson::Date Now() override { return bson::Date::Now(); }
};

class SystemIds : public IdSource {
 public:
  bson::ObjectId Next() override { return bson::ObjectId::Generate(); }
};

class SystemRandom : public RandomSource {
 public:
  double Next() override {
    thread_local std::mt19937_64 engine{std::random_device{}()};
    return std::uniform_real_distribution<double>(0.0, 1.0)(engine);
  }
};

}  // namespace

Clock* Clock::System() {
  static SystemClock clock;
  return &clock;
}

IdSource* IdSource::System() {
  static SystemIds ids;
  return &ids;
}

RandomSource* RandomSource::System() {
  static SystemRandom random;
  return &random;
}

Status Seams::After(std::string_view point) const {
  if (crash == nullptr || crash->After(point)) {
    return Status::Ok();
  }
  return MakeError(Error::kCrashed, point);
}

Status Seams::After(std::string_view operation, int step) const {
  if (crash == nullptr) {
    return Status::Ok();
  }
  return After(std::string(operation) + ".c" + std::to_string(step));
}

JobReport& JobReport::operator+=(const JobReport& other) {
  examined += other.examined;
  changed += other.changed;
  skipped += other.skipped;
  errors += other.errors;
  return *this;
}

Status JobReport::Count(const Result<int64_t>& work) {
  examined += 1;
  if (!work.ok()) {
    errors += 1;
    return Is(work.status(), Error::kCrashed) ? work.status() : Status::Ok();
  }
  changed += *work;
  skipped += *work == 0 ? 1 : 0;
  return Status::Ok();
}

}  // namespace quire::patterns
