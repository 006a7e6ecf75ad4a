// SPDX-License-Identifier: Apache-2.0
#include "base/error_codes.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "quire/status.h"

namespace quire {
namespace {

// Facts of MongoDB 8.0: numbers that drivers and programs decide by, and such as are easily taken
// for their neighbours.
const std::vector<std::pair<int, std::string>> kFacts = {
    {1, "InternalError"},
    {2, "BadValue"},
    {6, "HostUnreachable"},
    {7, "HostNotFound"},
    {9, "FailedToParse"},
    {13, "Unauthorized"},
    {18, "AuthenticationFailed"},
    {26, "NamespaceNotFound"},
    {37, "FileRenameFailed"},
    {38, "FileNotOpen"},
    {43, "CursorNotFound"},
    {48, "NamespaceExists"},
    {50, "MaxTimeMSExpired"},
    {59, "CommandNotFound"},
    {64, "WriteConcernFailed"},
    {66, "ImmutableField"},
    {89, "NetworkTimeout"},
    {91, "ShutdownInProgress"},
    {112, "WriteConflict"},
    {121, "DocumentValidationFailure"},
    {127, "UnrecoverableRollbackError"},
    {128, "LockNotFound"},
    {129, "LockStateChangeFailed"},
    {130, "SymbolNotFound"},
    {146, "ExceededMemoryLimit"},
    {170, "TooManyMatchingDocuments"},
    {187, "LinearizableReadConcernError"},
    {189, "PrimarySteppedDown"},
    {197, "InvalidIndexSpecificationOption"},
    {208, "TooManyLocks"},
    {210, "CannotVerifyAndSignLogicalTime"},
    {225, "TransactionTooOld"},
    {233, "TooManyDocumentSequences"},
    {251, "NoSuchTransaction"},
    {262, "ExceededTimeLimit"},
    {263, "OperationNotSupportedInTransaction"},
    {264, "TooManyFilesOpen"},
    {266, "FailPointSetFailed"},
    {282, "TransactionCoordinatorReachedAbortDecision"},
    {283, "WouldChangeOwningShard"},
    {285, "IndexBuildAlreadyInProgress"},
    {286, "ChangeStreamHistoryLost"},
    {290, "TransactionExceededLifetimeLimitSeconds"},
    {292, "QueryExceededMemoryLimitNoDiskUseAllowed"},
    {301, "DataCorruptionDetected"},
    {303, "SplitHorizonChange"},
    {340, "ReshardCollectionCommitted"},
    {341, "ReshardCollectionAborted"},
    {352, "UnsupportedOpQueryCommand"},
    {370, "CannotDropShardKeyIndex"},
    {391, "ReauthenticationRequired"},
    {398, "StreamTerminated"},
    {411, "QueryRejectedBySettings"},
    {449, "RateLimitExceeded"},
    {462, "IngressRequestRateLimitExceeded"},
    {9001, "SocketException"},
    {10107, "NotWritablePrimary"},
    {10334, "BSONObjectTooLarge"},
    {11000, "DuplicateKey"},
    {11600, "InterruptedAtShutdown"},
    {11602, "InterruptedDueToReplStateChange"},
    {13388, "StaleConfig"},
    {13435, "NotPrimaryNoSecondaryOk"},
    {13436, "NotPrimaryOrSecondary"},
    {40413, "IDLDuplicateField"},
    {40415, "IDLUnknownField"},
    {46841, "ClientMarkedKilled"},
    {50768, "NotARetryableWriteCommand"},
};

TEST(ErrorCodesTest, HaveMongoDbsNumbers) {
  for (const auto& [code, name] : kFacts) {
    EXPECT_EQ(ErrorName(code), name) << code;
  }
}

TEST(ErrorCodesTest, NumbersWithoutANameAreLocations) {
  for (int code : {131, 305, 461, 17007, 31249}) {
    EXPECT_EQ(ErrorName(code), "Location" + std::to_string(code));
  }
}

TEST(ErrorCodesTest, NoNumberAndNoNameStandsTwice) {
#define QUIRE_ROW(name, number) {number, #name},
  const std::vector<std::pair<int, std::string>> rows = {QUIRE_ERROR_CODES(QUIRE_ROW)};
#undef QUIRE_ROW
  std::set<std::string> names;
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_TRUE(i == 0 || rows[i - 1].first < rows[i].first) << rows[i].second;
    EXPECT_TRUE(names.insert(rows[i].second).second) << rows[i].second;
  }
}

TEST(ErrorCodesTest, StatusesTellThem) {
  const Status status(kDuplicateKey, "twice");
  EXPECT_EQ(status.code(), 11000);
  EXPECT_EQ(status.ToString(), "DuplicateKey: twice");
}

}  // namespace
}  // namespace quire
