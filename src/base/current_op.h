// SPDX-License-Identifier: Apache-2.0
//
// The operation a thread is running, for the few places that cannot be handed an OpContext: scripts
// called in the middle of a match or an expression.
#pragma once

#include "base/op_context.h"

namespace quire {

// Null when the thread runs none.
OpContext* CurrentOp();

// What CheckInterrupt of the thread's operation says; Ok when it runs none.
Status CheckCurrentOp();
// The same of CheckInterruptNow.
Status CheckCurrentOpNow();

// Makes `op` the thread's operation for the life of this.
class CurrentOpScope {
 public:
  explicit CurrentOpScope(OpContext* op);
  ~CurrentOpScope();
  CurrentOpScope(const CurrentOpScope&) = delete;
  CurrentOpScope& operator=(const CurrentOpScope&) = delete;

 private:
  OpContext* outer_;
};

}  // namespace quire
