// SPDX-License-Identifier: Apache-2.0
//
// Folding of documents into groups in the background (store/records/fold.h): where scans and
// deletions noted that it is worth it, and all of a store that comes from format 3.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "store/catalog.h"

namespace quire::engine {

// Not safe for concurrent use.
class Folding {
 public:
  // `catalog` outlives it. To be opened before documents are written.
  static Result<std::unique_ptr<Folding>> Open(store::Catalog* catalog);

  // Works until nothing is left or `stop`. What fails is tried again by the next call.
  void Run(const std::function<bool()>& stop);

 private:
  Folding(store::Catalog* catalog, bool converted) : catalog_(*catalog), converted_(converted) {}
  // Whether nothing is left to convert.
  Result<bool> Convert(const std::function<bool()>& stop);
  // Tells the log how far the conversion is, now and then.
  void Report(const store::CollectionInfo& info, store::RecordId done);

  store::Catalog& catalog_;
  bool converted_;
  // The collection whose documents are being converted, and up to where they are.
  std::string ns_;
  store::RecordId done_ = 0;
  std::chrono::steady_clock::time_point reported_ = std::chrono::steady_clock::now();
  bool failed_ = false;  // and the log was told so
};

}  // namespace quire::engine
