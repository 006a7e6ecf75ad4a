// SPDX-License-Identifier: Apache-2.0
//
// Which members of a replica set may answer a read.
#pragma once

#include <cstdint>

#include "quire/bson.h"

namespace quire::patterns {

enum class ReadFrom { kPrimary, kPrimaryPreferred, kSecondary, kSecondaryPreferred, kNearest };

struct ReadPreference {
  ReadFrom from = ReadFrom::kPrimary;
  int64_t max_staleness_seconds = 0;  // at least 90; 0: any
};

// As the fields a command carries for it ({$readPreference: {mode...}}); none for the default.
bson::Document ToFields(const ReadPreference& preference);

}  // namespace quire::patterns
