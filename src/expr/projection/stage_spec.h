// SPDX-License-Identifier: Apache-2.0
//
// Arguments of the stages that reshape one document, in the form the rest of the code takes.
#pragma once

#include "quire/bson.h"
#include "quire/status.h"

namespace quire::expr {

// $unset's string or array of strings as an exclusion {path: 0, ...}. Errors 31002, 31119, 31120,
// 9527900.
Result<bson::Document> UnsetSpec(const bson::Value& argument);

// The expression behind {newRoot: ...}. Errors 40229, 40414, 40415.
Result<bson::Value> NewRoot(const bson::Value& argument);

// Error 40228 unless `value` (what newRoot evaluated to) is a document.
Status CheckNewRoot(const bson::Value& value, bson::View input);

}  // namespace quire::expr
