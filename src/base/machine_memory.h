// SPDX-License-Identifier: Apache-2.0
//
// How much memory this process may use, and how much of it is left.
#pragma once

#include <cstdint>

namespace quire {

struct MachineMemory {
  int64_t limit = 0;      // of the machine, or of the control group when that is less
  int64_t available = 0;  // before the system has to end a process
};

// As the system tells it (/proc and /sys/fs/cgroup); zeros when it does not.
MachineMemory ReadMachineMemory();

// Memory of this process that is in use; 0 when the system does not tell.
int64_t ReadResidentMemory();

}  // namespace quire
