// SPDX-License-Identifier: Apache-2.0
//
// The durability of a write, for those who call the engine and do not know the storage below it.
#pragma once

#include "kv/kv.h"

namespace quire::engine {

using kv::Durability;

}  // namespace quire::engine
