// SPDX-License-Identifier: Apache-2.0
#include "target.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/error_codes.h"
#include "base/try.h"

namespace quire::bench {
namespace {

constexpr const char* kThisProgram = "/proc/self/exe";

// In the child.
[[noreturn]] void RunServer(const std::string& tool, const std::string& folder,
                            const std::vector<std::string>& options) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int log = open((folder + "/log").c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600);
  dup2(log, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  const std::string data = folder + "/data";
  std::vector<std::string> arguments = {tool, "serve", "--port", "0"};
  if (std::find(options.begin(), options.end(), "--ephemeral") == options.end()) {
    arguments.insert(arguments.end(), {"--dbpath", data});
  }
  arguments.insert(arguments.end(), options.begin(), options.end());
  std::vector<char*> argv;
  for (std::string& argument : arguments) {
    argv.push_back(argument.data());
  }
  argv.push_back(nullptr);
  execv(tool.c_str(), argv.data());
  _exit(127);
}

struct NameAndAddress {
  std::string name;
  std::string address;
};

// An address may hold a '=', too, behind its '?'.
NameAndAddress Split(const std::string& text) {
  const size_t equals = text.substr(0, text.find("://")).find('=');
  return equals == std::string::npos
             ? NameAndAddress{"server", text}
             : NameAndAddress{text.substr(0, equals), text.substr(equals + 1)};
}

bool IsServe(const std::string& address) {
  return address == "serve" || address.starts_with("serve:");
}

}  // namespace

Result<std::unique_ptr<ServerProcess>> ServerProcess::Start(
    const std::string& tool, const std::vector<std::string>& options) {
  std::unique_ptr<ServerProcess> server(new ServerProcess);
  server->folder_ = (std::filesystem::temp_directory_path() / "quire-bench-XXXXXX").string();
  if (mkdtemp(server->folder_.data()) == nullptr) {
    return Status(kInternalError, "cannot make a temporary folder");
  }
  std::filesystem::create_directory(server->folder_ + "/data");
  server->pid_ = fork();
  if (server->pid_ == 0) {
    RunServer(tool, server->folder_, options);
  }
  RETURN_IF_ERROR(server->AwaitAddress());
  return server;
}

ServerProcess::~ServerProcess() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  if (!folder_.empty()) {
    std::filesystem::remove_all(folder_);
  }
}

Status ServerProcess::AwaitAddress() {
  // The log tells the port: `... address="127.0.0.1:40123"`.
  constexpr std::string_view kBefore = "address=\"127.0.0.1:";
  for (int i = 0; i < 3000; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const bool ended = waitpid(pid_, nullptr, WNOHANG) == pid_;
    std::stringstream text;
    text << std::ifstream(folder_ + "/log").rdbuf();
    const std::string log = text.str();
    const size_t at = log.find(kBefore);
    if (at != std::string::npos && log.find("Waiting for connections") != std::string::npos) {
      const size_t port = at + kBefore.size();
      uri_ = "mongodb://127.0.0.1:" + log.substr(port, log.find('"', port) - port) +
             "/?directConnection=true";
      return Status::Ok();
    }
    if (ended) {
      pid_ = 0;
      return {kInternalError, "the server did not start:\n" + log};
    }
  }
  return {kInternalError, "the server does not answer"};
}

Status CheckTarget(const std::string& text) {
  const std::string address = Split(text).address;
  return IsServe(address) || address.starts_with("mongodb://") ||
                 address.starts_with("mongodb+srv://")
             ? Status::Ok()
             : Status(kBadValue, "'" + text + "' is no mongodb:// address, serve or serve:PROGRAM");
}

Result<Target> OpenTarget(const std::string& text, const std::vector<std::string>& serve_options) {
  RETURN_IF_ERROR(CheckTarget(text));
  Target target;
  const auto [name, address] = Split(text);
  target.name = name;
  if (IsServe(address)) {
    const std::string tool = address == "serve" ? kThisProgram : address.substr(6);
    ASSIGN_OR_RETURN(target.process, ServerProcess::Start(tool, serve_options));
    target.uri = target.process->uri();
  } else {
    target.uri = address;
  }
  return target;
}

Result<Client> Connect(const Target& target) {
  Client client(mongoc_client_new(target.uri.c_str()));
  if (!client) {
    return Status(kBadValue, "not a mongodb:// address: " + target.uri);
  }
  mongoc_client_set_error_api(client.get(), MONGOC_ERROR_API_VERSION_2);
  return client;
}

int64_t ResidentMegabytes(mongoc_client_t* client) {
  static const Bson command = FromJson(R"({"serverStatus":1})");
  bson_t reply;
  bson_error_t error;
  int64_t megabytes = -1;
  if (mongoc_client_command_simple(client, "admin", command.get(), nullptr, &reply, &error)) {
    bson_iter_t iter;
    bson_iter_t resident;
    if (bson_iter_init(&iter, &reply) &&
        bson_iter_find_descendant(&iter, "mem.resident", &resident)) {
      megabytes = bson_iter_as_int64(&resident);
    }
  }
  bson_destroy(&reply);
  return megabytes;
}

}  // namespace quire::bench
