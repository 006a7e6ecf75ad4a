// SPDX-License-Identifier: Apache-2.0
//
// What a privilege may allow: MongoDB's names of actions, as bits.
#pragma once

#include <bitset>
#include <optional>
#include <string_view>

namespace quire::auth {

#define QUIRE_ACTIONS(X)                 \
  X(addShard)                            \
  X(analyze)                             \
  X(analyzeShardKey)                     \
  X(anyAction)                           \
  X(appendOplogNote)                     \
  X(applicationMessage)                  \
  X(applyOps)                            \
  X(auditConfigure)                      \
  X(authSchemaUpgrade)                   \
  X(bypassDefaultMaxTimeMS)              \
  X(bypassDocumentValidation)            \
  X(bypassWriteBlockingMode)             \
  X(changeCustomData)                    \
  X(changeOwnCustomData)                 \
  X(changeOwnPassword)                   \
  X(changePassword)                      \
  X(changeStream)                        \
  X(checkFreeMonitoringStatus)           \
  X(checkMetadataConsistency)            \
  X(cleanupOrphaned)                     \
  X(cleanupStructuredEncryptionData)     \
  X(clearJumboFlag)                      \
  X(closeAllDatabases)                   \
  X(collMod)                             \
  X(collStats)                           \
  X(compact)                             \
  X(compactStructuredEncryptionData)     \
  X(configureFailPoint)                  \
  X(configureQueryAnalyzer)              \
  X(connPoolStats)                       \
  X(connPoolSync)                        \
  X(convertToCapped)                     \
  X(cpuProfiler)                         \
  X(createCollection)                    \
  X(createDatabase)                      \
  X(createIndex)                         \
  X(createRole)                          \
  X(createSearchIndexes)                 \
  X(createUser)                          \
  X(cursorInfo)                          \
  X(dbHash)                              \
  X(dbStats)                             \
  X(dropCollection)                      \
  X(dropConnections)                     \
  X(dropDatabase)                        \
  X(dropIndex)                           \
  X(dropRole)                            \
  X(dropSearchIndex)                     \
  X(dropUser)                            \
  X(enableProfiler)                      \
  X(enableSharding)                      \
  X(exportCollection)                    \
  X(find)                                \
  X(flushRouterConfig)                   \
  X(forceUUID)                           \
  X(fsync)                               \
  X(getClusterParameter)                 \
  X(getCmdLineOpts)                      \
  X(getDefaultRWConcern)                 \
  X(getDiagnosticData)                   \
  X(getLog)                              \
  X(getParameter)                        \
  X(getShardMap)                         \
  X(getShardVersion)                     \
  X(grantRole)                           \
  X(hostInfo)                            \
  X(impersonate)                         \
  X(importCollection)                    \
  X(indexStats)                          \
  X(inprog)                              \
  X(insert)                              \
  X(internal)                            \
  X(invalidateUserCache)                 \
  X(issueDirectShardOperations)          \
  X(killAnyCursor)                       \
  X(killAnySession)                      \
  X(killCursors)                         \
  X(killop)                              \
  X(listCachedAndActiveUsers)            \
  X(listClusterCatalog)                  \
  X(listCollections)                     \
  X(listCursors)                         \
  X(listDatabases)                       \
  X(listIndexes)                         \
  X(listSampledQueries)                  \
  X(listSearchIndexes)                   \
  X(listSessions)                        \
  X(listShards)                          \
  X(logRotate)                           \
  X(moveChunk)                           \
  X(moveCollection)                      \
  X(netstat)                             \
  X(oidReset)                            \
  X(operationMetrics)                    \
  X(planCacheIndexFilter)                \
  X(planCacheRead)                       \
  X(planCacheWrite)                      \
  X(querySettings)                       \
  X(queryStatsRead)                      \
  X(queryStatsReadTransformed)           \
  X(refineCollectionShardKey)            \
  X(reIndex)                             \
  X(remove)                              \
  X(removeShard)                         \
  X(renameCollection)                    \
  X(renameCollectionSameDB)              \
  X(replSetConfigure)                    \
  X(replSetGetConfig)                    \
  X(replSetGetStatus)                    \
  X(replSetHeartbeat)                    \
  X(replSetReconfig)                     \
  X(replSetResizeOplog)                  \
  X(replSetStateChange)                  \
  X(reshardCollection)                   \
  X(resync)                              \
  X(revokeRole)                          \
  X(rotateCertificates)                  \
  X(runAsLessPrivilegedUser)             \
  X(runTenantMigration)                  \
  X(serverStatus)                        \
  X(setAuthenticationRestriction)        \
  X(setClusterParameter)                 \
  X(setDefaultRWConcern)                 \
  X(setFeatureCompatibilityVersion)      \
  X(setFreeMonitoring)                   \
  X(setParameter)                        \
  X(setUserWriteBlockMode)               \
  X(shardedDataDistribution)             \
  X(shardingState)                       \
  X(shutdown)                            \
  X(splitChunk)                          \
  X(splitVector)                         \
  X(storageDetails)                      \
  X(top)                                 \
  X(touch)                               \
  X(trafficRecord)                       \
  X(transitionFromDedicatedConfigServer) \
  X(transitionToDedicatedConfigServer)   \
  X(unlock)                              \
  X(unlockCollection)                    \
  X(unshardCollection)                   \
  X(update)                              \
  X(updateSearchIndex)                   \
  X(useTenant)                           \
  X(useUUID)                             \
  X(validate)                            \
  X(viewRole)                            \
  X(viewUser)

// NOLINTBEGIN(readability-identifier-naming): the names are MongoDB's
enum class Action : unsigned char {
#define QUIRE_ACTION(name) name,
  QUIRE_ACTIONS(QUIRE_ACTION)
#undef QUIRE_ACTION
      kCount
};
// NOLINTEND(readability-identifier-naming)

constexpr size_t kActionCount = static_cast<size_t>(Action::kCount);
using ActionSet = std::bitset<kActionCount>;

std::string_view ActionName(Action action);
// Nothing when there is no action of that name.
std::optional<Action> FindAction(std::string_view name);

}  // namespace quire::auth
