// SPDX-License-Identifier: Apache-2.0
//
// The accumulator of mapReduce: the values of a key, reduced by a script.
#pragma once

#include <memory>

#include "expr/accumulate/accumulator.h"
#include "js/script.h"

namespace quire::expr {

// Takes the field `v` of each row of the key. Whenever many have come together they are reduced to
// one. A single value is reduced too, as by MongoDB.
std::unique_ptr<Accumulator> MakeReduce(js::Function reduce);

}  // namespace quire::expr
