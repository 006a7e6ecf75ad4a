// SPDX-License-Identifier: Apache-2.0
//
// The index entries of a document: which keys an index holds for it.
#pragma once

#include "quire/bson.h"
#include "quire/status.h"
#include "store/keys/index_key.h"

namespace quire::store {

// Replaces *out with the keys of `document`. Errors: CannotIndexParallelArrays (171), 16746 for a
// numeric path part with two meanings, 16766 for an array under a hashed part, 7246301 for one
// under another part of a wildcard index.
Status IndexKeys(const IndexKeySpec& spec, bson::View document, IndexKeySet* out);

}  // namespace quire::store
