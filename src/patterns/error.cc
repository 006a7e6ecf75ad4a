// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/error.h"

namespace quire::patterns {

namespace {

struct Row {
  Error error;
  std::string_view name;
};

constexpr Row kRows[] = {
    {Error::kCrashed, "Crashed"},
    {Error::kNotFound, "NotFound"},
    {Error::kInvalidName, "InvalidName"},
    {Error::kBadCursor, "BadCursor"},
    {Error::kIdempotencyKeyReuse, "IdempotencyKeyReuse"},
    {Error::kContention, "Contention"},
    {Error::kLeaseLost, "LeaseLost"},
    {Error::kConflict, "Conflict"},
    {Error::kDocumentTooLarge, "DocumentTooLarge"},
    {Error::kInvalidAmount, "InvalidAmount"},
    {Error::kSameAccount, "SameAccount"},
    {Error::kUnknownAccount, "UnknownAccount"},
    {Error::kInsufficientFunds, "InsufficientFunds"},
    {Error::kTransactionExpired, "TransactionExpired"},
    {Error::kOrderNotFound, "OrderNotFound"},
    {Error::kPriceChanged, "PriceChanged"},
    {Error::kUnknownType, "UnknownType"},
    {Error::kMissingField, "MissingField"},
    {Error::kWrongType, "WrongType"},
    {Error::kNameClash, "NameClash"},
    {Error::kUnknownMigration, "UnknownMigration"},
    {Error::kTooManyLinks, "TooManyLinks"},
    {Error::kBadTime, "BadTime"},
    {Error::kBadStatus, "BadStatus"},
    {Error::kBadQuote, "BadQuote"},
    {Error::kTooFewFields, "TooFewFields"},
    {Error::kBadColumnCount, "BadColumnCount"},
    {Error::kBadNumber, "BadNumber"},
    {Error::kBadTimestamp, "BadTimestamp"},
    {Error::kAppliedButNotConfirmed, "AppliedButNotConfirmed"},
    {Error::kStaleBatch, "StaleBatch"},
    {Error::kInvalidPrice, "InvalidPrice"},
    {Error::kDuplicateSku, "DuplicateSku"},
    {Error::kUnknownParent, "UnknownParent"},
    {Error::kDuplicateSlug, "DuplicateSlug"},
    {Error::kTooDeep, "TooDeep"},
    {Error::kTreeBusy, "TreeBusy"},
    {Error::kCycle, "CycleError"},
    {Error::kNotEmpty, "NotEmpty"},
    {Error::kInvalidQuantity, "InvalidQuantity"},
    {Error::kUnknownSku, "UnknownSku"},
    {Error::kInadequateInventory, "InadequateInventory"},
    {Error::kCartInactive, "CartInactive"},
    {Error::kEmptyCart, "EmptyCart"},
    {Error::kLineUnavailable, "LineUnavailable"},
    {Error::kPaymentFailed, "PaymentFailed"},
    {Error::kPaymentPending, "PaymentPending"},
    {Error::kFileNotFound, "FileNotFound"},
    {Error::kChunkIsMissing, "ChunkIsMissing"},
    {Error::kChunkIsWrongSize, "ChunkIsWrongSize"},
    {Error::kExtraChunk, "ExtraChunk"},
    {Error::kRevisionNotFound, "RevisionNotFound"},
    {Error::kSlugTaken, "SlugTaken"},
    {Error::kEditConflict, "ConflictError"},
    {Error::kNoSuchDiscussion, "NoSuchDiscussion"},
    {Error::kNoSuchComment, "NoSuchComment"},
    {Error::kParentDeleted, "ParentDeleted"},
    {Error::kTextTooLong, "TextTooLong"},
    {Error::kDuplicateAd, "DuplicateAd"},
    {Error::kBudgetExhausted, "BudgetExhausted"},
    {Error::kNoSuchUser, "NoSuchUser"},
    {Error::kSelfCircle, "SelfCircle"},
    {Error::kBlocked, "Blocked"},
    {Error::kForbidden, "Forbidden"},
    {Error::kUnknownRecipient, "UnknownRecipient"},
    {Error::kNoRecipients, "NoRecipients"},
    {Error::kTooManyRecipients, "TooManyRecipients"},
    {Error::kMessageTooLarge, "MessageTooLarge"},
    {Error::kNoSuchItem, "NoSuchItem"},
    {Error::kNotHere, "NotHere"},
    {Error::kTooHeavy, "TooHeavy"},
    {Error::kNotAContainer, "NotAContainer"},
    {Error::kCycleError, "CycleError"},
    {Error::kWrongRegion, "WrongRegion"},
    {Error::kHandsFull, "HandsFull"},
    {Error::kNoExit, "NoExit"},
    {Error::kBusy, "Busy"},
    {Error::kNotForSale, "NotForSale"},
};

constexpr Error kOpen[] = {Error::kCrashed,  Error::kContention,     Error::kLeaseLost,
                           Error::kTreeBusy, Error::kPaymentPending, Error::kBusy};

}  // namespace

Status MakeError(Error error, std::string_view detail) {
  for (const Row& row : kRows) {
    if (row.error == error) {
      return Status(static_cast<int>(error), std::string(row.name) + ": " + std::string(detail));
    }
  }
  return Status(static_cast<int>(error), std::string(detail));
}

bool Is(const Status& status, Error error) { return status.code() == static_cast<int>(error); }

bool IsFinal(const Status& status) {
  for (Error open : kOpen) {
    if (Is(status, open)) {
      return false;
    }
  }
  return ErrorOfName(ErrorName(status)) != Error{};
}

std::string ErrorName(const Status& status) {
  for (const Row& row : kRows) {
    if (Is(status, row.error)) {
      return std::string(row.name);
    }
  }
  return status.code_name();
}

Error ErrorOfName(std::string_view name) {
  for (const Row& row : kRows) {
    if (row.name == name) {
      return row.error;
    }
  }
  return Error{};
}

}  // namespace quire::patterns
