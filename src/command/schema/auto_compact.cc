// SPDX-License-Identifier: Apache-2.0
#include "engine/auto_compact.h"

#include "base/error_codes.h"
#include "base/try.h"
#include "command/command.h"
#include "request/fields.h"

namespace quire::command {

namespace {

using request::Field;
using request::FieldRow;

struct CompactFields {
  std::optional<int64_t> free_space_target;
  bool run_once = false;
};
constexpr FieldRow<CompactFields> kRows[] = {
    Field<&CompactFields::free_space_target>("freeSpaceTargetMB"),
    request::StrictBool<&CompactFields::run_once>("runOnce"),
};

Status RunAutoCompact(Invocation& i) {
  bson::Element enable = i.body().front();
  if (enable.value().nullish()) {
    return request::MissingField("autoCompact", "autoCompact");
  }
  if (enable.type() != bson::Type::kBool) {
    return request::WrongType("autoCompact", enable, "bool");
  }
  CompactFields f;
  RETURN_IF_ERROR(request::ReadFields<CompactFields>("autoCompact", i.body(), true, kRows, &f));
  if (f.free_space_target && *f.free_space_target < 1) {
    return {kBadValue, "BSON field 'freeSpaceTargetMB' value must be >= 1"};
  }
  if (!enable.value().AsBool()) {
    i.engine.auto_compact().Stop();
    return Status::Ok();
  }
  engine::AutoCompactOptions options;
  options.free_space_target_mb = f.free_space_target.value_or(options.free_space_target_mb);
  options.run_once = f.run_once;
  if (options.free_space_target_mb > INT64_MAX >> 20) {
    return {kBadValue, "BSON field 'freeSpaceTargetMB' is too large"};
  }
  return i.engine.auto_compact().Start(options);
}

}  // namespace

std::span<const Row> AutoCompactRows() {
  static constexpr Row kAll[] = {
      {{"autoCompact", "", request::kAdminOnly, "gives unused space back in the background"},
       RunAutoCompact,
       OnCluster(Action::compact)},
  };
  return kAll;
}

}  // namespace quire::command
