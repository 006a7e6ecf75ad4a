// SPDX-License-Identifier: Apache-2.0
//
// MongoDB's named error codes that Quire can return: the one table of them. Codes without a name
// (five-digit "locations") are written as numbers where they are raised.
#pragma once

#include <string>
#include <string_view>

// X(name, number)
#define QUIRE_ERROR_CODES(X)                          \
  X(InternalError, 1)                                 \
  X(BadValue, 2)                                      \
  X(NoSuchKey, 4)                                     \
  X(GraphContainsCycle, 5)                            \
  X(HostUnreachable, 6)                               \
  X(HostNotFound, 7)                                  \
  X(UnknownError, 8)                                  \
  X(FailedToParse, 9)                                 \
  X(CannotMutateObject, 10)                           \
  X(UserNotFound, 11)                                 \
  X(UnsupportedFormat, 12)                            \
  X(Unauthorized, 13)                                 \
  X(TypeMismatch, 14)                                 \
  X(Overflow, 15)                                     \
  X(InvalidLength, 16)                                \
  X(ProtocolError, 17)                                \
  X(AuthenticationFailed, 18)                         \
  X(CannotReuseObject, 19)                            \
  X(IllegalOperation, 20)                             \
  X(EmptyArrayOperation, 21)                          \
  X(InvalidBSON, 22)                                  \
  X(AlreadyInitialized, 23)                           \
  X(LockTimeout, 24)                                  \
  X(RemoteValidationError, 25)                        \
  X(NamespaceNotFound, 26)                            \
  X(IndexNotFound, 27)                                \
  X(PathNotViable, 28)                                \
  X(NonExistentPath, 29)                              \
  X(InvalidPath, 30)                                  \
  X(RoleNotFound, 31)                                 \
  X(RolesNotRelated, 32)                              \
  X(PrivilegeNotFound, 33)                            \
  X(CannotBackfillArray, 34)                          \
  X(FileNotOpen, 37)                                  \
  X(ConflictingUpdateOperators, 40)                   \
  X(FileAlreadyOpen, 41)                              \
  X(LogWriteFailed, 42)                               \
  X(CursorNotFound, 43)                               \
  X(UserDataInconsistent, 45)                         \
  X(LockBusy, 46)                                     \
  X(NoMatchingDocument, 47)                           \
  X(NamespaceExists, 48)                              \
  X(InvalidRoleModification, 49)                      \
  X(MaxTimeMSExpired, 50)                             \
  X(ManualInterventionRequired, 51)                   \
  X(DollarPrefixedFieldName, 52)                      \
  X(InvalidIdField, 53)                               \
  X(NotSingleValueField, 54)                          \
  X(InvalidDBRef, 55)                                 \
  X(EmptyFieldName, 56)                               \
  X(DottedFieldName, 57)                              \
  X(RoleModificationFailed, 58)                       \
  X(CommandNotFound, 59)                              \
  X(ShardKeyNotFound, 61)                             \
  X(OplogOperationUnsupported, 62)                    \
  X(WriteConcernFailed, 64)                           \
  X(MultipleErrorsOccurred, 65)                       \
  X(ImmutableField, 66)                               \
  X(CannotCreateIndex, 67)                            \
  X(IndexAlreadyExists, 68)                           \
  X(AuthSchemaIncompatible, 69)                       \
  X(ShardNotFound, 70)                                \
  X(ReplicaSetNotFound, 71)                           \
  X(InvalidOptions, 72)                               \
  X(InvalidNamespace, 73)                             \
  X(NodeNotFound, 74)                                 \
  X(WriteConcernLegacyOK, 75)                         \
  X(NoReplicationEnabled, 76)                         \
  X(OperationIncomplete, 77)                          \
  X(CommandResultSchemaViolation, 78)                 \
  X(UnknownReplWriteConcern, 79)                      \
  X(RoleDataInconsistent, 80)                         \
  X(NoMatchParseContext, 81)                          \
  X(NoProgressMade, 82)                               \
  X(DuplicateKeyValue, 84)                            \
  X(IndexOptionsConflict, 85)                         \
  X(IndexKeySpecsConflict, 86)                        \
  X(NetworkTimeout, 89)                               \
  X(CallbackCanceled, 90)                             \
  X(ShutdownInProgress, 91)                           \
  X(InvalidReplicaSetConfig, 93)                      \
  X(NotYetInitialized, 94)                            \
  X(NotSecondary, 95)                                 \
  X(OperationFailed, 96)                              \
  X(DBPathInUse, 98)                                  \
  X(ConflictingOperationInProgress, 117)              \
  X(DocumentValidationFailure, 121)                   \
  X(ReadConcernMajorityNotAvailableYet, 134)          \
  X(StaleTerm, 135)                                   \
  X(CappedPositionLost, 136)                          \
  X(IncompatibleCollationVersion, 161)                \
  X(CollectionIsEmpty, 162)                           \
  X(ViewDepthLimitExceeded, 165)                      \
  X(CommandNotSupportedOnView, 166)                   \
  X(OptionNotSupportedOnView, 167)                    \
  X(InvalidPipelineOperator, 168)                     \
  X(CommandOnShardedViewNotSupportedOnMongod, 169)    \
  X(ViewNotFound, 170)                                \
  X(CannotImplicitlyCreateCollection, 227)            \
  X(CannotIndexParallelArrays, 171)                   \
  X(QueryPlanKilled, 175)                             \
  X(JSInterpreterFailure, 139)                        \
  X(ObjectIsBusy, 314)                                \
  X(MechanismUnavailable, 334)                        \
  X(InvalidUUID, 207)                                 \
  X(AmbiguousIndexKeyPattern, 181)                    \
  X(TransactionTooLarge, 257)                         \
  X(TransactionCommitted, 256)                        \
  X(TransactionTooOld, 225)                           \
  X(PreparedTransactionInProgress, 267)               \
  X(NoSuchTransaction, 251)                           \
  X(TransactionExceededLifetimeLimitSeconds, 290)     \
  X(OperationNotSupportedInTransaction, 263)          \
  X(IncompleteTransactionHistory, 217)                \
  X(NotExactValueField, 111)                          \
  X(WriteConflict, 112)                               \
  X(CommandFailed, 125)                               \
  X(UnsatisfiableWriteConcern, 100)                   \
  X(RetryChangeStream, 234)                           \
  X(ChangeStreamFatalError, 280)                      \
  X(ChangeStreamHistoryLost, 286)                     \
  X(InvalidResumeToken, 260)                          \
  X(SnapshotTooOld, 239)                              \
  X(SnapshotUnavailable, 246)                         \
  X(IndexBuildAborted, 276)                           \
  X(IndexBuildAlreadyInProgress, 303)                 \
  X(BackgroundOperationInProgressForDatabase, 12586)  \
  X(BackgroundOperationInProgressForNamespace, 12587) \
  X(ExceededMemoryLimit, 146)                         \
  X(ExceededTimeLimit, 262)                           \
  X(QueryExceededMemoryLimitNoDiskUseAllowed, 292)    \
  X(NoQueryExecutionPlans, 291)                       \
  X(QueryFeatureNotAllowed, 224)                      \
  X(NotImplemented, 238)                              \
  X(ConversionFailure, 241)                           \
  X(KeyTooLong, 17280)                                \
  X(CollectionUUIDMismatch, 361)                      \
  X(APIVersionError, 322)                             \
  X(APIStrictError, 323)                              \
  X(TooManyDocumentSequences, 340)                    \
  X(UnsupportedOpQueryCommand, 352)                   \
  X(OutOfDiskSpace, 14031)                            \
  X(LinearizableReadConcernError, 283)                \
  X(InterruptedAtShutdown, 11600)                     \
  X(Interrupted, 11601)                               \
  X(InterruptedDueToReplStateChange, 11602)           \
  X(NotWritablePrimary, 10107)                        \
  X(BSONObjectTooLarge, 10334)                        \
  X(DuplicateKey, 11000)                              \
  X(PrimarySteppedDown, 189)                          \
  X(KeyNotFound, 211)                                 \
  X(CannotDropShardKeyIndex, 305)                     \
  X(InvalidIndexSpecificationOption, 197)             \
  X(BrokenPromise, 245)                               \
  X(InvalidSSLConfiguration, 140)                     \
  X(UnrecoverableRollbackError, 128)                  \
  X(DataCorruptionDetected, 341)                      \
  X(RateLimitExceeded, 461)                           \
  X(NoSuchSession, 206)                               \
  X(StreamTerminated, 282)                            \
  X(InvalidViewDefinition, 182)                       \
  X(FileStreamFailed, 39)                             \
  X(CannotConvertIndexToUnique, 359)

namespace quire {

#define QUIRE_DECLARE_CODE(name, number) k##name = number,
enum ErrorCode : int { QUIRE_ERROR_CODES(QUIRE_DECLARE_CODE) };
#undef QUIRE_DECLARE_CODE

// The code's MongoDB name, or "Location<code>" for a number without one.
std::string ErrorName(int code);

}  // namespace quire
