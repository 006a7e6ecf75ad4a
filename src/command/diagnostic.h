// SPDX-License-Identifier: Apache-2.0
//
// The families of commands about the server itself.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "command/command.h"

namespace quire::command {

std::span<const Row> HandshakeRows();       // hello, isMaster
std::span<const Row> ServerInfoRows();      // buildInfo, hostInfo, connectionStatus, getLog...
std::span<const Row> ServerStatusRows();    // serverStatus
std::span<const Row> TopRows();             // top
std::span<const Row> ParameterRows();       // getParameter, setParameter
std::span<const Row> ReplicaSetRows();      // replSetGetStatus, replSetGetConfig...
std::span<const Row> OperationRows();       // currentOp, killOp
std::span<const Row> ControlRows();         // fsync, logRotate, shutdown
std::span<const Row> ProfileRows();         // profile
std::span<const Row> AuthenticationRows();  // logout, saslStart...
std::span<const Row> CertificateRows();     // authenticate, rotateCertificates
std::span<const Row> UserRows();            // createUser, usersInfo...
std::span<const Row> RoleRows();            // createRole, rolesInfo...
std::span<const Row> ClusterRows();         // setClusterParameter, mergeChunks...
std::span<const Row> DataHashRows();        // dbHash, filemd5
std::span<const Row> ValidateRows();        // validate
std::span<const Row> StableApiRows();       // validateDBMetadata
std::span<const Row> FailPointRows();       // configureFailPoint
std::span<const Row> MergeAccountsRows();   // _mergeAuthzCollections
std::span<const Row> DefaultConcernRows();  // getDefaultRWConcern, setDefaultRWConcern

// Sets parameters given as name=value when the server starts. Error: BadValue, InvalidOptions.
Status SetStartupParameters(Commands& commands, const std::vector<std::string>& assignments);

// What $currentOp tells of the operations under way, idle cursors and idle sessions; `spec` holds
// the stage's switches.
// Only what `owner` runs, unless that is null.
std::vector<bson::Document> CurrentOperations(Commands& commands, bson::View spec,
                                              const request::Identity* owner);

// How the client reaches this server, "host:port".
std::string ReachedAs(const Invocation& invocation);
// The process since its start.
int64_t UptimeMillis();

}  // namespace quire::command
