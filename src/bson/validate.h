// SPDX-License-Identifier: Apache-2.0
//
// The check at the door: bytes from outside become readable BSON here or nowhere.
//
// What is checked is what makes walking safe and what MongoDB checks on every message: lengths,
// known types, terminators, booleans of 0 or 1, nesting, size. As in MongoDB, the characters of
// strings need not be valid UTF-8 and the names of array elements are not looked at.
#pragma once

#include <cstdint>
#include <string_view>

#include "quire/bson.h"
#include "quire/status.h"

namespace quire::bson {

// Levels of documents and arrays, the outermost counting as one.
inline constexpr int kMaxMessageDepth = 201;  // anything that arrives
inline constexpr int kMaxStoredDepth = 180;   // what a collection holds
// Bytes of a user's document, and of one with what the server adds to it.
inline constexpr uint32_t kMaxDocumentSize = 16 << 20;
inline constexpr uint32_t kMaxInternalSize = kMaxDocumentSize + (16 << 10);

struct ValidateOptions {
  int max_depth = kMaxMessageDepth;  // at most kMaxMessageDepth
  uint32_t max_size = INT32_MAX;
};

// Ok when `bytes` is exactly one document. Errors: InvalidBSON, Overflow for what nests too deep.
Status Validate(std::string_view bytes, const ValidateOptions& options = {});
// Checks the document at the start of `bytes` and tells its size. Errors as above.
Result<uint32_t> ValidatePrefix(std::string_view bytes, const ValidateOptions& options = {});

// Whether the document nests at most `max_depth` levels. REQUIRES: well-formed BSON.
bool NestsWithin(View document, int max_depth);

}  // namespace quire::bson
