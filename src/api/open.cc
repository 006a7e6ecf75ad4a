// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>
#include <utility>

#include "api/embedded.h"
#include "base/try.h"
#include "command/command.h"
#include "engine/engine.h"
#include "kv/rocks/rocks_store.h"
#include "quire/quire.h"

namespace quire {

Result<Client> Open(const OpenOptions& options) {
  kv::RocksOptions storage;
  storage.path = options.path;
  storage.ephemeral = options.path.empty();
  storage.cache_bytes = options.cache_bytes;
  ASSIGN_OR_RETURN(auto store, kv::OpenRocks(storage));
  ASSIGN_OR_RETURN(std::shared_ptr<engine::Engine> engine,
                   engine::Engine::Open(std::move(store), {}));
  command::ServerInfo info;
  info.data_path = options.path;
  auto commands = std::make_unique<command::Commands>(engine.get(), std::move(info));
  return Client(std::make_shared<api::Embedded>(std::move(commands), std::move(engine)));
}

Result<Client> Open(std::string_view path) { return Open(OpenOptions{.path = std::string(path)}); }

Result<Client> OpenInMemory() { return Open(OpenOptions{}); }

}  // namespace quire
