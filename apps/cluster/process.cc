// SPDX-License-Identifier: Apache-2.0
#include "cluster/process.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/error_codes.h"

namespace quire::apps {
namespace {

struct Seen {
  char state = 0;  // as /proc shows it; 0: there is no such process
  uint64_t began = 0;
};

Seen Look(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  // The name in parentheses may hold anything; the fields are counted behind it.
  const size_t name_end = text.rfind(')');
  if (pid <= 0 || name_end == std::string::npos) {
    return {};
  }
  constexpr int kBeganField = 20;  // behind the name, the state being the first
  std::istringstream fields(text.substr(name_end + 1));
  Seen seen;
  fields >> seen.state;
  std::string field;
  for (int i = 1; i < kBeganField; ++i) {
    fields >> field;
  }
  seen.began = std::strtoull(field.c_str(), nullptr, 10);
  return seen;
}

// In the child: tells the error number through `told` when the program cannot be run.
[[noreturn]] void Run(const Process& process, int told) {
  setsid();
  const int null = open("/dev/null", O_RDONLY);
  const int log = open(process.log.c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600);
  dup2(null, STDIN_FILENO);
  dup2(log, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  std::vector<std::string> arguments = process.argv;
  std::vector<char*> argv;
  for (std::string& argument : arguments) {
    argv.push_back(argument.data());
  }
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  const int error = errno;
  [[maybe_unused]] ssize_t written = write(told, &error, sizeof error);
  _exit(127);
}

}  // namespace

ProcessState StateOf(const Process& process) {
  const Seen seen = Look(process.pid);
  if (seen.state == 0 || seen.state == 'Z' || seen.state == 'X' || seen.began != process.began) {
    return ProcessState::kEnded;
  }
  return seen.state == 'T' ? ProcessState::kPaused : ProcessState::kRunning;
}

// The program runs as a grandchild: whoever starts it need not wait for its end.
Status StartProcess(Process* process) {
  int told[2];
  int born[2];
  if (pipe2(told, O_CLOEXEC) != 0 || pipe2(born, O_CLOEXEC) != 0) {
    return {kInternalError, std::string("pipe: ") + strerror(errno)};
  }
  const pid_t between = fork();
  if (between < 0) {
    return {kInternalError, std::string("fork: ") + strerror(errno)};
  }
  if (between == 0) {
    const pid_t pid = fork();
    if (pid == 0) {
      Run(*process, told[1]);
    }
    [[maybe_unused]] ssize_t written = write(born[1], &pid, sizeof pid);
    _exit(0);
  }
  waitpid(between, nullptr, 0);
  close(told[1]);
  close(born[1]);
  pid_t pid = -1;
  const bool known = read(born[0], &pid, sizeof pid) == sizeof pid && pid > 0;
  int error = 0;
  const bool failed = read(told[0], &error, sizeof error) == sizeof error;
  close(told[0]);
  close(born[0]);
  if (!known || failed) {
    return {kInternalError,
            "cannot run " + process->argv[0] + ": " + (failed ? strerror(error) : "fork failed")};
  }
  process->pid = pid;
  process->began = Look(pid).began;
  return Status::Ok();
}

Status SignalProcess(const Process& process, int signal) {
  if (StateOf(process) == ProcessState::kEnded || kill(process.pid, signal) != 0) {
    return {kNoSuchKey, process.name + " is not running"};
  }
  return Status::Ok();
}

bool AwaitEnd(const Process& process, std::chrono::milliseconds limit) {
  const auto until = std::chrono::steady_clock::now() + limit;
  while (StateOf(process) != ProcessState::kEnded) {
    if (std::chrono::steady_clock::now() >= until) {
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

bool IsInstalled(const std::string& program) {
  const char* path = getenv("PATH");
  std::istringstream folders(path == nullptr ? "/usr/bin" : path);
  std::string folder;
  while (std::getline(folders, folder, ':')) {
    if (access((folder + "/" + program).c_str(), X_OK) == 0) {
      return true;
    }
  }
  return false;
}

bool IsPortFree(const std::string& host) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;  // connections that have ended do not count
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(std::stoi(host.substr(host.rfind(':') + 1))));
  const bool bound = bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  close(fd);
  return bound;
}

int FreePort(const std::vector<int>& other_than) {
  for (;;) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    const bool bound = bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                       getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0;
    close(fd);
    const int port = ntohs(address.sin_port);
    if (bound && std::find(other_than.begin(), other_than.end(), port) == other_than.end()) {
      return port;
    }
  }
}

}  // namespace quire::apps
