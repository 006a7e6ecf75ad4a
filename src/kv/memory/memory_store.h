// SPDX-License-Identifier: Apache-2.0
//
// A Store that lives in this process's memory alone: one tree whose copies are the snapshots.
// Simple on purpose; what it does is what kv.h says, and the conformance suite compares the other
// backends with it. Hints, sections and durability mean nothing to it.
#pragma once

#include <memory>

#include "kv/kv.h"

namespace quire::kv {

std::unique_ptr<Store> NewMemoryStore();

}  // namespace quire::kv
