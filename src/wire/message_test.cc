// SPDX-License-Identifier: Apache-2.0
#include "wire/message.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "base/error_codes.h"
#include "wire/crc32c.h"

namespace quire::wire {
namespace {

std::string Int(int32_t value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string Frame(OpCode opcode, const std::string& payload) {
  return Int(static_cast<int32_t>(kHeaderSize + payload.size())) + Int(77) + Int(0) +
         Int(static_cast<int32_t>(opcode)) + payload;
}

std::string Ping() {
  bson::Builder b;
  b.Append("ping", 1).Append("$db", "admin");
  return b.Finish().bytes();
}

std::string Doc(int32_t n) {
  bson::Builder b;
  b.Append("n", n);
  return b.Finish().bytes();
}

std::string Section0(const std::string& document) { return std::string(1, '\0') + document; }

std::string Section1(const std::string& name, const std::string& documents) {
  return "\1" + Int(static_cast<int32_t>(4 + name.size() + 1 + documents.size())) + name +
         std::string(1, '\0') + documents;
}

std::string Msg(int32_t flags, const std::string& sections) {
  return Frame(OpCode::kMsg, Int(flags) + sections);
}

std::string WithChecksum(std::string frame) {
  int32_t length = static_cast<int32_t>(frame.size() + 4);
  memcpy(frame.data(), &length, 4);
  return frame + Int(static_cast<int32_t>(Crc32c(frame)));
}

std::string Query(const std::string& ns, int32_t limit, const std::string& body) {
  return Frame(OpCode::kQuery, Int(4) + ns + std::string(1, '\0') + Int(0) + Int(limit) + body);
}

std::string Packed(Compressor compressor, OpCode opcode, const std::string& payload) {
  std::string out = Int(static_cast<int32_t>(opcode)) + Int(static_cast<int32_t>(payload.size())) +
                    std::string(1, static_cast<char>(compressor));
  EXPECT_TRUE(Compress(compressor, payload, &out).ok());
  return Frame(OpCode::kCompressed, out);
}

TEST(Message, BodyAndSequencesInAnyOrder) {
  std::string bytes =
      Msg(0, Section1("documents", Doc(1) + Doc(2)) + Section0(Ping()) + Section1("more", ""));
  std::string scratch;
  auto message = Parse(bytes, &scratch);
  ASSERT_TRUE(message.ok());
  ASSERT_TRUE(message->error.ok()) << message->error.ToString();
  EXPECT_EQ(message->request_id, 77);
  EXPECT_EQ(message->database, "admin");
  EXPECT_EQ(message->body.front().name(), "ping");
  ASSERT_EQ(message->sequences.size(), 2U);
  EXPECT_EQ(message->sequences[0].name, "documents");
  ASSERT_EQ(message->sequences[0].documents.size(), 2U);
  EXPECT_EQ(message->sequences[0].documents[1]["n"].AsInt32(), 2);
  EXPECT_TRUE(message->sequences[1].documents.empty());
}

TEST(Message, Flags) {
  std::string scratch;
  auto message = Parse(Msg((1 << 16) | 2, Section0(Ping())), &scratch);
  ASSERT_TRUE(message.ok());
  EXPECT_TRUE(message->more_to_come);
  EXPECT_TRUE(message->exhaust_allowed);
  EXPECT_FALSE(message->checksum);
  EXPECT_TRUE(Parse(Msg(1 << 20, Section0(Ping())), &scratch).ok()) << "optional bits are ignored";
}

TEST(Message, Checksum) {
  std::string good = WithChecksum(Msg(1, Section0(Ping())));
  std::string scratch;
  auto message = Parse(good, &scratch);
  ASSERT_TRUE(message.ok()) << message.status().ToString();
  EXPECT_TRUE(message->error.ok());
  EXPECT_TRUE(message->checksum);
  good[30] ^= 1;
  EXPECT_FALSE(Parse(good, &scratch).ok());
}

// Frames that end the connection.
TEST(Message, Fatal) {
  const std::string cases[] = {
      Msg(4, Section0(Ping())),                 // unknown required flag
      Msg(1 << 15, Section0(Ping())),           // the highest of them
      Frame(OpCode::kMsg, "ab"),                // no room for flags
      Frame(OpCode::kMsg, Int(1) + "ab"),       // no room for the checksum
      Frame(OpCode::kInsert, Int(0)),           // writes of old drivers
      Frame(OpCode::kReply, Int(0)),            // not a request
      Frame(static_cast<OpCode>(9999), "abc"),  // no such thing
      Frame(OpCode::kQuery, Int(0) + "admin"),  // unterminated namespace
      Frame(OpCode::kCompressed, "abcd"),       // truncated
      Frame(OpCode::kCompressed, Int(2013) + Int(-1) + "\1abc"),
      Frame(OpCode::kCompressed, Int(2013) + Int(47'000'000) + "\1abc"),
      Frame(OpCode::kCompressed, Int(2013) + Int(47'000'000) + "\2abc"),
      Frame(OpCode::kCompressed, Int(2013) + Int(47'000'000) + "\3abc"),
      Frame(OpCode::kCompressed, Int(2013) + Int(3) + "\4abc"),
      Packed(Compressor::kSnappy, OpCode::kCompressed, Int(2013) + Int(3) + "\0abc"),
  };
  for (const std::string& bytes : cases) {
    std::string scratch;
    EXPECT_FALSE(Parse(bytes, &scratch).ok()) << bytes.size();
    EXPECT_LT(scratch.capacity(), size_t{2} << 20);
  }
}

TEST(Message, AnsweredErrors) {
  std::string bad = Ping();
  bad[4] = 0x55;
  std::string no_db = Doc(1);
  bson::Builder b;
  b.Append("ping", 1).Append("$db", 1);
  std::string db_number = b.Finish().bytes();
  struct Case {
    std::string bytes;
    int code;
  };
  const Case cases[] = {
      {Msg(0, ""), 40587},
      {Msg(0, Section1("a", "")), 40587},
      {Msg(0, Section0(Ping()) + Section0(Ping())), 40430},
      {Msg(0, Section0(Ping()) + Section1("a", "") + Section1("a", "")), 40431},
      {Msg(0, Section0(Ping()) + "\7"), 40432},
      {Msg(0, Section0(Ping()) + Section1("ping", Doc(1))), 40433},
      {Msg(0, Section0(Ping()) + Section1("a", "") + Section1("b", "") + Section1("c", "")),
       kTooManyDocumentSequences},
      {Msg(0, Section0(no_db)), 40571},
      {Msg(0, Section0(db_number)), kTypeMismatch},
      {Msg(0, Section0(bad)), kInvalidBSON},
      {Msg(0, Section0(Ping().substr(0, 9))), kInvalidBSON},
      {Msg(0, Section0(Ping()) + Section1("a", bad)), kInvalidBSON},
      {Msg(0, Section0(Ping()) + "\1" + Int(1000) + "a"), kInvalidBSON},
      {Msg(0, Section0(Ping()) + "\1" + Int(5) + "a"), kInvalidBSON},
      {Query("admin.$cmd", 1, Doc(1)), kUnsupportedOpQueryCommand},
      {Query("test.things", 1, Doc(1)), kUnsupportedOpQueryCommand},
      {Query("admin.$cmd", 0, Ping()), 16979},
      {Query("admin.$cmd", -1, bad), kInvalidBSON},
      {Frame(OpCode::kGetMore, Int(0)), kUnsupportedOpQueryCommand},
  };
  for (const Case& c : cases) {
    std::string scratch;
    auto message = Parse(c.bytes, &scratch);
    ASSERT_TRUE(message.ok()) << c.code;
    EXPECT_EQ(message->error.code(), c.code) << message->error.ToString();
  }
}

TEST(Message, LegacyHello) {
  bson::Builder inner;
  inner.Append("isMaster", 1);
  bson::Builder wrapped;
  wrapped.Append("$query", inner.Finish());
  std::string scratch;
  std::string bytes = Query("admin.$cmd", -1, wrapped.Finish().bytes());
  auto message = Parse(bytes, &scratch);
  ASSERT_TRUE(message.ok());
  ASSERT_TRUE(message->error.ok()) << message->error.ToString();
  EXPECT_EQ(message->opcode, OpCode::kQuery);
  EXPECT_EQ(message->database, "admin");
  EXPECT_EQ(message->body.front().name(), "isMaster");

  std::string reply;
  BeginReply(*message, &reply);
  reply += Doc(5);
  FinishReply(*message, 9, false, 0, &reply);
  auto header = ParseHeader(reply.data());
  ASSERT_TRUE(header.ok());
  EXPECT_EQ(header->length, static_cast<int32_t>(reply.size()));
  EXPECT_EQ(header->response_to, 77);
  EXPECT_EQ(header->opcode, static_cast<int32_t>(OpCode::kReply));
  EXPECT_EQ(bson::View(reply.data() + 36)["n"].AsInt32(), 5);
  EXPECT_EQ(reply[32], 1);
}

TEST(Message, CompressedBothWays) {
  for (Compressor compressor :
       {Compressor::kNoop, Compressor::kSnappy, Compressor::kZlib, Compressor::kZstd}) {
    std::string documents;
    for (int i = 0; i < 50'000; ++i) {
      documents += Doc(7);
    }
    std::string payload = Int(0) + Section0(Ping()) + Section1("documents", documents);
    std::string bytes = Packed(compressor, OpCode::kMsg, payload);
    std::string scratch;
    auto message = Parse(bytes, &scratch);
    ASSERT_TRUE(message.ok()) << message.status().ToString();
    ASSERT_TRUE(message->error.ok()) << message->error.ToString();
    EXPECT_EQ(message->sequences.at(0).documents.size(), 50'000U);

    std::string reply = "before";
    BeginReply(*message, &reply);
    reply += Doc(5);
    FinishReply(*message, 9, true, 6, &reply);
    std::string sent = reply.substr(6);
    auto header = ParseHeader(sent.data());
    ASSERT_TRUE(header.ok());
    EXPECT_EQ(header->opcode, static_cast<int32_t>(OpCode::kCompressed));
    EXPECT_EQ(header->length, static_cast<int32_t>(sent.size()));
    std::string plain;
    ASSERT_TRUE(
        Decompress(compressor, std::string_view(sent).substr(25), 4 + 1 + Doc(5).size(), &plain)
            .ok());
    EXPECT_EQ(plain, Int(2) + Section0(Doc(5)));
  }
}

TEST(Message, RepliesCarryAChecksumWhenRequestsDo) {
  std::string request = WithChecksum(Msg(1, Section0(Ping())));
  std::string scratch;
  auto message = Parse(request, &scratch);
  ASSERT_TRUE(message.ok());
  std::string reply;
  BeginReply(*message, &reply);
  reply += Ping();
  FinishReply(*message, 1, false, 0, &reply);
  auto parsed = Parse(reply, &scratch);
  ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
  EXPECT_TRUE(parsed->checksum);
}

TEST(Header, Limits) {
  for (int32_t length : {INT32_MIN, -1, 0, 15, kMaxMessageSize + 1, INT32_MAX}) {
    std::string bytes = Int(length) + Int(1) + Int(0) + Int(2013);
    EXPECT_FALSE(ParseHeader(bytes.data()).ok()) << length;
  }
  for (int32_t length : {16, kMaxMessageSize}) {
    std::string bytes = Int(length) + Int(1) + Int(0) + Int(2013);
    EXPECT_TRUE(ParseHeader(bytes.data()).ok()) << length;
  }
}

TEST(Crc32c, KnownValues) {
  EXPECT_EQ(Crc32c("123456789"), 0xE3069283U);
  EXPECT_EQ(Crc32c(""), 0U);
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8A9136AAU);
}

}  // namespace
}  // namespace quire::wire
