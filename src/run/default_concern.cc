// SPDX-License-Identifier: Apache-2.0
#include "run/default_concern.h"

#include <algorithm>
#include <array>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/number.h"
#include "request/fields.h"
#include "run/write_concern.h"

namespace quire::run {
namespace {

constexpr double kMaxMembers = 50;

// Whether `w` can be the w of a default write concern: why not.
Status CheckDefaultW(const bson::Value& w) {
  if (w.nullish()) {
    return {kUnknownReplWriteConcern,
            "No write concern mode named '' found in replica set configuration"};
  }
  if (w.is_string()) {
    return Status::Ok();
  }
  if (!w.is_number()) {
    return {kFailedToParse, "w has to be a number, string, or object; found: " +
                                std::string(bson::TypeName(w.type()))};
  }
  const double members = bson::ToDouble(w);
  if (!(members >= 0 && members <= kMaxMembers)) {
    return {kFailedToParse, "w has to be a non-negative number and not greater than 50"};
  }
  return members >= 1 ? Status::Ok()
                      : Status(kBadValue, "w: 0 is not suitable for the default write concern");
}

// What the read concern's document asks for; nothing when it is empty.
Result<std::optional<std::string>> ReadLevel(bson::View spec) {
  std::optional<std::string> level;
  for (const bson::Element& e : spec) {
    if (e.name() != "level") {
      return request::UnknownField("readConcern", e.name());
    }
    if (e.type() != bson::Type::kString) {
      return request::WrongType("readConcern", e, "string");
    }
    level = std::string(e.value().AsString());
    constexpr std::array<std::string_view, 3> kAllowed = {"local", "available", "majority"};
    if (std::find(kAllowed.begin(), kAllowed.end(), *level) == kAllowed.end()) {
      return Status(kBadValue,
                    "level: '" + *level + "' is not suitable for the default read concern");
    }
  }
  return level;
}

// The write concern as it is shown afterwards, and what it stands for.
Result<bson::Document> ReadWrite(bson::View spec, const DefaultConcerns::CheckConcern& possible,
                                 bool* waits_for_disk) {
  bson::Value w = spec["w"];
  request::WriteConcern concern;
  int64_t timeout = 0;
  for (const bson::Element& e : spec) {
    if (e.name() == "w") {
      RETURN_IF_ERROR(CheckDefaultW(w));
    } else if (e.name() == "j") {
      if (e.type() != bson::Type::kBool && !e.value().is_number()) {
        return request::WrongType("writeConcern", e, "bool");
      }
      concern.journal = request::Truthy(e.value());
      concern.journal_given = true;
    } else if (e.name() == "wtimeout") {
      timeout = e.value().is_number() ? std::max<int64_t>(0, bson::ClampedInt64(e.value())) : 0;
    } else {
      return request::UnknownField("writeConcern", e.name());
    }
  }
  if (w.missing()) {
    return Status(kBadValue, "the default write concern needs a 'w' field");
  }
  concern.w = w;
  RETURN_IF_ERROR(possible(concern));
  *waits_for_disk = WaitsForDisk(concern);
  bson::Builder out;
  out.Append("w", w.is_string() ? w : bson::Value(static_cast<int32_t>(bson::ClampedInt64(w))));
  if (concern.journal_given) {
    out.Append("j", concern.journal);
  }
  out.Append("wtimeout", static_cast<int32_t>(std::min<int64_t>(timeout, INT32_MAX)));
  return out.Finish();
}

}  // namespace

Status CheckConcernOfOne(const request::WriteConcern& concern) {
  if (concern.w.is_string() && concern.w.AsString() != "majority") {
    return {kUnknownReplWriteConcern, "No write concern mode named '" +
                                          std::string(concern.w.AsString()) +
                                          "' found in replica set configuration"};
  }
  if (concern.w.is_number() && bson::ToDouble(concern.w) >= 2) {
    return {kUnsatisfiableWriteConcern, "Not enough data-bearing nodes"};
  }
  return Status::Ok();
}

Status DefaultConcerns::Values::SetRead(bson::View concern) {
  ASSIGN_OR_RETURN(read_level, ReadLevel(concern));
  return Status::Ok();
}

Status DefaultConcerns::Values::SetWrite(bson::View concern, const CheckConcern& possible) {
  if (concern.empty()) {
    return !write ? Status::Ok()
                  : Status(kIllegalOperation,
                           "The global default write concern cannot be unset once it is set.");
  }
  ASSIGN_OR_RETURN(write, ReadWrite(concern, possible, &waits_for_disk));
  return Status::Ok();
}

bson::Document DefaultConcerns::Values::ToDocument() const {
  bson::Builder out;
  out.Append("_id", kStoredId);
  if (read_level) {
    out.BeginDocument("defaultReadConcern").Append("level", *read_level).End();
  }
  if (write) {
    out.Append("defaultWriteConcern", *write);
  }
  out.Append("updateOpTime", updated).Append("updateWallClockTime", updated_at);
  return out.Finish();
}

DefaultConcerns::Values DefaultConcerns::Values::FromDocument(bson::View stored) {
  Values values;
  if (bson::Value read = stored["defaultReadConcern"]; read.is_document()) {
    (void)values.SetRead(read.AsDocument());
  }
  if (bson::Value concern = stored["defaultWriteConcern"]; concern.is_document()) {
    (void)values.SetWrite(concern.AsDocument(),
                          [](const request::WriteConcern&) { return Status::Ok(); });
  }
  if (bson::Value time = stored["updateOpTime"]; time.type() == bson::Type::kTimestamp) {
    values.updated = time.AsTimestamp();
  }
  if (bson::Value date = stored["updateWallClockTime"]; date.type() == bson::Type::kDate) {
    values.updated_at = date.AsDate();
  }
  return values;
}

DefaultConcerns::Values DefaultConcerns::Get() {
  MutexLock lock(mutex_);
  return values_;
}

void DefaultConcerns::Put(Values values) {
  MutexLock lock(mutex_);
  values_ = std::move(values);
  waits_for_disk_ = values_.waits_for_disk;
  reads_majority_ = values_.read_level == "majority";
}

}  // namespace quire::run
