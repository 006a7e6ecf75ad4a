// SPDX-License-Identifier: Apache-2.0
//
// A cluster in a folder: which processes belong to it, written down in cluster.json.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cluster/process.h"
#include "quire/status.h"

namespace quire::apps {

struct ClusterLayout {
  std::string folder;
  std::string store;               // address of the coordination store
  std::vector<Process> processes;  // etcd first, unless it is somebody else's; routers last

  // Null when there is none of that name.
  Process* Find(const std::string& name);
  std::vector<std::string> Sets();
  std::vector<Process*> Members(const std::string& set);
  std::vector<Process*> Routers();
  // "s0/HOST,HOST..."
  std::string AddressOf(const std::string& set);
  // For clients: of the routers, or of the one set.
  std::string Uri();
  // That the processes share; empty: none.
  std::string KeyFile() const;
};

bool IsStore(const Process& process);
bool IsRouter(const Process& process);

struct NewCluster {
  std::string folder;
  int64_t shards = 1;
  int64_t members = 3;  // of each shard's set
  int64_t routers = 0;
  int64_t port = 0;                  // of the first router, or else member; 0: free ports
  std::string store;                 // of somebody else; empty: an etcd of our own
  std::string key_file;              // that all share; empty: none
  std::string tool;                  // the program that runs them
  std::vector<std::string> options;  // further ones of every member
};

// The value of --keyFile among a server's arguments; empty: none.
std::string KeyFileAmong(const std::vector<std::string>& arguments);

// The processes of a cluster that was not started yet.
ClusterLayout LayOut(const NewCluster& wanted);

// Errors: NamespaceNotFound when no cluster is there; FailedToParse; BadValue when the folder was
// moved or copied.
Result<ClusterLayout> LoadLayout(const std::string& folder);
// Replaces what was there in one step.
Status SaveLayout(const ClusterLayout& layout);

}  // namespace quire::apps
