// SPDX-License-Identifier: Apache-2.0
//
// How much of an insert goes into one message.
#pragma once

#include <cstddef>

#include "quire/bson.h"
#include "quire/options.h"

namespace quire::patterns {

class BatchSize {
 public:
  // Takes the document, unless the message is full without it. An empty message takes any.
  bool Take(const bson::Document& document) {
    const size_t bytes = bytes_ + document.bytes().size();
    if (documents_ > 0 && (documents_ == kMaxInsertDocuments || bytes > kMaxInsertBytes)) {
      return false;
    }
    bytes_ = bytes;
    documents_ += 1;
    return true;
  }

 private:
  size_t documents_ = 0;
  size_t bytes_ = 0;
};

}  // namespace quire::patterns
