// SPDX-License-Identifier: Apache-2.0
//
// MongoDB's built-in roles, each a list of actions per kind of resource. What they are made of is
// written down once more, from the manual, in tests/privileges/roles.txt.
#include <algorithm>
#include <span>

#include "auth/privilege.h"

namespace quire::auth {
namespace {

using A = Action;

constexpr A kRead[] = {A::changeStream,  A::collStats,        A::dbHash,      A::dbStats,
                       A::find,          A::killCursors,      A::listIndexes, A::listCollections,
                       A::planCacheRead, A::listSearchIndexes};
constexpr A kWrite[] = {A::convertToCapped,        A::createCollection, A::createIndex,
                        A::createSearchIndexes,    A::dropCollection,   A::dropIndex,
                        A::dropSearchIndex,        A::insert,           A::remove,
                        A::renameCollectionSameDB, A::update,           A::updateSearchIndex};
constexpr A kCompactEncrypted[] = {A::compactStructuredEncryptionData,
                                   A::cleanupStructuredEncryptionData};
constexpr A kDbAdmin[] = {A::analyze,
                          A::bypassDocumentValidation,
                          A::collMod,
                          A::collStats,
                          A::compact,
                          A::convertToCapped,
                          A::createCollection,
                          A::createIndex,
                          A::createSearchIndexes,
                          A::dbStats,
                          A::dropCollection,
                          A::dropDatabase,
                          A::dropIndex,
                          A::dropSearchIndex,
                          A::enableProfiler,
                          A::listCollections,
                          A::listIndexes,
                          A::listSearchIndexes,
                          A::planCacheIndexFilter,
                          A::planCacheRead,
                          A::planCacheWrite,
                          A::reIndex,
                          A::renameCollectionSameDB,
                          A::updateSearchIndex,
                          A::validate};
constexpr A kProfile[] = {A::convertToCapped, A::createCollection, A::dropCollection};
constexpr A kUserAdmin[] = {A::changeCustomData, A::changePassword, A::createRole,
                            A::createUser,       A::dropRole,       A::dropUser,
                            A::grantRole,        A::revokeRole,     A::setAuthenticationRestriction,
                            A::viewRole,         A::viewUser};
constexpr A kUserAdminCluster[] = {A::authSchemaUpgrade, A::invalidateUserCache, A::listDatabases};
constexpr A kUserCollections[] = {A::collStats,       A::createIndex, A::createSearchIndexes,
                                  A::dbHash,          A::dbStats,     A::dropIndex,
                                  A::dropSearchIndex, A::find,        A::killCursors,
                                  A::planCacheRead};
constexpr A kMonitorCluster[] = {A::connPoolStats,
                                 A::getCmdLineOpts,
                                 A::getDefaultRWConcern,
                                 A::getLog,
                                 A::getParameter,
                                 A::getShardMap,
                                 A::hostInfo,
                                 A::inprog,
                                 A::listClusterCatalog,
                                 A::listDatabases,
                                 A::listSampledQueries,
                                 A::listSessions,
                                 A::listShards,
                                 A::netstat,
                                 A::operationMetrics,
                                 A::queryStatsRead,
                                 A::queryStatsReadTransformed,
                                 A::replSetGetConfig,
                                 A::replSetGetStatus,
                                 A::serverStatus,
                                 A::shardedDataDistribution,
                                 A::shardingState,
                                 A::top,
                                 A::useUUID};
constexpr A kMonitorDatabase[] = {A::collStats, A::dbStats, A::getShardVersion, A::indexStats,
                                  A::useUUID};
constexpr A kManagerCluster[] = {A::addShard,
                                 A::appendOplogNote,
                                 A::applicationMessage,
                                 A::checkMetadataConsistency,
                                 A::cleanupOrphaned,
                                 A::flushRouterConfig,
                                 A::getClusterParameter,
                                 A::getDefaultRWConcern,
                                 A::listSessions,
                                 A::listShards,
                                 A::moveCollection,
                                 A::querySettings,
                                 A::removeShard,
                                 A::replSetConfigure,
                                 A::replSetGetConfig,
                                 A::replSetGetStatus,
                                 A::replSetStateChange,
                                 A::resync,
                                 A::setClusterParameter,
                                 A::setDefaultRWConcern,
                                 A::setFeatureCompatibilityVersion,
                                 A::transitionFromDedicatedConfigServer,
                                 A::transitionToDedicatedConfigServer,
                                 A::unshardCollection};
constexpr A kManagerDatabase[] = {
    A::analyzeShardKey,   A::clearJumboFlag, A::configureQueryAnalyzer,
    A::enableSharding,    A::moveChunk,      A::refineCollectionShardKey,
    A::reshardCollection, A::splitChunk,     A::splitVector};
constexpr A kSharding[] = {A::analyzeShardKey,          A::enableSharding,    A::moveCollection,
                           A::refineCollectionShardKey, A::reshardCollection, A::unshardCollection};
constexpr A kHostCluster[] = {
    A::applicationMessage,  A::auditConfigure,  A::closeAllDatabases,  A::compact,
    A::connPoolSync,        A::dropConnections, A::flushRouterConfig,  A::fsync,
    A::invalidateUserCache, A::killAnyCursor,   A::killAnySession,     A::killop,
    A::logRotate,           A::oidReset,        A::replSetResizeOplog, A::resync,
    A::rotateCertificates,  A::setParameter,    A::shutdown,           A::touch,
    A::trafficRecord,       A::unlock};
constexpr A kHostDatabase[] = {A::compact, A::killCursors};
constexpr A kBackupCluster[] = {A::appendOplogNote, A::getParameter,          A::listDatabases,
                                A::serverStatus,    A::setUserWriteBlockMode, A::useUUID};
constexpr A kList[] = {A::listDatabases, A::listCollections, A::listIndexes, A::listSearchIndexes};
constexpr A kSettings[] = {A::find, A::insert, A::update};
constexpr A kRestoreCluster[] = {A::applyOps,     A::bypassWriteBlockingMode, A::forceUUID,
                                 A::getParameter, A::setUserWriteBlockMode,   A::useUUID};
constexpr A kRestore[] = {A::bypassDocumentValidation, A::collMod,     A::convertToCapped,
                          A::createCollection,         A::createIndex, A::createSearchIndexes,
                          A::dropCollection,           A::insert,      A::updateSearchIndex};
constexpr A kFindOnly[] = {A::find};
constexpr A kChange[] = {A::insert, A::remove, A::update};

ActionSet SetOf(std::span<const A> actions) {
  ActionSet out;
  for (A action : actions) {
    out.set(static_cast<size_t>(action));
  }
  return out;
}

ActionSet SetOf(A action) { return SetOf(std::span(&action, 1)); }

void AddRead(std::string_view db, Privileges* out) {
  out->Add(Database(db), SetOf(kRead));
  out->Add(Collection(db, "system.js"), SetOf(kRead));
}

void AddReadWrite(std::string_view db, Privileges* out) {
  AddRead(db, out);
  out->Add(Database(db), SetOf(kWrite));
  out->Add(Collection(db, "system.js"), SetOf(kWrite));
}

void AddDbAdmin(std::string_view db, Privileges* out) {
  out->Add(Database(db), SetOf(kDbAdmin));
  out->Add(Collection(db, "system.profile"), SetOf(kRead) | SetOf(kProfile));
}

void AddUserAdmin(std::string_view db, Privileges* out) {
  out->Add(Database(db), SetOf(kUserAdmin));
}

void AddDbOwner(std::string_view db, Privileges* out) {
  AddReadWrite(db, out);
  AddDbAdmin(db, out);
  AddUserAdmin(db, out);
  out->Add(Database(db), SetOf(kCompactEncrypted));
}

void AddUserAdminAnyDatabase(std::string_view, Privileges* out) {
  AddUserAdmin("", out);
  out->Add(Cluster(), SetOf(kUserAdminCluster));
  out->Add(Collection("admin", "system.roles"), SetOf(kUserCollections));
  out->Add(Collection("", "system.users"), SetOf(kUserCollections));
}

void AddReadAnyDatabase(std::string_view, Privileges* out) {
  AddRead("", out);
  out->Add(Cluster(), SetOf(A::listDatabases));
}

void AddReadWriteAnyDatabase(std::string_view, Privileges* out) {
  AddReadWrite("", out);
  out->Add(Database(""), SetOf(kCompactEncrypted));
  out->Add(Cluster(), SetOf(A::listDatabases));
}

void AddDbAdminAnyDatabase(std::string_view, Privileges* out) {
  AddDbAdmin("", out);
  out->Add(Cluster(), SetOf(A::listDatabases) | SetOf(A::applyOps));
}

void AddClusterMonitor(std::string_view, Privileges* out) {
  out->Add(Cluster(), SetOf(kMonitorCluster));
  for (std::string_view database : {"", "config", "local"}) {
    out->Add(Database(database), SetOf(kMonitorDatabase));
  }
  for (std::string_view database : {"config", "local"}) {
    AddRead(database, out);
  }
  out->Add(Collection("local", "system.replset"), SetOf(A::find));
  out->Add(Collection("", "system.profile"), SetOf(A::find));
}

void AddClusterManager(std::string_view, Privileges* out) {
  out->Add(Cluster(), SetOf(kManagerCluster));
  for (std::string_view database : {"", "config", "local"}) {
    out->Add(Database(database), SetOf(kManagerDatabase));
  }
  AddRead("config", out);
  for (std::string_view database : {"config", "local"}) {
    out->Add(Database(database), SetOf(kChange));
  }
  out->Add(Collection("local", "system.replset"), SetOf(kRead));
}

void AddHostManager(std::string_view, Privileges* out) {
  out->Add(Cluster(), SetOf(kHostCluster));
  for (std::string_view database : {"", "config", "local"}) {
    out->Add(Database(database), SetOf(kHostDatabase));
  }
}

void AddClusterAdmin(std::string_view, Privileges* out) {
  AddClusterMonitor("", out);
  AddClusterManager("", out);
  AddHostManager("", out);
  out->Add(Database(""), SetOf(A::dropDatabase));
}

void AddDirectShardOperations(std::string_view, Privileges* out) {
  out->Add(Cluster(), SetOf(A::issueDirectShardOperations));
}

void AddEnableSharding(std::string_view, Privileges* out) {
  out->Add(Database(""), SetOf(kSharding));
}

void AddBackup(std::string_view, Privileges* out) {
  out->Add(Cluster(), SetOf(kBackupCluster));
  out->Add(AnyResource(), SetOf(kList));
  for (std::string_view database : {"", "config", "local"}) {
    out->Add(Database(database), SetOf(kFindOnly) | SetOf(A::collStats));
  }
  for (std::string_view name : {"system.js", "system.profile", "system.users"}) {
    out->Add(Collection("", name), SetOf(kFindOnly));
  }
  for (std::string_view name : {"system.roles", "system.version"}) {
    out->Add(Collection("admin", name), SetOf(kFindOnly));
  }
  out->Add(Collection("local", "system.replset"), SetOf(kFindOnly));
  out->Add(Collection("config", "settings"), SetOf(kSettings));
}

void AddRestore(std::string_view, Privileges* out) {
  out->Add(Cluster(), SetOf(kRestoreCluster));
  out->Add(AnyResource(), SetOf(A::listCollections));
  for (std::string_view database : {"", "config", "local"}) {
    out->Add(Database(database), SetOf(kRestore));
  }
  out->Add(Database(""), SetOf(kUserAdmin));
  out->Add(Collection("", "system.js"), SetOf(kRestore));
  out->Add(Collection("", "system.users"), SetOf(kRestore) | SetOf(kFindOnly) | SetOf(kChange));
  out->Add(Collection("", "system.views"), SetOf(A::dropCollection));
  out->Add(Collection("admin", "system.roles"), SetOf(A::createIndex));
  out->Add(Collection("admin", "system.version"), SetOf(kRestore) | SetOf(kFindOnly));
  out->Add(Collection("admin", "tempusers"), SetOf(kFindOnly));
  out->Add(Collection("admin", "temproles"), SetOf(kFindOnly));
  out->Add(Collection("local", "system.replset"), SetOf(kRestore));
}

void AddRoot(std::string_view, Privileges* out) {
  AddReadWriteAnyDatabase("", out);
  AddDbAdminAnyDatabase("", out);
  AddUserAdminAnyDatabase("", out);
  AddClusterAdmin("", out);
  AddRestore("", out);
  AddBackup("", out);
  out->Add(AnyResource(), SetOf(A::validate));
  out->Add(Cluster(), SetOf(A::bypassDefaultMaxTimeMS));
  out->Add(Collection("config", "system.preimages"), SetOf(A::find) | SetOf(A::remove));
}

void AddSystem(std::string_view, Privileges* out) { out->Add(AnyResource(), SetOf(A::anyAction)); }

struct BuiltIn {
  std::string_view name;
  bool admin_only;
  void (*add)(std::string_view database, Privileges* out);
};

constexpr BuiltIn kRoles[] = {
    {"__system", true, AddSystem},
    {"backup", true, AddBackup},
    {"clusterAdmin", true, AddClusterAdmin},
    {"clusterManager", true, AddClusterManager},
    {"clusterMonitor", true, AddClusterMonitor},
    {"dbAdmin", false, AddDbAdmin},
    {"dbAdminAnyDatabase", true, AddDbAdminAnyDatabase},
    {"dbOwner", false, AddDbOwner},
    {"directShardOperations", true, AddDirectShardOperations},
    {"enableSharding", true, AddEnableSharding},
    {"hostManager", true, AddHostManager},
    {"read", false, AddRead},
    {"readAnyDatabase", true, AddReadAnyDatabase},
    {"readWrite", false, AddReadWrite},
    {"readWriteAnyDatabase", true, AddReadWriteAnyDatabase},
    {"restore", true, AddRestore},
    {"root", true, AddRoot},
    {"userAdmin", false, AddUserAdmin},
    {"userAdminAnyDatabase", true, AddUserAdminAnyDatabase},
};

const BuiltIn* Find(const RoleName& name) {
  for (const BuiltIn& role : kRoles) {
    if (role.name == name.role && (!role.admin_only || name.database == "admin")) {
      return &role;
    }
  }
  return nullptr;
}

}  // namespace

bool AddBuiltInRole(const RoleName& name, Privileges* out) {
  const BuiltIn* role = Find(name);
  if (role == nullptr) {
    return false;
  }
  role->add(name.database, out);
  return true;
}

bool IsBuiltInRole(const RoleName& name) { return Find(name) != nullptr; }

std::vector<std::string_view> BuiltInRoles(std::string_view database) {
  std::vector<std::string_view> out;
  for (const BuiltIn& role : kRoles) {
    if (!role.admin_only || database == "admin") {
      out.push_back(role.name);
    }
  }
  return out;
}

}  // namespace quire::auth
