// SPDX-License-Identifier: Apache-2.0
//
// What large lines and polygons are to each other: S2's answers, in steps between which the
// operation may end. Then the answer is "no" and means nothing.
#pragma once

#include <s2/s2polygon.h>
#include <s2/s2polyline.h>

namespace quire::expr::geo {

bool Meet(const S2Polyline& a, const S2Polyline& b);
bool Meet(const S2Polygon& a, const S2Polyline& b);
bool Meet(const S2Polygon& a, const S2Polygon& b);

// `b` lies within `a`.
inline bool Holds(const S2Polygon& a, const S2Point& b) { return a.Contains(b); }
bool Holds(const S2Polygon& a, const S2Polyline& b);
bool Holds(const S2Polygon& a, const S2Polygon& b);

// What these do with large shapes; S2 itself is asked about others.
namespace in_steps {
bool Meet(const S2Polyline& a, const S2Polyline& b);
bool Meet(const S2Polygon& a, const S2Polyline& b);
bool Meet(const S2Polygon& a, const S2Polygon& b);
bool Holds(const S2Polygon& a, const S2Polyline& b);
bool Holds(const S2Polygon& a, const S2Polygon& b);
}  // namespace in_steps

}  // namespace quire::expr::geo
