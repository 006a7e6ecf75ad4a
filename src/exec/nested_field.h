// SPDX-License-Identifier: Apache-2.0
//
// Reading and writing one dotted path of a document, through sub-documents only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "quire/bson.h"

namespace quire::exec {

using FieldPath = std::vector<std::string>;

FieldPath SplitFieldPath(std::string_view path);
std::string JoinFieldPath(const FieldPath& path);

// The value at the path; missing when a step is not a document or has no such field.
bson::Value GetNested(bson::View document, const FieldPath& path);

// Appends `document` with `value` at the path to *out: in place when the field exists, at the end
// otherwise; steps that are not documents become such. A missing value removes the field.
void SetNested(bson::View document, const FieldPath& path, const bson::Value& value,
               std::string* out);

}  // namespace quire::exec
