// SPDX-License-Identifier: Apache-2.0
//
// Fail points that others than the dispatcher ask for (FailPoints::Holds).
#pragma once

#include <string_view>

namespace quire::run {

// While it is on, a member of a replica set loses what its primary sends of the log.
inline constexpr std::string_view kLoseLogPoint = "stopReplProducer";
// While it is on, a member applies nothing of what is committed.
inline constexpr std::string_view kApplyNothingPoint = "rsSyncApplyStop";

}  // namespace quire::run
