// SPDX-License-Identifier: Apache-2.0
//
// The processes of a cluster on this machine: started in the background, found again later by their
// id and the moment they began, so that no other process is ever taken for one of them.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "quire/status.h"

namespace quire::apps {

struct Process {
  std::string name;  // "etcd", "s0/0", "r0"
  std::string set;   // of a member; empty: it is none
  std::string host;  // "127.0.0.1:27017"
  std::string log;   // file of what it prints
  std::vector<std::string> argv;
  pid_t pid = 0;
  uint64_t began = 0;  // as the system counts; with the id it names one process for ever
};

enum class ProcessState { kRunning, kPaused, kEnded };

ProcessState StateOf(const Process& process);

// Starts it in the background, apart from the terminal, and notes its id. Error: it cannot be run.
Status StartProcess(Process* process);

// Sends the signal. Error: NoSuchKey when it has ended.
Status SignalProcess(const Process& process, int signal);

// Until it has ended. False when it has not in that time.
bool AwaitEnd(const Process& process, std::chrono::milliseconds limit);

// Whether the program is in PATH.
bool IsInstalled(const std::string& program);

// Whether a server could listen at this address of 127.0.0.1.
bool IsPortFree(const std::string& host);

// A port of 127.0.0.1 that nobody listens on, other than those given.
int FreePort(const std::vector<int>& other_than);

}  // namespace quire::apps
