// SPDX-License-Identifier: Apache-2.0
#include "exec/kept_row.h"

namespace quire::exec {

KeptRow::KeptRow(const Row& row)
    : row_(row), document_(row.document.bytes()), sort_key_(row.sort_key) {
  const expr::Metadata& meta = row.meta;
  if (!meta.geo_point.missing() || !meta.sort_key.missing() || !meta.index_key.missing() ||
      !meta.score_details.missing()) {
    values_ = std::make_unique<const Values>(
        Values{bson::OwnedValue(meta.geo_point), bson::OwnedValue(meta.sort_key),
               bson::OwnedValue(meta.index_key), bson::OwnedValue(meta.score_details)});
  }
}

void KeptRow::ShowIn(Row* row) const {
  *row = row_;
  row->document = bson::View(document_.data());
  row->sort_key = sort_key_;
  if (values_ != nullptr) {
    row->meta.geo_point = values_->geo_point.value();
    row->meta.sort_key = values_->sort_key.value();
    row->meta.index_key = values_->index_key.value();
    row->meta.score_details = values_->score_details.value();
  }
}

}  // namespace quire::exec
