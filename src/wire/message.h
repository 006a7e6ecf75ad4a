// SPDX-License-Identifier: Apache-2.0
//
// Message framing of MongoDB's wire protocol: OP_MSG, the OP_QUERY that older drivers open a
// connection with, and both inside OP_COMPRESSED. Bytes in, a Message of views out; a reply
// document in, bytes out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quire/bson.h"
#include "quire/status.h"
#include "wire/compression.h"

namespace quire::wire {

constexpr size_t kHeaderSize = 16;
constexpr int32_t kMaxMessageSize = 48'000'000;

enum class OpCode : int32_t {
  kReply = 1,
  kUpdate = 2001,
  kInsert = 2002,
  kQuery = 2004,
  kGetMore = 2005,
  kDelete = 2006,
  kKillCursors = 2007,
  kCompressed = 2012,
  kMsg = 2013,
};

// The first 16 bytes of every message.
struct Header {
  int32_t length = 0;  // of the whole message
  int32_t request_id = 0;
  int32_t response_to = 0;
  int32_t opcode = 0;
};

// Reads a header. Error (the connection cannot go on): a length no message may have.
// REQUIRES: kHeaderSize bytes at `data`.
Result<Header> ParseHeader(const char* data);

// Section kind 1: documents sent beside the body.
struct Sequence {
  std::string_view name;
  std::vector<bson::View> documents;
};

// One request, borrowed from the bytes it was parsed from. All documents are validated.
struct Message {
  int32_t request_id = 0;
  OpCode opcode = OpCode::kMsg;  // kMsg, or kQuery (answered with OP_REPLY)
  bool checksum = false;         // the client checks checksums, replies carry one
  bool more_to_come = false;     // the client expects no reply
  bool exhaust_allowed = false;
  std::optional<Compressor> compressor;  // the request's; the reply uses the same
  bson::View body;
  std::vector<Sequence> sequences;
  std::string_view database;
  bool legacy_read = false;  // an OP_QUERY or OP_GET_MORE for documents: fails in its own way
  // Not ok: the frame is intact but its content is not; to be answered with this error.
  Status error;
};

// Parses one whole message, header included. `*scratch` receives decompressed bytes, which the
// message may then borrow. Error: the connection must be closed without an answer.
// REQUIRES: ParseHeader accepted the header and bytes.size() is the length it gave.
// A compressed message longer than `max_size` is refused before it is unpacked.
Result<Message> Parse(std::string_view bytes, std::string* scratch,
                      size_t max_size = kMaxMessageSize);

// A reply is written in three steps: BeginReply appends room for the headers to *out, the caller
// appends exactly one document, FinishReply fills the headers in, adds the checksum and compresses.
void BeginReply(const Message& request, std::string* out);
// `start` is out->size() before BeginReply. `more_to_come` marks one reply of a stream.
void FinishReply(const Message& request, int32_t reply_id, bool more_to_come, size_t start,
                 std::string* out);

}  // namespace quire::wire
