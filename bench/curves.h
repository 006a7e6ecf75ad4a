// SPDX-License-Identifier: Apache-2.0
//
// How the cost of an operation grows with the data: the results of one run for each size.
#pragma once

#include <string>
#include <vector>

#include "results.h"

namespace quire::bench {

// The time of an operation at each size, in microseconds (the median of p50). Of operations that
// read every event it is nanoseconds a document.
struct Curve {
  std::string name;            // workload, connections and, of several targets, which one
  std::vector<double> points;  // in the order of the runs; 0: there is none
  bool per_document = false;
};
// REQUIRES: the runs have the same rows and targets and differ in size.
std::vector<Curve> CurvesOf(const std::vector<Results>& runs);

// A column for each size, and the greatest figure as a multiple of the least.
std::string CurveTable(const std::vector<Results>& runs);
// Lines over both axes in decades.
std::string CurveSvg(const std::vector<Results>& runs);

}  // namespace quire::bench
