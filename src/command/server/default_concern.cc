// SPDX-License-Identifier: Apache-2.0
#include "command/server/default_concern.h"

#include <algorithm>
#include <array>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/number.h"
#include "command/own_documents.h"
#include "command/values.h"
#include "command/write_concern.h"
#include "request/fields.h"

namespace quire::command {
namespace {

constexpr double kMaxMembers = 50;
constexpr std::string_view kSettings = "config.settings";
constexpr std::string_view kStoredId = "ReadWriteConcernDefaults";

}  // namespace

Result<std::optional<std::string>> ReadDefaultLevel(bson::View spec) {
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

Status CheckDefaultW(const bson::Value& w) {
  if (w.is_string() ? w.AsString() != "majority" : w.nullish()) {
    return {kUnknownReplWriteConcern, "No write concern mode named '" +
                                          (w.is_string() ? std::string(w.AsString()) : "") +
                                          "' found in replica set configuration"};
  }
  if (w.is_string()) {
    return Status::Ok();
  }
  if (!w.is_number()) {
    return {kFailedToParse, "w has to be a number, string, or object; found: " +
                                std::string(bson::TypeName(w.type()))};
  }
  double members = bson::ToDouble(w);
  if (!(members >= 0 && members <= kMaxMembers)) {
    return {kFailedToParse, "w has to be a non-negative number and not greater than 50"};
  }
  if (members < 1) {
    return {kBadValue, "w: 0 is not suitable for the default write concern"};
  }
  if (members >= 2) {
    return {kUnsatisfiableWriteConcern, "Not enough data-bearing nodes"};
  }
  return Status::Ok();
}

Result<bson::Document> ReadDefaultWrite(bson::View spec, engine::Durability* durability) {
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
      concern.journal = Truthy(e.value());
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
  *durability = DurabilityOf(concern);
  bson::Builder out;
  out.Append("w", w.is_string() ? w : bson::Value(static_cast<int32_t>(bson::ClampedInt64(w))));
  if (concern.journal_given) {
    out.Append("j", concern.journal);
  }
  out.Append("wtimeout", static_cast<int32_t>(std::min<int64_t>(timeout, INT32_MAX)));
  return out.Finish();
}

DefaultConcerns::Values DefaultConcerns::Get() {
  MutexLock lock(mutex_);
  return values_;
}

Status DefaultConcerns::Set(engine::Engine& engine, Values values, engine::Durability durability) {
  bson::Builder out;
  out.Append("_id", kStoredId);
  if (values.read_level) {
    out.BeginDocument("defaultReadConcern").Append("level", *values.read_level).End();
  }
  if (values.write) {
    out.Append("defaultWriteConcern", *values.write);
  }
  out.Append("updateOpTime", values.updated).Append("updateWallClockTime", values.updated_at);
  bson::Document document = out.Finish();
  RETURN_IF_ERROR(SaveOwn(engine, kSettings, document.view()));
  MutexLock lock(mutex_);
  values_ = std::move(values);
  durability_ = durability;
  return Status::Ok();
}

void DefaultConcerns::Load(engine::Engine& engine) {
  auto stored = LoadOwn(engine, kSettings, bson::Value(kStoredId));
  if (!stored.ok() || !*stored) {
    return;
  }
  bson::View document = (*stored)->view();
  Values values;
  if (bson::Value read = document["defaultReadConcern"]; read.is_document()) {
    auto level = ReadDefaultLevel(read.AsDocument());
    values.read_level = level.ok() ? *level : std::nullopt;
  }
  engine::Durability durability = engine::Durability::kProcess;
  if (bson::Value write = document["defaultWriteConcern"]; write.is_document()) {
    auto concern = ReadDefaultWrite(write.AsDocument(), &durability);
    if (concern.ok()) {
      values.write = *std::move(concern);
    }
  }
  if (bson::Value time = document["updateOpTime"]; time.type() == bson::Type::kTimestamp) {
    values.updated = time.AsTimestamp();
  }
  if (bson::Value date = document["updateWallClockTime"]; date.type() == bson::Type::kDate) {
    values.updated_at = date.AsDate();
  }
  MutexLock lock(mutex_);
  values_ = std::move(values);
  durability_ = durability;
}

}  // namespace quire::command
