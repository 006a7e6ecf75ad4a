// SPDX-License-Identifier: Apache-2.0
//
// Values as commands read and write them.
#pragma once

#include "request/fields.h"
#include "request/reply.h"
#include "run/wall_clock.h"

namespace quire::command {

using request::AppendCount;
using request::Truthy;
using run::WallClock;

}  // namespace quire::command
