// SPDX-License-Identifier: Apache-2.0
//
// The errors of the application systems. They travel as Status like every other; MongoDB's own
// errors (DuplicateKey, HostUnreachable...) come through with MongoDB's numbers.
#pragma once

#include <string>
#include <string_view>

#include "quire/status.h"

namespace quire::patterns {

enum class Error : int {
  // Any system.
  kCrashed = 910000,     // a Crash hook stopped the operation (tests)
  kNotFound,             // what the call names does not exist
  kInvalidName,          // a name the system cannot store
  kBadCursor,            // a page cursor that no earlier page gave out
  kIdempotencyKeyReuse,  // the key was used with other arguments
  kContention,           // others kept changing the document; nothing was done
  kLeaseLost,            // another worker took the job over
  // Transfers and orders.
  kInvalidAmount = 910100,
  kSameAccount,
  kUnknownAccount,
  kInsufficientFunds,
  kTransactionExpired,
  kOrderNotFound,
  kPriceChanged,
  // Modelling toolkit.
  kUnknownType = 910200,
  kMissingField,
  kWrongType,
  kNameClash,
  kUnknownMigration,
  // Event log.
  kBadTime = 910300,
  kBadStatus,
  kBadQuote,
  kTooFewFields,
  kBadColumnCount,
  kBadNumber,
  kBadTimestamp,
  kAppliedButNotConfirmed,  // stored, but not with the write concern asked for
  // Reports.
  kStaleBatch = 910400,  // too old to know whether it was counted
};

// An error with that code; its message starts with the name.
Status MakeError(Error error, std::string_view detail);

bool Is(const Status& status, Error error);

// "InsufficientFunds"; MongoDB's name for one of its own.
std::string ErrorName(const Status& status);
// The error of that name; Error{} (no error has it) when there is none.
Error ErrorOfName(std::string_view name);

}  // namespace quire::patterns
