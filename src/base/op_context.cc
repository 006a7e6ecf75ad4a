// SPDX-License-Identifier: Apache-2.0
#include "base/op_context.h"

#include "base/error_codes.h"

namespace quire {

void OpContext::Kill(int code) {
  int expected = 0;
  kill_code_.compare_exchange_strong(expected, code);
}

Status OpContext::CheckInterruptNow() const {
  if (int code = kill_code_.load(std::memory_order_relaxed); code != 0) {
    return {code, code == kExceededMemoryLimit
                      ? "operation was ended: it holds too much memory for what the server has"
                      : "operation was interrupted"};
  }
  if (has_deadline() && Clock::now() >= deadline_) {
    return {kMaxTimeMSExpired, "operation exceeded time limit"};
  }
  return Status::Ok();
}

}  // namespace quire
