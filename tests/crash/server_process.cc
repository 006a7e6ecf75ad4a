// SPDX-License-Identifier: Apache-2.0
#include "server_process.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <mongoc/mongoc.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

extern char** environ;

namespace quire::crash {
namespace {

int FreePort() {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  bool ok = bind(fd, reinterpret_cast<sockaddr*>(&address), length) == 0 &&
            getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) == 0;
  close(fd);
  return ok ? ntohs(address.sin_port) : 0;
}

bool Answers(const std::string& uri) {
  mongoc_client_t* client = mongoc_client_new(uri.c_str());
  bson_t ping = BSON_INITIALIZER;
  BSON_APPEND_INT32(&ping, "ping", 1);
  bool ok = mongoc_client_command_simple(client, "admin", &ping, nullptr, nullptr, nullptr);
  bson_destroy(&ping);
  mongoc_client_destroy(client);
  return ok;
}

}  // namespace

ServerProcess::ServerProcess(std::string binary, std::string folder, std::string log)
    : binary_(std::move(binary)), folder_(std::move(folder)), log_(std::move(log)) {}

ServerProcess::~ServerProcess() { Kill(); }

bool ServerProcess::Start() {
  const std::string port = std::to_string(FreePort());
  uri_ = "mongodb://127.0.0.1:" + port +
         "/?retryWrites=false&serverSelectionTimeoutMS=500&socketTimeoutMS=60000";
  std::vector<std::string> words = {binary_, "serve", "--dbpath", folder_, "--port", port};
  std::vector<char*> arguments;
  for (std::string& word : words) {
    arguments.push_back(word.data());
  }
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log_.c_str(),
                                   O_WRONLY | O_CREAT | O_APPEND, 0644);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  int error = posix_spawn(&pid_, binary_.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    pid_ = 0;
    return false;
  }
  for (int i = 0; i < 1000; ++i) {
    if (Answers(uri_)) {
      return true;
    }
    if (waitpid(pid_, nullptr, WNOHANG) == pid_) {
      pid_ = 0;
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

bool ServerProcess::Kill() {
  if (pid_ == 0) {
    return false;
  }
  kill(pid_, SIGKILL);
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = 0;
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

int ServerProcess::Stop() {
  kill(pid_, SIGTERM);
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = 0;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace quire::crash
