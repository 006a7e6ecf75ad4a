// SPDX-License-Identifier: Apache-2.0
//
// Sums of samples that can be summed again, and the names of the collections.
#pragma once

#include <limits>
#include <string_view>

#include "quire/patterns/perf.h"

namespace quire::patterns {

inline constexpr char kPerfFiles[] = "import_files";
inline constexpr char kPerfCatalog[] = "perf_catalog";
inline constexpr char kPerfDaily[] = "perf_daily";
inline constexpr char kPerfMonthly[] = "perf_monthly";
inline constexpr bson::Date kPerfEver{std::numeric_limits<int64_t>::min()};
inline constexpr bson::Date kPerfEnd{253'402'300'800'000};  // 10000-01-01: no day has its name
inline constexpr bson::Date kPerfNever{std::numeric_limits<int64_t>::max()};

double NumberAt(bson::View document, std::string_view name);

// A $group of {count, sum, sumsq, min, max} of a field by a key.
bson::Document SumsOver(std::string_view field, const bson::Document& key);

struct PartialSum {
  int64_t count = 0;
  double sum = 0;
  double sumsq = 0;
  double min = 0;
  double max = 0;

  void Add(bson::View part);
  PerfSum Result() const;
};

}  // namespace quire::patterns
