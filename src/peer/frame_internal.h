// SPDX-License-Identifier: Apache-2.0
//
// OP_MSG as a client writes and reads it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "quire/bson.h"
#include "quire/status.h"

namespace quire::peer {

// Appends the message with the command as its only section.
void AppendFrame(int32_t id, const bson::Argument& command, std::string* out);

struct Reply {
  int32_t response_to = 0;
  bson::Document document;
};

// Takes the first whole message off the front of `bytes` (from *at on); nothing when more is to
// come. Error: ProtocolError, the connection cannot go on.
Result<std::optional<Reply>> TakeReply(const std::string& bytes, size_t* at, size_t max_bytes);

}  // namespace quire::peer
