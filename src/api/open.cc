// SPDX-License-Identifier: Apache-2.0
#include "kv/open.h"

#include <memory>
#include <string>
#include <utility>

#include "api/access.h"
#include "api/door.h"
#include "base/try.h"
#include "command/command.h"
#include "engine/engine.h"
#include "quire/quire.h"
#include "remote/remote.h"
#include "store/layout.h"

namespace quire {

Result<Client> Open(const OpenOptions& options) {
  ASSIGN_OR_RETURN(
      auto store, kv::Open("rocks:" + options.path,
                           {.cache_bytes = options.cache_bytes, .sections = store::KeySections()}));
  engine::EngineOptions engine_options;
  engine_options.log_bytes = engine::LogBytes(options.change_log_bytes, options.path.empty());
  ASSIGN_OR_RETURN(std::shared_ptr<engine::Engine> engine,
                   engine::Engine::Open(std::move(store), engine_options));
  command::ServerInfo info;
  info.data_path = options.path;
  auto commands = std::make_unique<command::Commands>(engine.get(), std::move(info));
  return api::Access::MakeClient(
      std::make_shared<api::Door>(std::move(commands), std::move(engine)));
}

Result<Client> Open(std::string_view path) { return Open(OpenOptions{.path = std::string(path)}); }

Result<Client> OpenInMemory() { return Open(OpenOptions{}); }

Result<Client> Connect(std::string_view uri) {
  ASSIGN_OR_RETURN(auto server, remote::Connect(std::string(uri)));
  Client client = api::Access::MakeClient(std::make_shared<api::Door>(std::move(server)));
  RETURN_IF_ERROR(client.GetDatabase("admin").RunCommand(Doc("ping", 1)).status());
  return client;
}

}  // namespace quire
