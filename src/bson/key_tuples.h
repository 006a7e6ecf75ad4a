// SPDX-License-Identifier: Apache-2.0
//
// What an index or a sort over several paths sees in a document: one tuple of values, or one per
// element where the paths meet an array.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "bson/path.h"
#include "quire/bson.h"
#include "quire/status.h"

namespace quire::bson {

// Calls `visit` with each tuple: a value per path, null where there is none. `nothing` tells that
// no path reached a value (a sparse index leaves that tuple out).
//
// MongoDB's rules: an array at the end of a path gives its elements (an empty one undefined), an
// array on the way its documents; arrays directly within arrays are not entered; all arrays met at
// one step must be the same array, else CannotIndexParallelArrays. A numeric part names an array's
// element; when documents in the array have a field of that name too the meaning is not clear:
// error 16746. Tuples may repeat.
//
// *array_steps receives a bit for each step of a path at which an array was met, numbered through
// all paths in order (63 and all after it share the last bit); an array of which the path names one
// element does not count.
Status ForEachKeyTuple(const std::vector<FieldPath>& paths, View document, uint64_t* array_steps,
                       const std::function<void(std::span<const Value>, bool nothing)>& visit);

}  // namespace quire::bson
