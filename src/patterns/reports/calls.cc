// SPDX-License-Identifier: Apache-2.0
//
// The calls of Reports, each in its Work.
#include <utility>

#include "patterns/reports/work.h"

namespace quire::patterns {

Reports::Reports(const Client& client, std::string_view database, ReportsOptions options)
    : work_(std::make_shared<const Work>(client, database, std::move(options))) {}

const std::vector<IndexSpec>& Reports::Indexes() { return Work::Indexes(); }
const std::vector<ShardKeySpec>& Reports::ShardKeys() { return Work::ShardKeys(); }
Status Reports::CreateIndexes() const { return work_->CreateIndexes(); }
Result<std::vector<std::string>> Reports::MissingIndexes() const { return work_->MissingIndexes(); }
Status Reports::LogHit(const Hit& hit) const { return work_->LogHit(hit); }
Status Reports::LogBatch(std::string_view batch, bson::Date made,
                         const std::vector<Hit>& hits) const {
  return work_->LogBatch(batch, made, hits);
}
Status Reports::Preallocate(bson::Date day, std::string_view site, std::string_view page) const {
  return work_->Preallocate(day, site, page);
}
Result<std::vector<ReportPoint>> Reports::Series(std::string_view site, std::string_view page,
                                                 bson::Date from, bson::Date to,
                                                 Level level) const {
  return work_->Series(site, page, from, to, level);
}
Status Reports::RebuildMonth(bson::Date month, std::string_view site, std::string_view page) const {
  return work_->RebuildMonth(month, site, page);
}
Result<std::vector<std::string>> Reports::CheckInvariants() const {
  return work_->CheckInvariants();
}

}  // namespace quire::patterns
