// SPDX-License-Identifier: Apache-2.0
#include "command/server/default_concern.h"

#include <algorithm>
#include <array>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/number.h"
#include "command/access.h"
#include "command/diagnostic.h"
#include "command/own_documents.h"
#include "command/write_concern.h"
#include "request/fields.h"

namespace quire::command {
namespace {

constexpr std::string_view kSetName = "setDefaultRWConcern";
constexpr double kMaxMembers = 50;
constexpr std::string_view kSettings = "config.settings";
constexpr std::string_view kStoredId = "ReadWriteConcernDefaults";

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

Status CheckW(const bson::Value& w) {
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

// The write concern as it is shown afterwards, and the durability it stands for.
Result<bson::Document> ReadWrite(bson::View spec, kv::Durability* durability) {
  bson::Value w = spec["w"];
  request::WriteConcern concern;
  int64_t timeout = 0;
  for (const bson::Element& e : spec) {
    if (e.name() == "w") {
      RETURN_IF_ERROR(CheckW(w));
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

void AppendValues(Invocation& i, const DefaultConcerns::Values& values) {
  i.reply()
      .BeginDocument("defaultReadConcern")
      .Append("level", values.read_level.value_or("local"))
      .End();
  if (values.write) {
    i.reply().Append("defaultWriteConcern", *values.write);
  } else {
    i.reply().BeginDocument("defaultWriteConcern").Append("w", 1).Append("wtimeout", 0).End();
  }
  if (values.updated != bson::Timestamp{}) {
    i.reply()
        .Append("updateOpTime", values.updated)
        .Append("updateWallClockTime", values.updated_at);
  }
  i.reply()
      .Append("defaultWriteConcernSource", values.write ? "global" : "implicit")
      .Append("defaultReadConcernSource", values.read_level ? "global" : "implicit")
      .Append("localUpdateWallClockTime",
              values.updated_at.millis != 0 ? values.updated_at : WallClock());
}

struct GetRequest {
  bool in_memory = false;
  static constexpr auto kFields = std::to_array<request::FieldRow<GetRequest>>(
      {request::Field<&GetRequest::in_memory>("inMemory")});
};

Status RunGet(Invocation& i) {
  bson::Value in_memory = i.body()["inMemory"];
  if (!in_memory.nullish() && in_memory.type() != bson::Type::kBool) {
    return request::WrongType("getDefaultRWConcern", i.body().Find("inMemory"), "bool");
  }
  GetRequest asked;
  RETURN_IF_ERROR(request::ReadFields<GetRequest>("getDefaultRWConcern", i.body(), true,
                                                  GetRequest::kFields, &asked));
  AppendValues(i, i.commands.default_concerns().Get());
  if (asked.in_memory) {
    i.reply().Append("inMemory", true);
  }
  return Status::Ok();
}

struct SetRequest {
  std::optional<bson::View> read;
  std::optional<bson::View> write;
  static constexpr auto kFields = std::to_array<request::FieldRow<SetRequest>>(
      {request::Field<&SetRequest::read>("defaultReadConcern"),
       request::Field<&SetRequest::write>("defaultWriteConcern")});
};

Status RunSet(Invocation& i) {
  SetRequest asked;
  RETURN_IF_ERROR(
      request::ReadFields<SetRequest>(kSetName, i.body(), true, SetRequest::kFields, &asked));
  if (!asked.read && !asked.write) {
    return {kBadValue,
            "At least one of the \"defaultReadConcern\" or \"defaultWriteConcern\" "
            "fields must be present"};
  }
  DefaultConcerns& defaults = i.commands.default_concerns();
  DefaultConcerns::Values values = defaults.Get();
  kv::Durability durability = defaults.durability();
  if (asked.read) {
    ASSIGN_OR_RETURN(values.read_level, ReadLevel(*asked.read));
  }
  if (asked.write && asked.write->empty()) {
    if (values.write) {
      return {kIllegalOperation,
              "The global default write concern cannot be unset once it is set."};
    }
  } else if (asked.write) {
    ASSIGN_OR_RETURN(values.write, ReadWrite(*asked.write, &durability));
  }
  const bson::Value& w = i.call.generic.write_concern.w;
  if (w.is_string() && w.AsString() != "majority") {
    return CheckW(w);
  }
  values.updated = i.engine.clock().Tick();
  values.updated_at = WallClock();
  AppendValues(i, values);
  return defaults.Set(i.engine, std::move(values), durability);
}

}  // namespace

DefaultConcerns::Values DefaultConcerns::Get() {
  std::lock_guard lock(mutex_);
  return values_;
}

Status DefaultConcerns::Set(engine::Engine& engine, Values values, kv::Durability durability) {
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
  std::lock_guard lock(mutex_);
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
    auto level = ReadLevel(read.AsDocument());
    values.read_level = level.ok() ? *level : std::nullopt;
  }
  kv::Durability durability = kv::Durability::kProcess;
  if (bson::Value write = document["defaultWriteConcern"]; write.is_document()) {
    auto concern = ReadWrite(write.AsDocument(), &durability);
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
  std::lock_guard lock(mutex_);
  values_ = std::move(values);
  durability_ = durability;
}

std::span<const Row> DefaultConcernRows() {
  using request::kAdminOnly;
  static constexpr Row kRows[] = {
      {{"getDefaultRWConcern", "", kAdminOnly, "the concerns of commands that give none"},
       RunGet,
       OnCluster(Action::getDefaultRWConcern)},
      {{"setDefaultRWConcern", "", kAdminOnly | request::kWriteConcern, "changes them"},
       RunSet,
       OnCluster(Action::setDefaultRWConcern)},
  };
  return kRows;
}

}  // namespace quire::command
