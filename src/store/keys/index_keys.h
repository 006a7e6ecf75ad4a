// SPDX-License-Identifier: Apache-2.0
//
// The index entries of a document: which keys an index holds for it.
#pragma once

#include "bson/walk/field_index.h"
#include "quire/bson.h"
#include "quire/status.h"
#include "store/keys/index_key.h"

namespace quire::store {

// Replaces *out with the keys of `document`. Errors: CannotIndexParallelArrays (171), 16746 for a
// numeric path part with two meanings, 16766 for an array under a hashed part, 7246301 for one
// under another part of a wildcard index.
Status IndexKeys(const IndexKeySpec& spec, bson::View document, IndexKeySet* out);

// The same for almost all documents, in place: in an index of values in order there is one key at
// most where no path meets an array. Appends its bytes to *key and replaces *type_bits; *nothing
// tells that no path reached a value (a sparse index leaves that key out). False, with nothing
// appended, where IndexKeys has to look. `fields` are the document's, started.
bool AppendOnlyKey(const IndexKeySpec& spec, bson::FieldIndex& fields, std::string* key,
                   std::string* type_bits, bool* nothing);

}  // namespace quire::store
