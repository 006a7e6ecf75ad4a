// SPDX-License-Identifier: Apache-2.0
//
// What members tell each other as BSON, and slots of the log as bytes.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/replica/replica_data.h"
#include "quire/bson.h"
#include "quire/status.h"
#include "repl/core/events.h"
#include "repl/core/messages.h"

namespace quire::repl {

bson::Document EncodeMessage(const Message& message);
// Error: FailedToParse for what EncodeMessage never makes.
Result<Message> DecodeMessage(const bson::Argument& document);

// Byte for byte as they lie in the log.
std::string EncodeSlots(std::span<const engine::LogSlot> slots);
// Error: FailedToParse.
Result<std::vector<engine::LogSlot>> DecodeSlots(std::string_view bytes);

// What a member keeps in its folder (core's part of it).
bson::Document EncodeLocal(const Local& local);
Result<Local> DecodeLocal(const bson::Argument& document);

inline Position ToCore(engine::LogPosition at) { return {at.epoch, at.time}; }
inline engine::LogPosition FromCore(Position at) { return {at.epoch, at.time}; }
LogSummary ToCore(const engine::LogEnds& ends);

}  // namespace quire::repl
