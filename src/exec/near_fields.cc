// SPDX-License-Identifier: Apache-2.0
#include "exec/near_fields.h"

#include "base/try.h"

namespace quire::exec {

Result<bool> SetNearFields::Produce(OpContext& op, Row* row) {
  ASSIGN_OR_RETURN(bool more, input_->Next(op, row));
  if (!more) {
    return false;
  }
  if (!fields_->distance.empty()) {
    bson::Value distance(row->meta.geo_distance * fields_->multiplier);
    with_distance_.clear();
    SetNested(row->document, fields_->distance, distance, &with_distance_);
    row->document = bson::View(with_distance_.data());
  }
  if (!fields_->location.empty()) {
    with_location_.clear();
    SetNested(row->document, fields_->location, row->meta.geo_point, &with_location_);
    row->document = bson::View(with_location_.data());
  }
  return true;
}

}  // namespace quire::exec
