// SPDX-License-Identifier: Apache-2.0
//
// What system.profile keeps of a finished operation.
#pragma once

#include <chrono>
#include <string_view>

#include "quire/bson.h"
#include "quire/status.h"
#include "request/call.h"

namespace quire::run {

// MongoDB's word for the kind of an operation.
std::string_view KindName(request::OpKind kind);

// Whether the profiler tells of the command at all: it reached a collection.
bool IsProfiled(const request::Call& call);
// Commands whose statements have entries of their own, instead of one for the command.
bool IsProfiledByStatement(const request::Call& call);

// A getMore as it is shown: with the comment of the command that opened its cursor, unless it has
// one of its own.
bson::Document WithComment(bson::View get_more, bson::View originating);

bson::Document ProfileEntry(const request::Call& call, const Status& status,
                            std::chrono::microseconds took);
// REQUIRES: IsProfiledByStatement(call), and the statement is one of the call's summary.
bson::Document ProfileEntry(const request::Call& call, const request::StatementSummary& statement);

}  // namespace quire::run
