// SPDX-License-Identifier: Apache-2.0
//
// A row that owns its bytes.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "exec/operator.h"

namespace quire::exec {

class KeptRow {
 public:
  KeptRow() = default;
  // Copies the document, the key and all metadata.
  explicit KeptRow(const Row& row);
  // Valid while this lives unmoved.
  void ShowIn(Row* row) const;

  std::string_view sort_key() const { return sort_key_; }

 private:
  struct Values {
    bson::OwnedValue geo_point;
    bson::OwnedValue sort_key;
    bson::OwnedValue index_key;
    bson::OwnedValue score_details;
  };

  Row row_;  // its views are not looked at
  std::string document_;
  std::string sort_key_;
  std::unique_ptr<const Values> values_;  // of the metadata; null: few rows have any
};

}  // namespace quire::exec
