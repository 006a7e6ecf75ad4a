// SPDX-License-Identifier: Apache-2.0
//
// The receiving side of a connection: cuts the byte stream into messages. Between uses it holds
// only bytes of a message that has not arrived completely; while in use it borrows the thread's
// buffer, so that idle connections cost nothing and small messages are never copied.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "quire/status.h"
#include "server/transport_internal.h"

namespace quire::server {

class Input {
 public:
  static constexpr size_t kScratchSize = size_t{64} << 10;

  // Between Attach and Detach the kScratchSize bytes at `scratch` serve as buffer.
  void Attach(char* scratch);
  // Keeps what is left in memory of its own.
  void Detach();

  // The first complete message, or an empty view when more bytes are needed. Valid until the next
  // call of anything but Next. Error: no message can begin like this, or it is longer than
  // `max_size`.
  Result<std::string_view> Next(size_t max_size) const;
  // Drops the first `size` bytes.
  void Consume(size_t size);

  using Read = Transport::Read;
  // Receives what has arrived; kEnd when the peer closed or failed. With `wait` blocks for at
  // most the socket's receive time-out. *full: more may be waiting, of which no event tells.
  Read Fill(Transport& transport, bool wait, bool* full);

  size_t pending() const { return end_ - begin_; }
  // Bytes of memory of its own.
  size_t held() const { return own_ == nullptr ? 0 : capacity_; }

 private:
  void MakeRoom();

  char* data_ = nullptr;
  size_t begin_ = 0;
  size_t end_ = 0;
  size_t capacity_ = 0;
  char* scratch_ = nullptr;
  std::unique_ptr<char[]> own_;
};

}  // namespace quire::server
