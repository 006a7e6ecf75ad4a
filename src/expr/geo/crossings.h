// SPDX-License-Identifier: Apache-2.0
//
// Whether the rings of a polygon are those of one: S2's own answers, in steps between which the
// operation may end. S2 compares all pairs of long edges that lie together, and all pairs of rings.
#pragma once

#include <s2/s2loop.h>
#include <s2/s2polygon.h>

#include <memory>
#include <vector>

#include "quire/status.h"

namespace quire::expr::geo {

using Loops = std::vector<std::unique_ptr<S2Loop>>;

// The edges of the ring do not cross or touch each other. BadValue, or why the operation must stop.
Status CheckRing(const S2Loop& ring);

// The other rings are holes in the first: they lie within it, do not cross and are not within each
// other. Errors as above. REQUIRES: CheckRing of each.
Status CheckHoles(const Loops& rings);

// The polygon of an outer ring and its holes; null when S2 refuses it. REQUIRES: CheckHoles.
std::unique_ptr<S2Polygon> PolygonOf(Loops rings);

}  // namespace quire::expr::geo
