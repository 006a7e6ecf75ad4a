// SPDX-License-Identifier: Apache-2.0
#include "base/thread.h"

#include <string>
#include <system_error>
#include <utility>

#include "base/error_codes.h"

namespace quire {

Result<std::thread> StartThread(std::function<void()> run) {
  try {
    return std::thread(std::move(run));
  } catch (const std::system_error& error) {
    return Status(kInternalError, std::string("Failed to start a thread: ") + error.what());
  }
}

}  // namespace quire
