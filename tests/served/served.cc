// SPDX-License-Identifier: Apache-2.0
#include "served/served.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <sstream>
#include <string_view>
#include <thread>

namespace quire::served {

namespace {

constexpr int kPolls = 3000;
constexpr std::chrono::milliseconds kPoll{10};

// The child's log, a file without a name beside the parent, tells its port:
// `... address="127.0.0.1:40123"`.
class Server {
 public:
  Server() {
    char path[] = "/tmp/quire_served_XXXXXX";
    int log = mkstemp(path);
    if (log < 0) {
      return;
    }
    pid_ = fork();
    if (pid_ == 0) {
      Serve(log);
    }
    AwaitAddress(path);
    close(log);
    unlink(path);
  }
  ~Server() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  const std::string& address() const { return address_; }

 private:
  // In the child.
  [[noreturn]] static void Serve(int log) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    execl(QUIRE_TOOL, QUIRE_TOOL, "serve", "--ephemeral", "--port", "0",
          static_cast<char*>(nullptr));
    _exit(127);
  }

  void AwaitAddress(const char* path) {
    for (int i = 0; i < kPolls && address_.empty(); ++i) {
      std::this_thread::sleep_for(kPoll);
      std::stringstream log;
      log << std::ifstream(path).rdbuf();
      ReadAddress(log.str());
      if (waitpid(pid_, nullptr, WNOHANG) == pid_) {
        pid_ = 0;
        return;
      }
    }
  }

  void ReadAddress(const std::string& log) {
    constexpr std::string_view kBefore = "address=\"127.0.0.1:";
    size_t at = log.find(kBefore);
    if (at == std::string::npos || log.find("Waiting for connections") == std::string::npos) {
      return;
    }
    size_t port = at + kBefore.size();
    address_ = "mongodb://127.0.0.1:" + log.substr(port, log.find('"', port) - port) +
               "/?directConnection=true";
  }

  pid_t pid_ = 0;
  std::string address_;
};

}  // namespace

const std::string& Address() {
  static const char* const elsewhere = getenv("QUIRE_SERVED_AT");
  static const std::string given = elsewhere == nullptr ? "" : elsewhere;
  if (!given.empty()) {
    return given;
  }
  static Server server;
  return server.address();
}

}  // namespace quire::served
