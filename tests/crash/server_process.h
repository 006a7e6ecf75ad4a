// SPDX-License-Identifier: Apache-2.0
//
// The server under test as a child process.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace quire::crash {

class ServerProcess {
 public:
  // `binary` serves `folder`; its output is appended to `log`.
  ServerProcess(std::string binary, std::string folder, std::string log);
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  // Starts it and waits until it answers; false when it does not.
  bool Start();
  // Ends it at once with SIGKILL; false when it had ended by itself.
  bool Kill();
  // Asks it to end with SIGTERM; its exit code, or -1 when a signal ended it.
  int Stop();

  const std::string& uri() const { return uri_; }

 private:
  std::string binary_;
  std::string folder_;
  std::string log_;
  std::string uri_;
  pid_t pid_ = 0;
};

}  // namespace quire::crash
