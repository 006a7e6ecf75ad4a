// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as the resume token that a client sends: what is accepted is a place that equals
// itself, read again from any spelling, and has an order with every other.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "engine/stream/resume_token.h"
#include "quire/bson.h"

namespace {

using quire::engine::ReadResumeToken;
using quire::engine::ResumePoint;

quire::Result<ResumePoint> Read(std::string_view bytes, std::string_view digits) {
  std::string hex;
  for (const char byte : bytes) {
    hex += digits[static_cast<uint8_t>(byte) >> 4];
    hex += digits[static_cast<uint8_t>(byte) & 15];
  }
  const quire::bson::Document token = quire::bson::Builder().Append("_data", hex).Finish();
  return ReadResumeToken(token);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto one = Read(bytes, "0123456789abcdef");
  const auto again = Read(bytes, "0123456789ABCDEF");
  const auto other = Read(bytes.substr(size / 2), "0123456789abcdef");
  const bool same = one.ok() == again.ok() && (!one.ok() || *one == *again);
  const bool ordered = !one.ok() || !other.ok() || ((*one < *other) == (*other > *one));
  if (!same || !ordered) {
    abort();
  }
  return 0;
}
