// SPDX-License-Identifier: Apache-2.0
//
// The labels of errors, which tell drivers what they may do: send again, run the transaction again,
// resume the change stream.
#pragma once

#include <string_view>

#include "quire/bson.h"
#include "quire/status.h"
#include "request/call.h"

namespace quire::run {

class Backend;

// An error with one label ("TransientTransactionError"...), or two, unless it has some.
Status WithLabel(const Status& status, std::string_view label, std::string_view second = {});
// An error with an array of labels.
Status WithLabels(const Status& status, const bson::Value& labels);
// An error without the label, if it has it.
Status WithoutLabel(const Status& status, std::string_view label);

// Errors after which a client may send the same write again: the node is going away, or was not
// reached.
bool IsRetryable(int code);
// Errors that tell of a change of the node's role, or of its end.
bool IsStateChange(int code);
// Of these, those that tell of its end.
bool IsShutdown(int code);
// Whether the client may send the same again when it did not hear the answer.
bool IsRetryableWrite(const request::Call& call);

// The error of a command with the labels that drivers act on. NoWritesPerformed stands beside
// RetryableWriteError when this sending of the write has changed nothing: a driver whose second
// sending fails so tells of the error of the first.
Status Labelled(const Status& status, const request::Call& call, bool in_transaction,
                const Backend& backend);

}  // namespace quire::run
