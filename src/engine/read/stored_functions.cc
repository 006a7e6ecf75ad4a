// SPDX-License-Identifier: Apache-2.0
#include "engine/read/stored_functions.h"

#include "base/current_op.h"
#include "base/try.h"
#include "store/scan/collection_scan.h"

namespace quire::engine {

Result<std::vector<bson::Document>> SystemJs::Load() const {
  std::vector<bson::Document> functions;
  store::CollectionPtr collection = engine_.catalog().Find(database_ + ".system.js");
  if (collection == nullptr || collection->is_view()) {
    return functions;
  }
  OpContext own;
  OpContext* current = CurrentOp();
  OpContext& op = current != nullptr ? *current : own;
  ASSIGN_OR_RETURN(auto txn, store::Transaction::Begin(engine_.store(), /*read_only=*/true));
  store::CollectionScan scan(std::move(collection), txn.get(), {});
  exec::Row row;
  while (true) {
    ASSIGN_OR_RETURN(bool more, scan.Next(op, &row));
    if (!more) {
      return functions;
    }
    functions.emplace_back(row.document);
  }
}

}  // namespace quire::engine
