// SPDX-License-Identifier: Apache-2.0
//
// A store of format 3 has no groups: every document has a key of its own, which is as good in
// format 4 and later. Its documents are brought into groups in the background (FoldAll). Until that
// is done a mark in the store says so, and whoever opens it begins anew; what is in groups is not
// looked at again.
#pragma once

#include "kv/kv.h"

namespace quire::store {

// Whether documents are still to be brought into groups. Marks a store that has no mark: one
// without collections as one that needs nothing.
Result<bool> NeedsConversion(kv::Store& store);
Status EndConversion(kv::Store& store);

}  // namespace quire::store
