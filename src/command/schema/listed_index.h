// SPDX-License-Identifier: Apache-2.0
//
// How listIndexes shows an index.
#pragma once

#include "quire/bson.h"

namespace quire::command {

// The index's spec in the order and with the types in which listIndexes shows it: flags as
// booleans, versions as ints, bounds as doubles. What is no option of an index is left out.
bson::Document ListedIndex(bson::View spec);

}  // namespace quire::command
