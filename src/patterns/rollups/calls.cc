// SPDX-License-Identifier: Apache-2.0
//
// The calls of Rollups, each in its Work.
#include <utility>

#include "patterns/rollups/work.h"

namespace quire::patterns {

Rollups::Rollups(const Client& client, std::string_view database, RollupsOptions options)
    : work_(std::make_shared<const Work>(client, database, std::move(options))) {}

const std::vector<IndexSpec>& Rollups::Indexes() { return Work::Indexes(); }
const std::vector<ShardKeySpec>& Rollups::ShardKeys() { return Work::ShardKeys(); }
Status Rollups::CreateIndexes() const { return work_->CreateIndexes(); }
Result<std::vector<std::string>> Rollups::MissingIndexes() const { return work_->MissingIndexes(); }
Status Rollups::Record(const RollupEvent& event, const CallKey& key) const {
  return work_->Record(event, key);
}
Result<int64_t> Rollups::ReserveIds(std::string_view sequence, int64_t k,
                                    const CallKey& key) const {
  return work_->ReserveIds(sequence, k, key);
}
Result<JobReport> Rollups::PurgeKeys(std::chrono::milliseconds retention) const {
  return work_->PurgeKeys(retention);
}
Result<JobReport> Rollups::Run() const { return work_->Run(); }
Result<JobReport> Rollups::Close(bson::Date before) const { return work_->Close(before); }
Result<JobReport> Rollups::Repair(bson::Date from, bson::Date to) const {
  return work_->Repair(from, to);
}
Result<std::vector<RollupValue>> Rollups::Query(std::string_view user, Level level, bson::Date from,
                                                bson::Date to) const {
  return work_->Query(user, level, from, to);
}
Result<std::vector<std::string>> Rollups::CheckInvariants() const {
  return work_->CheckInvariants();
}

}  // namespace quire::patterns
