// SPDX-License-Identifier: Apache-2.0
//
// $fill, which is other stages under a name.
#pragma once

#include "quire/bson.h"
#include "quire/status.h"

namespace quire::expr {

// An array of what the stage stands for: $setWindowFields for its methods, or $sort when there is
// only an order; $addFields for its values. Errors FailedToParse, TypeMismatch, 40414, 40415,
// 6050200 to 6050204, 605001, those of paths.
Result<bson::Document> StagesOfFill(const bson::Value& spec);

}  // namespace quire::expr
