// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/parsing.h"

#include "bson/number.h"
#include "bson/repeated.h"

namespace quire::pipeline {

Result<std::unique_ptr<expr::agg::Expression>> ParseExpression(const bson::Value& spec,
                                                               const expr::Context* context) {
  expr::agg::ParseScope scope;
  scope.context = context;
  return expr::agg::ParseExpression(spec, scope);
}

Status NeedNothing(const bson::Element& /*spec*/, const PipelineOptions& /*options*/,
                   auth::Needs* /*needs*/) {
  return Status::Ok();
}

Status CheckNotRepeated(bson::View fields, std::string_view where) {
  std::optional<std::string_view> name = bson::RepeatedName(fields);
  return name ? Status(40413, "BSON field '" + std::string(where) + "." + std::string(*name) +
                                  "' is a duplicate field")
              : Status::Ok();
}

bool ToInteger(const bson::Value& value, int64_t* out) {
  auto exact = bson::ExactInt64(value);
  if (exact) {
    *out = *exact;
  }
  return exact.has_value();
}

}  // namespace quire::pipeline
