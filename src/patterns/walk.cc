// SPDX-License-Identifier: Apache-2.0
#include "patterns/walk.h"

#include "base/try.h"
#include "patterns/doc.h"

namespace quire::patterns {

// `min` goes on from a key whatever the types on both sides of it; $gt would stay within one type.
Status WalkBatches(const Store& store, std::string_view collection,
                   const bson::Document& projection,
                   const std::function<Status(const std::vector<bson::Document>&)>& visit) {
  constexpr int64_t kBatch = 500;
  const bson::Document by_id = Doc("_id", 1);
  FindOptions options{.projection = projection, .sort = by_id, .limit = kBatch};
  for (bool more = true; more;) {
    ASSIGN_OR_RETURN(auto documents, store.Find(collection, {}, options));
    more = static_cast<int64_t>(documents.size()) == options.limit;
    const bson::Value from = options.extra.empty() ? bson::Value() : At(options.extra, "min._id");
    if (!documents.empty() && documents.front()["_id"].BinaryEquals(from)) {
      documents.erase(documents.begin());
    }
    if (documents.empty()) {
      break;
    }
    options.limit = kBatch + 1;
    options.hint = bson::OwnedValue(bson::Value(by_id.view()));
    options.extra = Doc("min", Doc("_id", documents.back()["_id"]));
    RETURN_IF_ERROR(visit(documents));
  }
  return Status::Ok();
}

Status Walk(const Store& store, std::string_view collection,
            const std::function<Status(const bson::Document&)>& visit) {
  return WalkBatches(store, collection, {}, [&](const std::vector<bson::Document>& documents) {
    for (const bson::Document& document : documents) {
      RETURN_IF_ERROR(visit(document));
    }
    return Status::Ok();
  });
}

}  // namespace quire::patterns
