// SPDX-License-Identifier: Apache-2.0
#include "patterns/walk.h"

#include <utility>

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

OldestFirst::OldestFirst(Store store, std::string_view collection, bson::Document filter,
                         std::string_view time)
    : store_(std::move(store)), collection_(collection), filter_(std::move(filter)), time_(time) {}

Result<std::vector<bson::Document>> OldestFirst::Next(int64_t batch) {
  const bson::Document filter = last_.value().missing()
                                    ? filter_
                                    : Doc("$and", List(filter_, Doc(time_, Doc("$gte", last_))));
  const int64_t limit = batch + static_cast<int64_t>(seen_.size());
  ASSIGN_OR_RETURN(auto found,
                   store_.Find(collection_, filter, {.sort = Doc(time_, 1), .limit = limit}));
  more_ = static_cast<int64_t>(found.size()) == limit;
  std::vector<bson::Document> fresh;
  for (bson::Document& document : found) {
    const bson::Value time = At(document, time_);
    if (!time.BinaryEquals(last_.value())) {
      last_ = bson::OwnedValue(time);
      seen_.clear();
    }
    if (seen_.insert(std::string(Doc("_id", document["_id"]).bytes())).second) {
      fresh.push_back(std::move(document));
    }
  }
  return fresh;
}

}  // namespace quire::patterns
