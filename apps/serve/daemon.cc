// SPDX-License-Identifier: Apache-2.0
#include "serve/daemon.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <initializer_list>

#include "base/error_codes.h"
#include "base/log.h"

namespace quire::apps {
namespace {

// mongod's exit code of a parent whose child failed to start.
constexpr int kChildFailed = 1;
// In the environment of a process that has replaced itself.
constexpr const char* kStartedAgain = "QUIRE_STARTED_AGAIN";

sigset_t EndSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) {
    sigaddset(&set, signal);
  }
  return set;
}

[[noreturn]] void WaitForChild(int pipe, pid_t child, const std::string& log) {
  printf("about to fork child process, waiting until server is ready for connections.\n");
  printf("forked process: %d\n", child);
  char ready = 0;
  if (read(pipe, &ready, 1) == 1) {
    printf("child process started successfully, parent exiting\n");
    fflush(stdout);
    _exit(0);
  }
  int status = 0;
  (void)waitpid(child, &status, 0);
  int code = WIFEXITED(status) ? WEXITSTATUS(status) : kChildFailed;
  fprintf(stderr, "ERROR: child process failed, exited with %d; see %s\n", code, log.c_str());
  _exit(code == 0 ? kChildFailed : code);
}

// To nowhere.
void Redirect(std::initializer_list<int> descriptors) {
  const int null = open("/dev/null", O_RDWR);
  for (int fd : descriptors) {
    (void)dup2(null, fd);
  }
  close(null);
}

}  // namespace

Status Background::Fork(const std::string& log) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return {kInternalError, std::string("pipe failed: ") + strerror(errno)};
  }
  fflush(nullptr);
  pid_t child = fork();
  if (child < 0) {
    return {kInternalError, std::string("fork failed: ") + strerror(errno)};
  }
  if (child > 0) {
    close(ends[1]);
    WaitForChild(ends[0], child, log);
  }
  close(ends[0]);
  pipe_ = ends[1];
  (void)setsid();
  Redirect({STDIN_FILENO, STDOUT_FILENO});
  return Status::Ok();
}

void Background::Ready() {
  if (pipe_ >= 0) {
    Redirect({STDERR_FILENO});
    (void)!write(pipe_, "r", 1);
    close(std::exchange(pipe_, -1));
  }
}

PidFile::~PidFile() {
  if (!path_.empty()) {
    (void)unlink(path_.c_str());
  }
}

Status PidFile::Write(const std::string& path) {
  std::ofstream file(path);
  file << getpid() << "\n";
  file.close();
  if (!file || chmod(path.c_str(), 0644) != 0) {
    return {kFileNotOpen, "Failed to write the pid file " + path};
  }
  path_ = path;
  return Status::Ok();
}

OpenFiles ShareOf(int64_t open_files, int64_t wanted_connections) {
  constexpr int64_t kMost = 1 << 20;
  constexpr int64_t kLeastOfStorage = 64;
  const int64_t all = std::min(open_files, kMost);
  // Logs, listeners, files that operations spill to.
  const int64_t other = std::clamp<int64_t>(all / 16, 32, 1024);
  const int64_t least = std::max(kLeastOfStorage, all / 4);
  const int64_t connections = std::clamp<int64_t>(all - other - least, 0, wanted_connections);
  return {static_cast<int>(std::max<int64_t>(all - other - connections, 0)),
          static_cast<int>(connections)};
}

Result<OpenFiles> ShareOpenFiles(int64_t wanted_connections) {
  constexpr int64_t kFewest = 5;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return Status(kInternalError, std::string("getrlimit failed: ") + strerror(errno));
  }
  limit.rlim_cur = limit.rlim_max;
  (void)setrlimit(RLIMIT_NOFILE, &limit);
  (void)getrlimit(RLIMIT_NOFILE, &limit);
  const auto all = static_cast<int64_t>(std::min<rlim_t>(limit.rlim_cur, INT32_MAX));
  OpenFiles files = ShareOf(all, wanted_connections);
  if (files.connections < std::min(kFewest, wanted_connections)) {
    return Status(kBadValue, "The limit of open files (" + std::to_string(all) +
                                 ") is too low: raise it with ulimit -n");
  }
  return files;
}

int StartAgain(const std::vector<std::string>& argv) {
  std::vector<char*> arguments;
  for (const std::string& argument : argv) {
    arguments.push_back(const_cast<char*>(argument.c_str()));  // NOLINT: execv changes nothing
  }
  arguments.push_back(nullptr);
  setenv(kStartedAgain, "1", 1);
  log::Info("CONTROL", "Starting again");
  execv("/proc/self/exe", arguments.data());
  log::Error("CONTROL", "Failed to start again", {{"error", strerror(errno)}});
  return kChildFailed;
}

bool IsStartedAgain() {
  const bool again = getenv(kStartedAgain) != nullptr;
  unsetenv(kStartedAgain);
  return again;
}

void KeepFilesPrivate() { (void)umask(S_IRWXG | S_IRWXO); }

void BlockSignals() {
  sigset_t set = EndSignals();
  (void)pthread_sigmask(SIG_BLOCK, &set, nullptr);
  (void)signal(SIGPIPE, SIG_IGN);
}

int WaitForEnd(const std::function<Status()>& rotate) {
  sigset_t set = EndSignals();
  while (true) {
    int signal = 0;
    if (sigwait(&set, &signal) != 0) {
      continue;
    }
    if (signal != SIGUSR1 && signal != SIGHUP) {
      return signal;
    }
    if (Status status = rotate(); !status.ok()) {
      log::Error("CONTROL", "Log rotation failed", {{"error", status.message()}});
    }
  }
}

}  // namespace quire::apps
