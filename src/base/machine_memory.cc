// SPDX-License-Identifier: Apache-2.0
#include "base/machine_memory.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace quire {

namespace {

std::string ReadText(const std::string& path) {
  std::string text(4096, '\0');
  FILE* file = fopen(path.c_str(), "re");
  if (file == nullptr) {
    return "";
  }
  text.resize(fread(text.data(), 1, text.size(), file));
  fclose(file);
  return text;
}

// The number behind `name` in lines of "name number"; 0 when there is none.
int64_t NumberOf(const std::string& text, const char* name) {
  size_t at = text.starts_with(name) ? 0 : text.find("\n" + std::string(name));
  if (at == std::string::npos) {
    return 0;
  }
  at = text.find_first_of("0123456789", at + strlen(name));
  return at == std::string::npos ? 0 : strtoll(text.c_str() + at, nullptr, 10);
}

int64_t Number(const std::string& text) { return strtoll(text.c_str(), nullptr, 10); }

// Takes in a control group's limit when it has one ("max" has none).
void ApplyGroup(const std::string& limit_text, int64_t used, const std::string& statistics,
                const char* cached, MachineMemory* memory) {
  const int64_t limit = Number(limit_text);
  if (limit <= 0 || limit >= memory->limit) {
    return;
  }
  // Pages of files can be had back.
  const int64_t left = limit - used + NumberOf(statistics, cached);
  memory->limit = limit;
  memory->available = std::min(memory->available, std::max<int64_t>(left, 0));
}

// The path of the process in the hierarchy whose line of /proc/self/cgroup begins with `prefix`.
std::string GroupPath(const std::string& groups, const std::string& prefix) {
  size_t at = groups.find(prefix);
  if (at == std::string::npos) {
    return "";
  }
  at += prefix.size();
  return groups.substr(at, groups.find('\n', at) - at);
}

}  // namespace

MachineMemory ReadMachineMemory() {
  const std::string machine = ReadText("/proc/meminfo");
  MachineMemory memory{NumberOf(machine, "MemTotal:") << 10, NumberOf(machine, "MemAvailable:")
                                                                 << 10};
  if (memory.limit == 0) {
    return {};
  }
  const std::string groups = ReadText("/proc/self/cgroup");
  // Inside a container the root of what is mounted is the container's own group.
  for (const std::string& path : {GroupPath(groups, "0::"), std::string()}) {
    const std::string folder = "/sys/fs/cgroup" + path;
    ApplyGroup(ReadText(folder + "/memory.max"), Number(ReadText(folder + "/memory.current")),
               ReadText(folder + "/memory.stat"), "inactive_file", &memory);
  }
  for (const std::string& path : {GroupPath(groups, ":memory:"), std::string()}) {
    const std::string folder = "/sys/fs/cgroup/memory" + path;
    ApplyGroup(ReadText(folder + "/memory.limit_in_bytes"),
               Number(ReadText(folder + "/memory.usage_in_bytes")),
               ReadText(folder + "/memory.stat"), "total_inactive_file", &memory);
  }
  return memory;
}

int64_t ReadResidentMemory() {
  const std::string pages = ReadText("/proc/self/statm");  // all of them, those in memory, ...
  const size_t second = pages.find(' ');
  return second == std::string::npos ? 0 : Number(pages.substr(second)) * sysconf(_SC_PAGESIZE);
}

}  // namespace quire
