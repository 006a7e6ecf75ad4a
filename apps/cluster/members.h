// SPDX-License-Identifier: Apache-2.0
//
// What the members of a set say of themselves, asked one by one.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cluster/layout.h"
#include "peer/pool.h"
#include "quire/status.h"

namespace quire::apps {

struct MemberReport {
  std::string role;             // "primary", "secondary", "starting", "recovering", ...
  int64_t written_seconds = 0;  // of its last write's cluster time
  bool settled = false;         // primary or secondary
};

// Nothing when the member does not answer within `limit`.
std::optional<MemberReport> AskMember(const std::string& host, std::chrono::milliseconds limit);

// How whoever runs the cluster logs in at its processes: as one of them, when they share a key.
// Errors: those of auth::ReadKeyFile.
Result<peer::Login> LoginTo(const ClusterLayout& layout);

// Makes the members a set, unless they are one. Errors: those of replSetInitiate.
Status InitiateSet(const std::string& set, const std::vector<Process*>& members,
                   const peer::Login& login);

// Until every member is primary or secondary and a write reached all of them. Error:
// ExceededTimeLimit with who is late.
Status AwaitSet(const std::vector<Process*>& members, std::chrono::seconds limit,
                const peer::Login& login);

// Makes the set a shard of the router's cluster, unless it is one. Errors: those of addShard.
Status AddShard(const Process& router, const std::string& address, const peer::Login& login);

}  // namespace quire::apps
