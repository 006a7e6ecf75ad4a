// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "quire/bson.h"

namespace quire::bson {

// The first field name that stands in the document more than once (sub-documents are not looked
// into). Whoever reads such a document by name sees one value, whoever walks it may see another.
std::optional<std::string_view> RepeatedName(View document);

}  // namespace quire::bson
