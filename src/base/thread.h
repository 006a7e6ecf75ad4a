// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <thread>

#include "quire/status.h"

namespace quire {

// A thread that does `run`. Error: InternalError where the system refuses one more, which ends the
// process when std::thread is left to say so.
Result<std::thread> StartThread(std::function<void()> run);

}  // namespace quire
