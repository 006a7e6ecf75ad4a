// SPDX-License-Identifier: Apache-2.0
//
// All of Reports: the calls, and the steps they are made of.
#pragma once

#include "quire/patterns/reports.h"

namespace quire::patterns {

class Reports::Work {
 public:
  Work(const Client& client, std::string_view database, ReportsOptions options = {});
  static const std::vector<IndexSpec>& Indexes();
  static const std::vector<ShardKeySpec>& ShardKeys();
  Status CreateIndexes() const { return store_.CreateIndexes(Indexes()); }
  Result<std::vector<std::string>> MissingIndexes() const {
    return store_.MissingIndexes(Indexes());
  }
  Status LogHit(const Hit& hit) const;
  Status LogBatch(std::string_view batch, bson::Date made, const std::vector<Hit>& hits) const;
  Status Preallocate(bson::Date day, std::string_view site, std::string_view page) const;
  Result<std::vector<ReportPoint>> Series(std::string_view site, std::string_view page,
                                          bson::Date from, bson::Date to, Level level) const;
  Status RebuildMonth(bson::Date month, std::string_view site, std::string_view page) const;
  Result<std::vector<std::string>> CheckInvariants() const;

 private:
  struct Target;
  bool split() const { return options_.layout == ReportLayout::kSplit; }
  Target TargetOf(bson::Date time, std::string_view site, std::string_view page, bool monthly,
                  int32_t stripe) const;
  std::string MinuteSlot(const CivilTime& at) const;
  std::map<std::string, int64_t> DailyCounts(const Hit& hit) const;
  Status Add(const Target& target, const std::map<std::string, int64_t>& counts,
             std::string_view batch) const;
  bson::Document Zeros(bool monthly, bson::Date date) const;
  Status CheckDay(const bson::Document& day, std::vector<std::string>* wrong) const;
  Result<bson::Document> MonthFromDays(bson::Date start, std::string_view site,
                                       std::string_view page, int32_t stripe) const;

  ReportsOptions options_;
  Store store_;
};

}  // namespace quire::patterns
