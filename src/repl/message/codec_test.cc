// SPDX-License-Identifier: Apache-2.0
#include "repl/message/codec.h"

#include <gtest/gtest.h>

#include "quire/doc.h"

namespace quire::repl {
namespace {

const Stamp kStamp = {7, {0xfedcba9876543210, 3}};

std::vector<Message> Samples() {
  Hello hello{4, {9, 2}, 0xffffffffffffffff, true, 55, {{1, 10}, {{2, 20}, {3, 30}}, 12}};
  return {Beacon{5, 0x8000000000000001, kStamp, kStamp, 1234, 77, {1, 2}, 8, 9},
          Append{5, 6, kStamp, {1, 2}, {4, 40}, {5, 50}, 41},
          Ack{5, {1, 2}, 8, 7, 1234, true, false, true, 50, 49, {5, 50}, 99},
          hello,
          Join{5, {1, 2}, {3, 30}, true},
          Refused{6},
          PreVote{3, true},
          PreVoteAnswer{3, {5, 1, 6}, 7, kStamp, 8, 9, true, false, true, {5, 50}},
          TakeOver{5},
          Survey{2, 6},
          SurveyAnswer{2, true, 6, 7, 8, true, {5, 50}}};
}

TEST(MessageCodec, EveryMessageComesBackAsItWas) {
  const std::vector<Message> samples = Samples();
  ASSERT_EQ(samples.size(), std::variant_size_v<Message>);
  for (size_t i = 0; i < samples.size(); ++i) {
    ASSERT_EQ(samples[i].index(), i);
    const bson::Document encoded = EncodeMessage(samples[i]);
    auto decoded = DecodeMessage(encoded);
    ASSERT_TRUE(decoded.ok()) << decoded.status().ToString();
    EXPECT_EQ(decoded->index(), i);
    EXPECT_EQ(EncodeMessage(*decoded).bytes(), encoded.bytes());
  }
  const auto hello = DecodeMessage(EncodeMessage(samples[3]));
  EXPECT_EQ(std::get<Hello>(*hello).log.ends.size(), 2U);
  EXPECT_EQ(std::get<Hello>(*hello).data, 0xffffffffffffffff);
}

TEST(MessageCodec, RefusesWhatLacksAFieldOrHasAnotherType) {
  for (const Message& sample : Samples()) {
    const bson::Document whole = EncodeMessage(sample);
    for (const bson::Element& left_out : whole.view()) {
      bson::Builder without;
      bson::Builder other;
      for (const bson::Element& element : whole.view()) {
        if (element.name() != left_out.name()) {
          without.Append(element);
          other.Append(element);
        } else {
          other.Append(element.name(), 1.5);
        }
      }
      EXPECT_FALSE(DecodeMessage(without.Finish()).ok()) << left_out.name();
      EXPECT_FALSE(DecodeMessage(other.Finish()).ok()) << left_out.name();
    }
  }
  EXPECT_FALSE(DecodeMessage(Doc("t", "nonsense")).ok());
}

TEST(MessageCodec, SlotsComeBackByteForByte) {
  std::vector<engine::LogSlot> slots(3);
  slots[0] = {{1, 10}, 9, {{"k", std::string("v\0w", 3)}, {"k2", ""}}};
  slots[1] = {{1, 11}, 10, {}};
  slots[2] = {{2, 12}, 11, {{std::string(1000, 'k'), std::string(100000, 'v')}}};
  const std::string bytes = EncodeSlots(slots);
  auto read = DecodeSlots(bytes);
  ASSERT_TRUE(read.ok());
  ASSERT_EQ(read->size(), 3U);
  EXPECT_EQ((*read)[0].groups[0].value, slots[0].groups[0].value);
  EXPECT_EQ((*read)[1].previous, 10U);
  EXPECT_EQ((*read)[2].at.epoch, 2U);
  EXPECT_EQ(EncodeSlots(*read), bytes);
  EXPECT_EQ((*read)[2].bytes(), slots[2].bytes());
  for (size_t cut : {size_t{1}, size_t{31}, size_t{33}, bytes.size() - 1}) {
    EXPECT_FALSE(DecodeSlots(bytes.substr(0, cut)).ok()) << cut;
  }
}

TEST(MessageCodec, LocalComesBack) {
  const Local local{0x8123456789abcdef, false, {5, 2, 77}, 6, kStamp, 1234567};
  auto read = DecodeLocal(EncodeLocal(local));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->data, local.data);
  EXPECT_EQ(read->accepted, local.accepted);
  EXPECT_EQ(read->heard, local.heard);
  EXPECT_EQ(read->acked, local.acked);
  EXPECT_FALSE(read->fresh);
  EXPECT_FALSE(DecodeLocal(Doc()).ok());
}

TEST(MessageCodec, SlotsMadeBeforeTheSetCountAsTrimmed) {
  engine::LogEnds ends;
  ends.ends = {{0, 9}, {1, 12}};
  const LogSummary log = ToCore(ends);
  EXPECT_EQ(log.begin, (Position{0, 9}));
  ASSERT_EQ(log.ends.size(), 1U);
  EXPECT_EQ(log.last(), (Position{1, 12}));
}

}  // namespace
}  // namespace quire::repl
