// SPDX-License-Identifier: Apache-2.0
//
// Folding: a group is written anew with what lies beside it, or documents with keys of their own
// become a group. Nothing that a transaction can see changes by it. Folding claims the records it
// moves, so a writer of one of them may meet a WriteConflict.
#pragma once

#include <functional>

#include "kv/kv.h"
#include "store/collection_info.h"

namespace quire::store {

// `log`: that of the store, which may refer to groups (log/references.h).

// Folds what has that number. False when there was nothing to fold, or others write there.
Result<bool> FoldGroup(kv::Store& store, ChangeLog& log, const CollectionInfo& info,
                       int64_t number);

// Folds numbers that were noted, until there are none or `stop`.
Status FoldNoted(kv::Store& store, ChangeLog& log, const CollectionInfo& info,
                 const std::function<bool()>& stop);

// Folds all numbers under which enough documents have keys of their own, in ascending order, from
// record id `from` on. `moved` is told each record id up to which all is done; false ends it before
// all is done, and so does FoldAll.
Result<bool> FoldAll(kv::Store& store, ChangeLog& log, const CollectionInfo& info, RecordId from,
                     const std::function<bool(RecordId done)>& moved);

}  // namespace quire::store
