// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <optional>

#include "base/error_codes.h"
#include "base/try.h"
#include "command/diagnostic.h"
#include "command/server/default_concern.h"
#include "request/fields.h"

namespace quire::command {
namespace {

constexpr std::string_view kSetName = "setDefaultRWConcern";

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
  engine::Durability durability = defaults.durability();
  if (asked.read) {
    ASSIGN_OR_RETURN(values.read_level, ReadDefaultLevel(*asked.read));
  }
  if (asked.write && asked.write->empty()) {
    if (values.write) {
      return {kIllegalOperation,
              "The global default write concern cannot be unset once it is set."};
    }
  } else if (asked.write) {
    ASSIGN_OR_RETURN(values.write, ReadDefaultWrite(*asked.write, &durability));
  }
  const bson::Value& w = i.call.generic.write_concern.w;
  if (w.is_string() && w.AsString() != "majority") {
    return CheckDefaultW(w);
  }
  values.updated = i.engine.clock().Tick();
  values.updated_at = WallClock();
  AppendValues(i, values);
  return defaults.Set(i.engine, std::move(values), durability);
}

}  // namespace

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
