// SPDX-License-Identifier: Apache-2.0
//
// MongoDB's built-in roles, each a list of actions per kind of resource.
#include <algorithm>
#include <span>

#include "auth/privilege.h"

namespace quire::auth {
namespace {

using A = Action;

constexpr A kRead[] = {A::changeStream,  A::collStats,        A::dbHash,      A::dbStats,
                       A::find,          A::killCursors,      A::listIndexes, A::listCollections,
                       A::planCacheRead, A::listSearchIndexes};
constexpr A kWrite[] = {A::insert,          A::remove,
                        A::update,          A::createCollection,
                        A::createIndex,     A::dropCollection,
                        A::dropIndex,       A::renameCollectionSameDB,
                        A::convertToCapped, A::createSearchIndexes,
                        A::dropSearchIndex, A::updateSearchIndex,
                        A::collMod};
constexpr A kDbAdmin[] = {A::analyze,
                          A::collMod,
                          A::collStats,
                          A::compact,
                          A::convertToCapped,
                          A::createCollection,
                          A::createIndex,
                          A::dbStats,
                          A::dropCollection,
                          A::dropDatabase,
                          A::dropIndex,
                          A::enableProfiler,
                          A::indexStats,
                          A::killCursors,
                          A::listCollections,
                          A::listIndexes,
                          A::planCacheIndexFilter,
                          A::planCacheRead,
                          A::planCacheWrite,
                          A::reIndex,
                          A::renameCollectionSameDB,
                          A::storageDetails,
                          A::validate,
                          A::bypassDocumentValidation,
                          A::createSearchIndexes,
                          A::dropSearchIndex,
                          A::listSearchIndexes,
                          A::updateSearchIndex};
constexpr A kProfile[] = {A::changeStream,     A::collStats,   A::convertToCapped,
                          A::createCollection, A::dbHash,      A::dbStats,
                          A::dropCollection,   A::find,        A::killCursors,
                          A::listCollections,  A::listIndexes, A::planCacheRead};
constexpr A kUserAdmin[] = {A::changeCustomData, A::changePassword, A::createRole,
                            A::createUser,       A::dropRole,       A::dropUser,
                            A::grantRole,        A::revokeRole,     A::setAuthenticationRestriction,
                            A::viewRole,         A::viewUser};
constexpr A kUserAdminCluster[] = {A::authSchemaUpgrade, A::invalidateUserCache, A::listDatabases};
constexpr A kMonitorCluster[] = {A::checkFreeMonitoringStatus,
                                 A::connPoolStats,
                                 A::getCmdLineOpts,
                                 A::getDefaultRWConcern,
                                 A::getDiagnosticData,
                                 A::getLog,
                                 A::getParameter,
                                 A::getClusterParameter,
                                 A::getShardMap,
                                 A::hostInfo,
                                 A::inprog,
                                 A::listCursors,
                                 A::listDatabases,
                                 A::listSessions,
                                 A::listShards,
                                 A::netstat,
                                 A::operationMetrics,
                                 A::queryStatsRead,
                                 A::replSetGetConfig,
                                 A::replSetGetStatus,
                                 A::serverStatus,
                                 A::setFreeMonitoring,
                                 A::shardingState,
                                 A::top};
constexpr A kMonitorDatabase[] = {A::collStats, A::dbStats, A::getShardVersion, A::indexStats,
                                  A::useUUID};
constexpr A kManagerCluster[] = {A::addShard,
                                 A::appendOplogNote,
                                 A::applicationMessage,
                                 A::cleanupOrphaned,
                                 A::flushRouterConfig,
                                 A::getDefaultRWConcern,
                                 A::getClusterParameter,
                                 A::listSessions,
                                 A::listShards,
                                 A::removeShard,
                                 A::replSetConfigure,
                                 A::replSetGetConfig,
                                 A::replSetGetStatus,
                                 A::replSetStateChange,
                                 A::resync,
                                 A::setDefaultRWConcern,
                                 A::setClusterParameter,
                                 A::setFeatureCompatibilityVersion,
                                 A::setFreeMonitoring,
                                 A::setUserWriteBlockMode,
                                 A::bypassWriteBlockingMode,
                                 A::querySettings};
constexpr A kManagerDatabase[] = {
    A::clearJumboFlag,    A::enableSharding, A::moveChunk,   A::refineCollectionShardKey,
    A::reshardCollection, A::splitChunk,     A::splitVector, A::analyze};
constexpr A kHostCluster[] = {A::applicationMessage,
                              A::auditConfigure,
                              A::closeAllDatabases,
                              A::connPoolSync,
                              A::dropConnections,
                              A::flushRouterConfig,
                              A::fsync,
                              A::getParameter,
                              A::invalidateUserCache,
                              A::killAnyCursor,
                              A::killAnySession,
                              A::killop,
                              A::logRotate,
                              A::oidReset,
                              A::resync,
                              A::rotateCertificates,
                              A::setParameter,
                              A::shutdown,
                              A::touch,
                              A::trafficRecord,
                              A::unlock,
                              A::getClusterParameter,
                              A::setClusterParameter};
constexpr A kHostDatabase[] = {A::killCursors};
constexpr A kBackupCluster[] = {A::appendOplogNote, A::getParameter, A::listDatabases,
                                A::serverStatus, A::setUserWriteBlockMode};
constexpr A kBackupDatabase[] = {A::find, A::listCollections, A::listIndexes, A::collStats};
constexpr A kRestoreCluster[] = {A::getParameter, A::setUserWriteBlockMode,
                                 A::bypassWriteBlockingMode};
constexpr A kRestoreDatabase[] = {A::bypassDocumentValidation,
                                  A::changeCustomData,
                                  A::changePassword,
                                  A::collMod,
                                  A::createCollection,
                                  A::createIndex,
                                  A::createRole,
                                  A::createUser,
                                  A::dropCollection,
                                  A::dropRole,
                                  A::dropUser,
                                  A::grantRole,
                                  A::insert,
                                  A::revokeRole,
                                  A::viewRole,
                                  A::viewUser,
                                  A::update,
                                  A::remove,
                                  A::convertToCapped,
                                  A::forceUUID,
                                  A::useUUID,
                                  A::listCollections};
constexpr A kFindOnly[] = {A::find};
constexpr A kListDatabases[] = {A::listDatabases};
constexpr A kAnything[] = {A::anyAction};
constexpr A kDropDatabase[] = {A::dropDatabase, A::bypassDocumentValidation};

ActionSet SetOf(std::span<const A> actions) {
  ActionSet out;
  for (A action : actions) {
    out.set(static_cast<size_t>(action));
  }
  return out;
}

void AddRead(std::string_view db, Privileges* out) {
  out->Add(Database(db), SetOf(kRead));
  out->Add(Collection(db, "system.js"), SetOf(kRead));
  out->Add(Collection(db, "system.views"), SetOf(kFindOnly));
}

void AddReadWrite(std::string_view db, Privileges* out) {
  AddRead(db, out);
  out->Add(Database(db), SetOf(kWrite));
  out->Add(Collection(db, "system.js"), SetOf(kWrite));
}

void AddDbAdmin(std::string_view db, Privileges* out) {
  out->Add(Database(db), SetOf(kDbAdmin));
  out->Add(Collection(db, "system.profile"), SetOf(kProfile));
}

void AddUserAdmin(std::string_view db, Privileges* out) {
  out->Add(Database(db), SetOf(kUserAdmin));
}

void AddDbOwner(std::string_view db, Privileges* out) {
  AddReadWrite(db, out);
  AddDbAdmin(db, out);
  AddUserAdmin(db, out);
}

void AddUserAdminAnyDatabase(std::string_view, Privileges* out) {
  AddUserAdmin("", out);
  out->Add(Cluster(), SetOf(kUserAdminCluster));
  for (std::string_view name : {"system.users", "system.roles"}) {
    out->Add(Collection("admin", name), SetOf(kRead));
  }
}

void AddReadAnyDatabase(std::string_view, Privileges* out) {
  AddRead("", out);
  out->Add(Cluster(), SetOf(kListDatabases));
}

void AddReadWriteAnyDatabase(std::string_view, Privileges* out) {
  AddReadWrite("", out);
  out->Add(Cluster(), SetOf(kListDatabases));
}

void AddDbAdminAnyDatabase(std::string_view, Privileges* out) {
  AddDbAdmin("", out);
  out->Add(Cluster(), SetOf(kListDatabases));
}

void AddClusterMonitor(std::string_view, Privileges* out) {
  out->Add(Cluster(), SetOf(kMonitorCluster));
  out->Add(Database(""), SetOf(kMonitorDatabase));
  for (std::string_view name : {"config", "local"}) {
    AddRead(name, out);
  }
  out->Add(Collection("", "system.profile"), SetOf(kFindOnly));
}

void AddClusterManager(std::string_view, Privileges* out) {
  out->Add(Cluster(), SetOf(kManagerCluster));
  out->Add(Database(""), SetOf(kManagerDatabase));
  AddReadWrite("config", out);
  AddRead("local", out);
}

void AddHostManager(std::string_view, Privileges* out) {
  out->Add(Cluster(), SetOf(kHostCluster));
  out->Add(Database(""), SetOf(kHostDatabase));
}

void AddClusterAdmin(std::string_view, Privileges* out) {
  AddClusterMonitor("", out);
  AddClusterManager("", out);
  AddHostManager("", out);
  out->Add(Database(""), SetOf(kDropDatabase));
}

void AddEnableSharding(std::string_view, Privileges* out) {
  ActionSet actions;
  actions.set(static_cast<size_t>(A::enableSharding));
  actions.set(static_cast<size_t>(A::refineCollectionShardKey));
  actions.set(static_cast<size_t>(A::reshardCollection));
  out->Add(Database(""), actions);
}

void AddBackup(std::string_view, Privileges* out) {
  out->Add(Cluster(), SetOf(kBackupCluster));
  out->Add(Database(""), SetOf(kBackupDatabase));
  for (std::string_view name :
       {"system.js", "system.profile", "system.views", "system.users", "system.roles"}) {
    out->Add(Collection("", name), SetOf(kFindOnly));
  }
}

void AddRestore(std::string_view, Privileges* out) {
  out->Add(Cluster(), SetOf(kRestoreCluster));
  out->Add(Database(""), SetOf(kRestoreDatabase));
  for (std::string_view name : {"system.js", "system.views", "system.users", "system.roles"}) {
    out->Add(Collection("", name), SetOf(kRestoreDatabase));
    out->Add(Collection("", name), SetOf(kFindOnly));
  }
}

void AddRoot(std::string_view, Privileges* out) {
  AddReadWriteAnyDatabase("", out);
  AddDbAdminAnyDatabase("", out);
  AddUserAdminAnyDatabase("", out);
  AddClusterAdmin("", out);
  AddRestore("", out);
  AddBackup("", out);
  for (std::string_view name : {"system.js", "system.profile", "system.views"}) {
    out->Add(Collection("", name), SetOf(kDbAdmin));
    out->Add(Collection("", name), SetOf(kWrite));
  }
}

void AddSystem(std::string_view, Privileges* out) { out->Add(AnyResource(), SetOf(kAnything)); }

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
    {"enableSharding", false, AddEnableSharding},
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
