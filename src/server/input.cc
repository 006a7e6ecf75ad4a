// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "base/error_codes.h"
#include "base/try.h"
#include "server/input_internal.h"
#include "wire/message.h"

namespace quire::server {

void Input::Attach(char* scratch) {
  scratch_ = scratch;
  if (pending() >= kScratchSize / 2) {
    return;
  }
  if (pending() > 0) {
    memcpy(scratch, data_ + begin_, pending());
  }
  end_ = pending();
  begin_ = 0;
  own_.reset();
  data_ = scratch;
  capacity_ = kScratchSize;
}

void Input::Detach() {
  if (pending() == 0) {
    own_.reset();
    data_ = nullptr;
    begin_ = end_ = capacity_ = 0;
  } else if (data_ == scratch_) {
    own_.reset(new char[pending()]);
    memcpy(own_.get(), data_ + begin_, pending());
    end_ = capacity_ = pending();
    begin_ = 0;
    data_ = own_.get();
  }
  scratch_ = nullptr;
}

Result<std::string_view> Input::Next(size_t max_size) const {
  if (pending() < wire::kHeaderSize) {
    return std::string_view();
  }
  ASSIGN_OR_RETURN(wire::Header header, wire::ParseHeader(data_ + begin_));
  auto length = static_cast<size_t>(header.length);
  if (length > max_size) {
    return Status(kProtocolError, "Message length " + std::to_string(length) +
                                      " is more than may be sent before a login");
  }
  return pending() < length ? std::string_view() : std::string_view(data_ + begin_, length);
}

void Input::Consume(size_t size) {
  begin_ += size;
  if (begin_ == end_) {
    begin_ = end_ = 0;
    if (own_ != nullptr && scratch_ != nullptr) {
      own_.reset();
      data_ = scratch_;
      capacity_ = kScratchSize;
    }
  }
}

void Input::MakeRoom() {
  if (begin_ > 0) {
    memmove(data_, data_ + begin_, pending());
    end_ -= std::exchange(begin_, 0);
  }
  if (end_ < capacity_) {
    return;
  }
  // Memory follows what has arrived, up to what the header announces.
  int32_t length;
  memcpy(&length, data_, sizeof length);
  size_t size = std::min(2 * end_, static_cast<size_t>(length));
  std::unique_ptr<char[]> larger(new char[size]);
  memcpy(larger.get(), data_, end_);
  own_ = std::move(larger);
  data_ = own_.get();
  capacity_ = size;
}

Input::Read Input::Fill(Transport& transport, bool wait, bool* full) {
  MakeRoom();
  size_t received = 0;
  Read read = transport.Receive(data_ + end_, capacity_ - end_, wait, &received, full);
  end_ += received;
  return read;
}

}  // namespace quire::server
