// SPDX-License-Identifier: Apache-2.0
#include "base/current_op.h"

namespace quire {

namespace {
thread_local OpContext* current = nullptr;
}  // namespace

OpContext* CurrentOp() { return current; }

Status CheckCurrentOp() { return current == nullptr ? Status::Ok() : current->CheckInterrupt(); }

Status CheckCurrentOpNow() {
  return current == nullptr ? Status::Ok() : current->CheckInterruptNow();
}

CurrentOpScope::CurrentOpScope(OpContext* op) : outer_(current) { current = op; }

CurrentOpScope::~CurrentOpScope() { current = outer_; }

}  // namespace quire
