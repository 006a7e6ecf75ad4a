// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/read_preference.h"

#include "patterns/doc.h"

namespace quire::patterns {

bson::Document ToFields(const ReadPreference& preference) {
  static constexpr const char* kModes[] = {"primary", "primaryPreferred", "secondary",
                                           "secondaryPreferred", "nearest"};
  if (preference.from == ReadFrom::kPrimary) {
    return {};
  }
  bson::Builder out;
  out.Append("mode", kModes[static_cast<int>(preference.from)]);
  if (preference.max_staleness_seconds > 0) {
    out.Append("maxStalenessSeconds", preference.max_staleness_seconds);
  }
  return Doc("$readPreference", out.Finish());
}

}  // namespace quire::patterns
