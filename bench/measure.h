// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "results.h"
#include "target.h"
#include "workload.h"

namespace quire::bench {

// Runs the workload on that many connections for some seconds.
Sample Measure(const Target& target, Shared& shared, const Workload& workload, int connections,
               double seconds);

}  // namespace quire::bench
