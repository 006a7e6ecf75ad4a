// SPDX-License-Identifier: Apache-2.0
//
// What tests of systems have in common beside their world.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "patterns/testing/world.h"

namespace quire::patterns {

// A test that runs in both places, with a world of its own. QUIRE_IN_BOTH_PLACES(suite) after the
// tests makes them run.
class BothPlaces : public ::testing::TestWithParam<Place> {
 protected:
  World world_{GetParam()};
};

#define QUIRE_IN_BOTH_PLACES(suite)                                                            \
  INSTANTIATE_TEST_SUITE_P(Places, suite, ::testing::Values(Place::kEmbedded, Place::kServed), \
                           [](const auto& place) { return PlaceName(place.param); })

// Whether crash cases repeat their calls with a key. With a key a call passes all points of the one
// without, and more: through an address that is enough.
inline std::vector<bool> KeyedAt(Place place) {
  return place == Place::kServed ? std::vector<bool>{true} : std::vector<bool>{false, true};
}

// For calls whose repeat succeeds.
inline void ExpectOk(const Status& status) { EXPECT_TRUE(status.ok()) << status.ToString(); }

// Every field of a document and its type.
inline std::string JsonOf(const bson::Document& document) {
  return bson::ToCanonicalJson(document);
}

// What a system's CheckInvariants found: nothing.
inline void ExpectNothingWrong(const Result<std::vector<std::string>>& wrong) {
  ASSERT_TRUE(wrong.ok()) << wrong.status().ToString();
  EXPECT_TRUE(wrong->empty()) << wrong->front();
}

// Runs the jobs, one after the other, until none changes anything.
inline void RunUntilQuiet(std::initializer_list<std::function<Result<JobReport>()>> jobs) {
  for (int i = 0; i < 10; ++i) {
    int64_t changed = 0;
    for (const auto& job : jobs) {
      Result<JobReport> report = job();
      ASSERT_TRUE(report.ok()) << report.status().ToString();
      changed += report->changed + report->errors;
    }
    if (changed == 0) {
      return;
    }
  }
  FAIL() << "the jobs never end";
}

}  // namespace quire::patterns
