// SPDX-License-Identifier: Apache-2.0
//
// The servers that are measured: addresses, or servers of our own in folders that go with them.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "quire/status.h"
#include "workload.h"

namespace quire::bench {

// `quire serve` on a free port of 127.0.0.1, ended with the object.
class ServerProcess {
 public:
  // `tool`: the program; `options`: further ones of serve. Error: InternalError with what the
  // server said when it does not start.
  static Result<std::unique_ptr<ServerProcess>> Start(const std::string& tool,
                                                      const std::vector<std::string>& options);
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  const std::string& uri() const { return uri_; }

 private:
  ServerProcess() = default;
  Status AwaitAddress();

  std::string folder_;
  std::string uri_;
  pid_t pid_ = 0;
};

struct Target {
  std::string name;
  std::string uri;
  std::unique_ptr<ServerProcess> process;  // null for a server that was there before
};

// Whether the text is one that OpenTarget takes. Error: BadValue.
Status CheckTarget(const std::string& text);

// From "NAME=ADDRESS" or "ADDRESS" (its name is then "server"); an address is mongodb://..., or
// `serve`, or `serve:PATH` with another quire program. Errors: those of CheckTarget, InternalError.
Result<Target> OpenTarget(const std::string& text, const std::vector<std::string>& serve_options);

// Error: BadValue for what is no address.
Result<Client> Connect(const Target& target);
// What the server says it holds of memory; -1 when it does not say.
int64_t ResidentMegabytes(mongoc_client_t* client);

}  // namespace quire::bench
