// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/validate.h"
#include "peer/frame_internal.h"
#include "wire/message.h"

namespace quire::peer {
namespace {

constexpr size_t kBodyAt = wire::kHeaderSize + 5;  // flags, and the kind of the only section
constexpr uint32_t kChecksumPresent = 1;
constexpr size_t kChecksumSize = 4;

Status Broken(const char* what) { return {kProtocolError, what}; }

}  // namespace

void AppendFrame(int32_t id, const bson::Argument& command, std::string* out) {
  const int32_t fields[] = {static_cast<int32_t>(kBodyAt + command.view().size()), id, 0,
                            static_cast<int32_t>(wire::OpCode::kMsg), 0};
  out->append(reinterpret_cast<const char*>(fields), sizeof fields);
  out->push_back('\0');
  out->append(command.view().bytes());
}

Result<std::optional<Reply>> TakeReply(const std::string& bytes, size_t* at, size_t max_bytes) {
  const size_t have = bytes.size() - *at;
  if (have < wire::kHeaderSize) {
    return std::optional<Reply>();
  }
  const char* message = bytes.data() + *at;
  ASSIGN_OR_RETURN(wire::Header header, wire::ParseHeader(message));
  const auto length = static_cast<size_t>(header.length);
  if (length > max_bytes) {
    return Broken("a reply is larger than allowed");
  }
  if (header.opcode != static_cast<int32_t>(wire::OpCode::kMsg) || length <= kBodyAt) {
    return Broken("a reply is no OP_MSG");
  }
  if (have < length) {
    return std::optional<Reply>();
  }
  uint32_t flags = 0;
  memcpy(&flags, message + wire::kHeaderSize, sizeof flags);
  size_t end = length - ((flags & kChecksumPresent) != 0 ? kChecksumSize : 0);
  if ((flags & ~kChecksumPresent) != 0 || message[kBodyAt - 1] != '\0' || end <= kBodyAt) {
    return Broken("a reply has another form than the one asked for");
  }
  const std::string_view body(message + kBodyAt, end - kBodyAt);
  if (!bson::Validate(body).ok()) {
    return Broken("a reply is no valid BSON");
  }
  *at += length;
  return std::optional<Reply>(
      Reply{header.response_to, bson::Document::FromTrusted(std::string(body))});
}

}  // namespace quire::peer
