// SPDX-License-Identifier: Apache-2.0
//
// Building indexes over documents that are already there, while they are read and written.
//
// A build reads the collection at one moment, sorts the keys in runs of bounded size and loads each
// run straight into sorted files of the store. Writers meanwhile put what they change about the new
// index's keys as notes into a table beside it, within their own transactions. The notes are
// applied in order while writing goes on, and the last of them with writers kept out for a moment.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/op_context.h"
#include "store/build/build_table.h"
#include "store/build/notes.h"
#include "store/catalog.h"

namespace quire::store {

// Applies the notes so far to the index's table; gives their number. DuplicateKey for a unique
// index; what `check`, asked now and then, says. Nobody else applies them at the same time.
Result<int64_t> ApplyNotes(kv::Store& store, const CollectionInfo& info, const IndexInfo& index,
                           const std::function<Status()>& check);

// Loads the keys of all documents that `snapshot` shows, for all the indexes in one pass.
// Errors: those of keys, DuplicateKey, IndexBuildAborted, interruption.
Status LoadKeys(OpContext& op, kv::Store& store, kv::Txn& snapshot, const CollectionInfo& info,
                const std::vector<std::shared_ptr<IndexInfo>>& indexes, BuildTable* progress);

// Ok, or why the build must not go on.
Status CheckBuild(OpContext& op, const CollectionInfo& info,
                  const std::vector<std::shared_ptr<IndexInfo>>& indexes);

}  // namespace quire::store
