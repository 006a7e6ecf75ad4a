// SPDX-License-Identifier: Apache-2.0
//
// $percentile and $median, as accumulators and as expressions.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "expr/agg/expression.h"
#include "quire/bson.h"
#include "quire/status.h"

namespace quire::expr {

struct PercentileSpec {
  std::vector<double> p;
  std::unique_ptr<agg::Expression> input;
  bool median = false;
};

// {input, p, method}. Errors 40414 (missing field), 40415 (unknown field), 7436100 (not an
// object), 7750301 and 7750303 (bad p), BadValue (bad method).
Result<PercentileSpec> ParsePercentileSpec(std::string_view op, const bson::Value& argument,
                                           agg::ParseScope& scope);

// The discrete percentiles of `values` (reordered by this): an array, or one value for a median;
// nulls when there are no values.
bson::Value ComputePercentiles(const PercentileSpec& spec, std::vector<double>* values,
                               Arena* arena);

void SerializePercentile(std::string_view name, std::string_view op, const PercentileSpec& spec,
                         bson::Builder* out);

}  // namespace quire::expr
