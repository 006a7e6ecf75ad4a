// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "base/error_codes.h"
#include "base/try.h"
#include "command/access.h"
#include "command/diagnostic.h"
#include "command/own_documents.h"
#include "command/repl/concerns.h"
#include "request/fields.h"

namespace quire::command {
namespace {

constexpr std::string_view kSetName = "setDefaultRWConcern";
constexpr std::string_view kSettings = "config.settings";

void AppendValues(Invocation& i, const run::DefaultConcerns::Values& values) {
  i.reply()
      .BeginDocument("defaultReadConcern")
      .Append("level", values.read_level.value_or("local"))
      .End();
  if (values.write) {
    i.reply().Append("defaultWriteConcern", *values.write);
  } else if (i.engine.replication != nullptr) {
    i.reply().Append("defaultWriteConcern", ImplicitConcern(*i.engine.replication));
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
  const auto possible = [&i](const request::WriteConcern& concern) {
    return i.engine.replication == nullptr ? run::CheckConcernOfOne(concern)
                                           : i.engine.replication->CheckWriteConcern(concern);
  };
  run::DefaultConcerns& defaults = i.commands.default_concerns();
  run::DefaultConcerns::Values values = defaults.Get();
  if (asked.read) {
    RETURN_IF_ERROR(values.SetRead(*asked.read));
  }
  if (asked.write) {
    RETURN_IF_ERROR(values.SetWrite(*asked.write, possible));
  }
  if (const request::WriteConcern& concern = i.call.generic.write_concern; concern.w.is_string()) {
    RETURN_IF_ERROR(possible(concern));
  }
  values.updated = i.engine.clock().Tick();
  values.updated_at = WallClock();
  AppendValues(i, values);
  // Stored first, in force then.
  const bson::Document stored = values.ToDocument();
  RETURN_IF_ERROR(SaveOwn(i.engine, kSettings, stored));
  defaults.Put(std::move(values));
  return Status::Ok();
}

}  // namespace

void LoadDefaultConcerns(Commands& commands) {
  auto stored = LoadOwn(commands.engine(), kSettings, bson::Value(run::DefaultConcerns::kStoredId));
  if (stored.ok()) {
    commands.default_concerns().Put(
        *stored ? run::DefaultConcerns::Values::FromDocument((*stored)->view())
                : run::DefaultConcerns::Values());
  }
}

std::span<const Row> DefaultConcernRows() {
  using request::kAdminOnly;
  static constexpr Row kRows[] = {
      {{"getDefaultRWConcern", "", kAdminOnly, "the concerns of commands that give none"},
       RunGet,
       OnCluster(Action::getDefaultRWConcern)},
      {{"setDefaultRWConcern", "", kAdminOnly | request::kWriteConcern | request::kOnPrimary,
        "changes them"},
       RunSet,
       OnCluster(Action::setDefaultRWConcern)},
  };
  return kRows;
}

}  // namespace quire::command
