// SPDX-License-Identifier: Apache-2.0
//
// The entries of wildcard indexes: one for each scalar at a path the index holds, (path, value) in
// place of the pattern's "$**". Empty documents and arrays are values too ({} and undefined), and
// so is an array within an array; paths have no array positions. In a compound index a document
// without any such value has one entry with MinKey for both.
#pragma once

#include "quire/bson.h"
#include "quire/status.h"
#include "store/keys/index_key.h"

namespace quire::store {

// As IndexKeys. REQUIRES: spec.wildcard.
Status WildcardKeys(const IndexKeySpec& spec, bson::View document, IndexKeySet* out);

}  // namespace quire::store
