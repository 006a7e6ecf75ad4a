// SPDX-License-Identifier: Apache-2.0
//
// Changes of the catalog as the change log tells them. Each notes nothing for a collection the log
// leaves out (and for views).
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "store/collection_info.h"
#include "store/log/change_buffer.h"

namespace quire::store {

void LogCreate(const CollectionInfo& info, ChangeBuffer* changes);
void LogDrop(const CollectionInfo& info, ChangeBuffer* changes);
// Views are documents of their database's system.views, and logged as such.
void LogCreateView(const CollectionInfo& view, ChangeBuffer* changes);
void LogModifyView(const CollectionInfo& view, ChangeBuffer* changes);
void LogDropView(const CollectionInfo& view, ChangeBuffer* changes);
// The collection of a database's views is dropped, and they with it: `count` of them.
void LogDropViews(std::string_view database, int64_t count, ChangeBuffer* changes);
void LogDropDatabase(std::string_view database, ChangeBuffer* changes);
// `dropped` is the collection the renamed one replaces, or null.
void LogRename(const CollectionInfo& from, const CollectionInfo& to, const CollectionInfo* dropped,
               ChangeBuffer* changes);
void LogCreateIndexes(const CollectionInfo& info,
                      const std::vector<std::shared_ptr<IndexInfo>>& made, ChangeBuffer* changes);
void LogDropIndex(const CollectionInfo& info, const IndexInfo& index, ChangeBuffer* changes);
// `command`: the fields of collMod; `index` is the one it changes, or null.
void LogModify(const CollectionInfo& info, bson::View command, const IndexInfo* index,
               ChangeBuffer* changes);

}  // namespace quire::store
