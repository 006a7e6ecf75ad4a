// SPDX-License-Identifier: Apache-2.0
//
// A real etcd of a test's own: one member, on free ports of 127.0.0.1, in a folder that goes with
// it.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "coord/etcd/etcd_store.h"

namespace quire::coord {

class EtcdProcess {
 public:
  // `options` are further ones of etcd; `client_scheme`: "https" when they turn TLS on.
  explicit EtcdProcess(std::vector<std::string> options = {}, std::string client_scheme = "http")
      : options_(std::move(options)) {
    char folder[] = "/tmp/quire-etcd-XXXXXX";
    folder_ = mkdtemp(folder);
    const int client = FreePort();
    url_ = client_scheme + "://127.0.0.1:" + std::to_string(client);
    peer_ = "http://127.0.0.1:" + std::to_string(FreePort(client));
    Start();
  }
  ~EtcdProcess() {
    Kill();
    std::filesystem::remove_all(folder_);
  }
  EtcdProcess(const EtcdProcess&) = delete;
  EtcdProcess& operator=(const EtcdProcess&) = delete;

  const std::string& url() const { return url_; }

  void Start() {
    std::vector<std::string> arguments = {"etcd",
                                          "--data-dir",
                                          folder_ + "/data",
                                          "--listen-client-urls",
                                          url_,
                                          "--advertise-client-urls",
                                          url_,
                                          "--listen-peer-urls",
                                          peer_,
                                          "--initial-advertise-peer-urls",
                                          peer_,
                                          "--initial-cluster",
                                          "default=" + peer_,
                                          "--unsafe-no-fsync",
                                          "--log-level",
                                          "error"};
    arguments.insert(arguments.end(), options_.begin(), options_.end());
    std::vector<char*> argv;
    for (std::string& argument : arguments) {
      argv.push_back(argument.data());
    }
    argv.push_back(nullptr);
    pid_ = fork();
    if (pid_ == 0) {
      const int log = open((folder_ + "/log").c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600);
      dup2(log, 1);
      dup2(log, 2);
      execvp("etcd", argv.data());
      _exit(127);
    }
  }
  void Kill() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
      pid_ = -1;
    }
  }
  // Returns when it stands still.
  void Pause() {
    kill(pid_, SIGSTOP);
    waitpid(pid_, nullptr, WUNTRACED);
  }
  void Resume() { kill(pid_, SIGCONT); }

  // Until `store` answers; false after half a minute.
  static bool Await(Store& store) {
    for (int i = 0; i < 300; ++i) {
      const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(1);
      if (store.List({.prefix = "ready"}, deadline).ok()) {
        return true;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return false;
  }

 private:
  static int FreePort(int other_than = 0) {
    for (;;) {
      const int fd = socket(AF_INET, SOCK_STREAM, 0);
      sockaddr_in address = {};
      address.sin_family = AF_INET;
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      socklen_t size = sizeof address;
      const bool bound = bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                         getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0;
      close(fd);
      const int port = ntohs(address.sin_port);
      if (bound && port != other_than) {
        return port;
      }
    }
  }

  const std::vector<std::string> options_;
  std::string folder_;
  std::string url_;
  std::string peer_;
  pid_t pid_ = -1;
};

}  // namespace quire::coord
