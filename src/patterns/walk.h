// SPDX-License-Identifier: Apache-2.0
//
// A whole collection, or what jobs have to do with one, some documents at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "quire/patterns/store.h"

namespace quire::patterns {

// Calls `visit` for all documents in the order of _id, of whatever types, until it fails: with some
// hundred at a time (and what the projection leaves, _id at least), or with each. It may remove
// what it gets.
Status WalkBatches(const Store& store, std::string_view collection,
                   const bson::Document& projection,
                   const std::function<Status(const std::vector<bson::Document>&)>& visit);
Status Walk(const Store& store, std::string_view collection,
            const std::function<Status(const bson::Document&)>& visit);

// The documents of a filter in the order of a time that all of them have (a dotted path), each
// once: one that stays as it is does not come again. Several may have one time, and ids of any
// types.
class OldestFirst {
 public:
  OldestFirst(Store store, std::string_view collection, bson::Document filter,
              std::string_view time);

  // The next ones, up to `batch`.
  Result<std::vector<bson::Document>> Next(int64_t batch);
  // Whether there may be more.
  bool more() const { return more_; }

 private:
  Store store_;
  std::string collection_;
  bson::Document filter_;
  std::string time_;
  bool more_ = true;
  bson::OwnedValue last_;       // the time of the last one
  std::set<std::string> seen_;  // _ids of those with that time
};

}  // namespace quire::patterns
