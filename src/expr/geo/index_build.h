// SPDX-License-Identifier: Apache-2.0
//
// Builds S2's indexes of edges so that the operation may end in between: half a million edges take
// S2 most of a second. Private to expr/geo.
#pragma once

#include <s2/mutable_s2shape_index.h>
#include <s2/s2polygon.h>

#include "quire/status.h"

namespace quire::expr::geo {

// Applies all that was added to the index. Why the operation must stop, and then the index is of no
// use.
Status BuildIndex(MutableS2ShapeIndex* index);

// Builds the polygon's own index now if that takes long, which is at its first use otherwise.
// Errors as above.
Status BuildLargeIndex(S2Polygon* polygon);

}  // namespace quire::expr::geo
