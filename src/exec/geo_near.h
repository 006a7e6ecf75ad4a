// SPDX-License-Identifier: Apache-2.0
//
// GEO_NEAR: rows in the order of their distance.
#pragma once

#include <string_view>

#include "exec/operator.h"
#include "exec/sorter.h"
#include "expr/match/geo.h"

namespace quire::exec {

// Gives the rows that have a location within the limits of `near`, nearest first; each carries the
// distance and the location it was measured to.
class GeoNear final : public Stage {
 public:
  // `input` and `near` outlive it. Locations are those at the dotted `path`.
  GeoNear(Operator* input, const expr::match::GeoNearNode* near, std::string_view path,
          const SorterOptions& options)
      : input_(input), near_(near), path_(path), sorter_(options) {}

 private:
  Result<Step> DoWork(OpContext& op, Row* row) override;
  Result<Step> TakeOne(OpContext& op, Row* row);

  Operator* input_;
  const expr::match::GeoNearNode* near_;
  expr::match::Path path_;
  Sorter sorter_;
  bool sorted_ = false;
};

}  // namespace quire::exec
