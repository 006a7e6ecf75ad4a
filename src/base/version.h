// SPDX-License-Identifier: Apache-2.0
//
// The versions the program reports.
#pragma once

#include <string_view>

namespace quire {

// Of Quire itself.
constexpr std::string_view kVersion = "0.1.0";

// The MongoDB release whose behaviour is followed: buildInfo's version, which drivers and tools
// choose features by.
constexpr std::string_view kMongoVersion = "8.0.15";
constexpr int kMongoVersionParts[4] = {8, 0, 15, 0};
constexpr std::string_view kFeatureCompatibilityVersion = "8.0";
constexpr std::string_view kLastFeatureCompatibilityVersion = "7.0";
constexpr int kMinWireVersion = 0;
constexpr int kMaxWireVersion = 25;

}  // namespace quire
