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
  kConflict,             // the document is not the version the caller has seen
  kDocumentTooLarge,     // it would exceed MongoDB's bound for one document; nothing changed
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
  kTooManyLinks,
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
  // Product catalog.
  kInvalidPrice = 910500,
  kDuplicateSku,
  // Category hierarchy (TooDeep: comments, too).
  kUnknownParent = 910600,
  kDuplicateSlug,
  kTooDeep,
  kTreeBusy,  // another change of the tree is not finished
  kCycle,
  kNotEmpty,
  // Inventory and carts.
  kInvalidQuantity = 910700,
  kUnknownSku,
  kInadequateInventory,
  kCartInactive,
  kEmptyCart,
  kLineUnavailable,
  kPaymentFailed,
  kPaymentPending,  // not known yet whether it was paid; Recover will find out
  // GridFS and content management.
  kFileNotFound = 910800,
  kChunkIsMissing,
  kChunkIsWrongSize,
  kExtraChunk,
  kRevisionNotFound,
  kSlugTaken,
  kEditConflict,  // extra() has the version that is stored
  // Comments.
  kNoSuchDiscussion = 910900,
  kNoSuchComment,
  kParentDeleted,
  kTextTooLong,
  // Online ad network.
  kDuplicateAd = 911000,
  kBudgetExhausted,
  // Social network.
  kNoSuchUser = 911100,
  kSelfCircle,
  kBlocked,
  kForbidden,
  // Social inbox.
  kUnknownRecipient = 911200,
  kNoRecipients,
  kTooManyRecipients,
  kMessageTooLarge,
  // Role-playing game.
  kNoSuchItem = 911300,
  kNotHere,
  kTooHeavy,
  kNotAContainer,
  kCycleError,
  kWrongRegion,
  kHandsFull,
  kNoExit,
  kBusy,
  kNotForSale,
};

// An error with that code; its message starts with the name.
Status MakeError(Error error, std::string_view detail);

bool Is(const Status& status, Error error);

// Whether it is an answer to the call (InsufficientFunds...) that repeating would not change, as
// opposed to one that leaves the outcome open.
bool IsFinal(const Status& status);

// "InsufficientFunds"; MongoDB's name for one of its own.
std::string ErrorName(const Status& status);
// The error of that name; Error{} (no error has it) when there is none.
Error ErrorOfName(std::string_view name);

}  // namespace quire::patterns
