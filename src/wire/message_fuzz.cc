// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a message: parsing must neither crash nor read beyond them.
#include <cstddef>
#include <cstdint>
#include <string>

#include "wire/message.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace quire;  // NOLINT(google-build-using-namespace)
  if (size < wire::kHeaderSize) {
    return 0;
  }
  std::string bytes(reinterpret_cast<const char*>(data), size);
  auto length = static_cast<int32_t>(size);
  memcpy(bytes.data(), &length, sizeof length);
  std::string scratch;
  auto message = wire::Parse(bytes, &scratch);
  if (message.ok() && message->error.ok()) {
    std::string reply;
    wire::BeginReply(*message, &reply);
    reply += message->body.bytes();
    wire::FinishReply(*message, 1, false, 0, &reply);
  }
  return 0;
}
