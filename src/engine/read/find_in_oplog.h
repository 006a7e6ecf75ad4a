// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "engine/engine.h"
#include "request/crud.h"

namespace quire::engine {

// A find on local.oplog.rs, tailable or not.
Result<std::shared_ptr<run::Cursor>> FindInOplog(const Operation& operation,
                                                 const request::FindRequest& request);

}  // namespace quire::engine
