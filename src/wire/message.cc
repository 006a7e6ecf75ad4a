// SPDX-License-Identifier: Apache-2.0
#include "wire/message.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/validate.h"
#include "wire/byte_reader_internal.h"
#include "wire/crc32c.h"

namespace quire::wire {
namespace {

constexpr uint32_t kChecksumPresent = 1U << 0;
constexpr uint32_t kMoreToCome = 1U << 1;
constexpr uint32_t kExhaustAllowed = 1U << 16;
constexpr uint32_t kRequiredBits = 0xFFFF;
constexpr size_t kMaxSequences = 2;
constexpr size_t kMsgPrefix = kHeaderSize + 4 + 1;  // flags, section kind
constexpr size_t kReplyPrefix = kHeaderSize + 20;   // flags, cursor id, start, count
constexpr int32_t kReplyAwaitCapable = 8;
constexpr int32_t kReplyQueryFailure = 2;
constexpr size_t kCompressedPrefix = kHeaderSize + 9;

Status Malformed(std::string what) { return {kProtocolError, std::move(what)}; }

// The next document of `reader`, validated. Error: InvalidBSON, to be answered.
Result<bson::View> ReadDocument(ByteReader& reader) {
  std::string_view rest = reader.rest();
  int32_t size = 0;
  if (!ByteReader(rest).Read(&size) || size < 5 || static_cast<size_t>(size) > rest.size()) {
    return Status(kInvalidBSON, "Document in message does not fit the message");
  }
  std::string_view bytes = rest.substr(0, size);
  RETURN_IF_ERROR(bson::Validate(bytes));
  reader.Skip(bytes.size());
  return bson::View(bytes.data());
}

Status ReadSequence(ByteReader& reader, Message* message) {
  int32_t size = 0;
  std::string_view bytes;
  if (!reader.Read(&size) || size < 4 || !reader.Take(static_cast<size_t>(size) - 4, &bytes)) {
    return {kInvalidBSON, "Document sequence does not fit the message"};
  }
  if (message->sequences.size() >= kMaxSequences) {
    return {kTooManyDocumentSequences, "Too many document sequences in OP_MSG"};
  }
  ByteReader section(bytes);
  Sequence sequence;
  if (!section.ReadCString(&sequence.name)) {
    return {kInvalidBSON, "Document sequence without a name"};
  }
  for (const Sequence& other : message->sequences) {
    if (other.name == sequence.name) {
      return {40431, "Duplicate document sequence: " + std::string(sequence.name)};
    }
  }
  while (!section.rest().empty()) {
    ASSIGN_OR_RETURN(bson::View document, ReadDocument(section));
    sequence.documents.push_back(document);
  }
  message->sequences.push_back(std::move(sequence));
  return Status::Ok();
}

Status ReadSections(ByteReader& reader, Message* message) {
  bool has_body = false;
  while (!reader.rest().empty()) {
    uint8_t kind = 0;
    reader.Read(&kind);
    if (kind == 0) {
      if (has_body) {
        return {40430, "Multiple body sections in message"};
      }
      ASSIGN_OR_RETURN(message->body, ReadDocument(reader));
      has_body = true;
    } else if (kind == 1) {
      RETURN_IF_ERROR(ReadSequence(reader, message));
    } else {
      return {40432, "Unknown section kind " + std::to_string(kind)};
    }
  }
  if (!has_body) {
    return {40587, "OP_MSG messages must have a body section"};
  }
  for (const Sequence& sequence : message->sequences) {
    if (message->body.Has(sequence.name)) {
      return {40433,
              "Duplicate field between body and document sequence " + std::string(sequence.name)};
    }
  }
  bson::Value database = message->body["$db"];
  if (database.missing()) {
    return {40571, "OP_MSG requests require a $db argument"};
  }
  if (!database.is_string()) {
    return {kTypeMismatch, "OP_MSG's $db argument must be a string"};
  }
  message->database = database.AsString();
  return Status::Ok();
}

// `frame` is the whole uncompressed message when the sender made it so; the checksum covers it.
Status ParseMsg(std::string_view payload, std::string_view frame, Message* message) {
  ByteReader reader(payload);
  uint32_t flags = 0;
  if (!reader.Read(&flags)) {
    return Malformed("OP_MSG without flags");
  }
  constexpr uint32_t kKnown = kChecksumPresent | kMoreToCome | kExhaustAllowed;
  if ((flags & kRequiredBits & ~kKnown) != 0) {
    return Malformed("OP_MSG with unknown required flags");
  }
  if ((flags & kChecksumPresent) != 0) {
    uint32_t sum = 0;
    if (payload.size() < 8) {
      return Malformed("OP_MSG too short for its checksum");
    }
    memcpy(&sum, payload.data() + payload.size() - 4, sizeof sum);
    if (!frame.empty() && sum != Crc32c(frame.substr(0, frame.size() - 4))) {
      return Malformed("OP_MSG checksum does not match its contents");
    }
    reader = ByteReader(payload.substr(4, payload.size() - 8));
  }
  message->opcode = OpCode::kMsg;
  message->checksum = (flags & kChecksumPresent) != 0;
  message->more_to_come = (flags & kMoreToCome) != 0;
  message->exhaust_allowed = (flags & kExhaustAllowed) != 0;
  message->error = ReadSections(reader, message);
  return Status::Ok();
}

// The commands a driver may still open a connection with over OP_QUERY.
constexpr std::array<std::string_view, 10> kOpQueryCommands = {
    "hello",     "isMaster", "ismaster", "ping",         "buildInfo",
    "buildinfo", "getnonce", "_isSelf",  "saslContinue", "saslStart"};

Status CheckQuery(std::string_view ns, int32_t limit, Message* message) {
  size_t dot = ns.find('.');
  if (dot == std::string_view::npos || ns.substr(dot) != ".$cmd") {
    message->legacy_read = true;
    return {kUnsupportedOpQueryCommand,
            "OP_QUERY is no longer supported. The client driver may require an upgrade."};
  }
  message->database = ns.substr(0, dot);
  if (limit != 1 && limit != -1) {
    return {16979, "Bad numberToReturn (" + std::to_string(limit) +
                       ") for $cmd type ns - can only be 1 or -1"};
  }
  bson::Value wrapped = message->body["$query"];
  if (!wrapped.is_document()) {
    wrapped = message->body["query"];
  }
  if (wrapped.is_document() && !message->body.empty() &&
      (message->body.front().name() == "$query" || message->body.front().name() == "query")) {
    message->body = wrapped.AsDocument();
  }
  std::string_view name = message->body.empty() ? "" : message->body.front().name();
  if (std::find(kOpQueryCommands.begin(), kOpQueryCommands.end(), name) == kOpQueryCommands.end()) {
    return {kUnsupportedOpQueryCommand, "Unsupported OP_QUERY command: " + std::string(name) +
                                            ". The client driver may require an upgrade."};
  }
  return Status::Ok();
}

Status ParseQuery(std::string_view payload, Message* message) {
  message->opcode = OpCode::kQuery;
  ByteReader reader(payload);
  uint32_t flags = 0;
  int32_t skip = 0;
  int32_t limit = 0;
  std::string_view ns;
  if (!reader.Read(&flags) || !reader.ReadCString(&ns) || !reader.Read(&skip) ||
      !reader.Read(&limit)) {
    return Malformed("OP_QUERY too short");
  }
  auto body = ReadDocument(reader);
  if (!body.ok()) {
    message->error = body.status();
    return Status::Ok();
  }
  message->body = *body;
  message->error = CheckQuery(ns, limit, message);
  return Status::Ok();
}

Status ParsePayload(int32_t opcode, std::string_view payload, std::string_view frame,
                    Message* message) {
  switch (static_cast<OpCode>(opcode)) {
    case OpCode::kMsg:
      return ParseMsg(payload, frame, message);
    case OpCode::kQuery:
      return ParseQuery(payload, message);
    case OpCode::kGetMore:
      message->opcode = OpCode::kQuery;
      message->legacy_read = true;
      message->error =
          Status(kUnsupportedOpQueryCommand,
                 "OP_GET_MORE is no longer supported. The client driver may require an upgrade.");
      return Status::Ok();
    default:
      return Malformed("Unsupported operation code " + std::to_string(opcode));
  }
}

Status Unpack(std::string_view payload, size_t max_size, int32_t* opcode, Compressor* compressor,
              std::string* scratch) {
  ByteReader reader(payload);
  int32_t size = 0;
  uint8_t id = 0;
  if (!reader.Read(opcode) || !reader.Read(&size) || !reader.Read(&id)) {
    return Malformed("OP_COMPRESSED too short");
  }
  if (size < 0 || static_cast<size_t>(size) + kHeaderSize > max_size) {
    return Malformed("OP_COMPRESSED with a bad uncompressed size");
  }
  if (id > static_cast<uint8_t>(Compressor::kZstd)) {
    return Malformed("Unknown compressor " + std::to_string(id));
  }
  *compressor = static_cast<Compressor>(id);
  scratch->clear();
  return Decompress(*compressor, reader.rest(), static_cast<size_t>(size), scratch);
}

void Put(std::string* out, size_t at, int32_t value) { memcpy(out->data() + at, &value, 4); }

void PutHeader(std::string* out, size_t start, const Header& header) {
  Put(out, start, header.length);
  Put(out, start + 4, header.request_id);
  Put(out, start + 8, header.response_to);
  Put(out, start + 12, header.opcode);
}

// Replaces the message at `start` by its OP_COMPRESSED form.
void Pack(Compressor compressor, Header header, size_t start, std::string* out) {
  std::string packed(kCompressedPrefix, '\0');
  std::string_view payload = std::string_view(*out).substr(start + kHeaderSize);
  if (!Compress(compressor, payload, &packed).ok()) {
    return;
  }
  Put(&packed, kHeaderSize, header.opcode);
  Put(&packed, kHeaderSize + 4, static_cast<int32_t>(payload.size()));
  packed[kHeaderSize + 8] = static_cast<char>(compressor);
  header.opcode = static_cast<int32_t>(OpCode::kCompressed);
  header.length = static_cast<int32_t>(packed.size());
  PutHeader(&packed, 0, header);
  out->replace(start, std::string::npos, packed);
}

}  // namespace

Result<Header> ParseHeader(const char* data) {
  Header header;
  ByteReader reader(std::string_view(data, kHeaderSize));
  reader.Read(&header.length);
  reader.Read(&header.request_id);
  reader.Read(&header.response_to);
  reader.Read(&header.opcode);
  if (header.length < static_cast<int32_t>(kHeaderSize) || header.length > kMaxMessageSize) {
    return Malformed("Message length " + std::to_string(header.length) + " is out of range");
  }
  return header;
}

Result<Message> Parse(std::string_view bytes, std::string* scratch, size_t max_size) {
  ASSIGN_OR_RETURN(Header header, ParseHeader(bytes.data()));
  Message message;
  message.request_id = header.request_id;
  std::string_view payload = bytes.substr(kHeaderSize);
  std::string_view frame = bytes;
  int32_t opcode = header.opcode;
  if (opcode == static_cast<int32_t>(OpCode::kCompressed)) {
    Compressor compressor{};
    RETURN_IF_ERROR(Unpack(payload, max_size, &opcode, &compressor, scratch));
    message.compressor = compressor;
    payload = *scratch;
    frame = {};
  }
  RETURN_IF_ERROR(ParsePayload(opcode, payload, frame, &message));
  return message;
}

void BeginReply(const Message& request, std::string* out) {
  out->append(request.opcode == OpCode::kMsg ? kMsgPrefix : kReplyPrefix, '\0');
}

void FinishReply(const Message& request, int32_t reply_id, bool more_to_come, size_t start,
                 std::string* out) {
  bool msg = request.opcode == OpCode::kMsg;
  bool checksum = msg && request.checksum && !request.compressor;
  if (msg) {
    uint32_t flags = (checksum ? kChecksumPresent : 0) | (more_to_come ? kMoreToCome : 0);
    Put(out, start + kHeaderSize, static_cast<int32_t>(flags));
  } else {
    Put(out, start + kHeaderSize, request.legacy_read ? kReplyQueryFailure : kReplyAwaitCapable);
    Put(out, start + kHeaderSize + 16, 1);
  }
  Header header{static_cast<int32_t>(out->size() - start) + (checksum ? 4 : 0), reply_id,
                request.request_id, static_cast<int32_t>(msg ? OpCode::kMsg : OpCode::kReply)};
  PutHeader(out, start, header);
  if (checksum) {
    uint32_t sum = Crc32c(std::string_view(*out).substr(start));
    out->append(reinterpret_cast<const char*>(&sum), sizeof sum);
  }
  if (request.compressor) {
    Pack(*request.compressor, header, start, out);
  }
}

}  // namespace quire::wire
