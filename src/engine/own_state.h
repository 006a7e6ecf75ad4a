// SPDX-License-Identifier: Apache-2.0
//
// What is a node's own, and not its set's. How large the change log may get: as the options say,
// until replSetResizeOplog says otherwise (Engine::log_bytes).
#pragma once

#include <cstdint>

#include "engine/engine.h"
#include "quire/status.h"

namespace quire::engine {

// From now on, and after the next start. Durable when it returns.
Status KeepLogSize(Engine& engine, uint64_t bytes);
// The node's folder is a copy of another member's: drops what was that member's own, the database
// `local` and the size of its log. Durable when it returns.
Status ForgetSource(Engine& engine);

}  // namespace quire::engine
