// SPDX-License-Identifier: Apache-2.0
//
// The calls of Perf, each in its Work.
#include <utility>

#include "patterns/perf/work.h"

namespace quire::patterns {

Perf::Perf(const Client& client, std::string_view database, PerfOptions options)
    : work_(std::make_shared<const Work>(client, database, std::move(options))) {}

std::vector<IndexSpec> Perf::DayIndexes(std::string_view collection) {
  return Work::DayIndexes(collection);
}
const std::vector<IndexSpec>& Perf::Indexes() { return Work::Indexes(); }
const std::vector<ShardKeySpec>& Perf::ShardKeys() { return Work::ShardKeys(); }
Status Perf::CreateIndexes() const { return work_->CreateIndexes(); }
Result<std::vector<std::string>> Perf::MissingIndexes() const { return work_->MissingIndexes(); }
Result<PerfInsertReport> Perf::Insert(const PerfSample& sample, const bson::Document& concern,
                                      const CallKey& key) const {
  return work_->Insert(sample, concern, key);
}
Result<PerfInsertReport> Perf::InsertMany(const std::vector<PerfSample>& samples,
                                          const bson::Document& concern, const CallKey& key) const {
  return work_->InsertMany(samples, concern, key);
}
Result<Page> Perf::ByHost(std::string_view host, bson::Date from, bson::Date to,
                          const PageRequest& page) const {
  return work_->ByHost(host, from, to, page);
}
Result<Page> Perf::ByRange(bson::Date from, bson::Date to, const PageRequest& page) const {
  return work_->ByRange(from, to, page);
}
Result<Page> Perf::ByHostAndParameter(std::string_view host, std::string_view parameter,
                                      bson::Date from, bson::Date to,
                                      const PageRequest& page) const {
  return work_->ByHostAndParameter(host, parameter, from, to, page);
}
Result<bson::Document> Perf::Latest(std::string_view host) const { return work_->Latest(host); }
Result<std::vector<PerfSum>> Perf::Aggregate(const PerfGroup& by, bson::Date from,
                                             bson::Date to) const {
  return work_->Aggregate(by, from, to);
}
Result<std::vector<PerfSum>> Perf::Daily(std::string_view host, std::string_view parameter,
                                         bson::Date from, bson::Date to) const {
  return work_->Daily(host, parameter, from, to);
}
Result<std::vector<PerfSum>> Perf::Monthly(std::string_view host, std::string_view parameter,
                                           bson::Date from, bson::Date to) const {
  return work_->Monthly(host, parameter, from, to);
}
Result<std::vector<IndexTrial>> Perf::ExplainOrders(std::string_view host, bson::Date from,
                                                    bson::Date to) const {
  return work_->ExplainOrders(host, from, to);
}
Result<JobReport> Perf::ScanFolder(const std::string& folder, std::string_view suffix) const {
  return work_->ScanFolder(folder, suffix);
}
Result<JobReport> Perf::DropExpired() const { return work_->DropExpired(); }
Result<JobReport> Perf::Rollup() const { return work_->Rollup(); }
Result<std::vector<std::string>> Perf::CheckInvariants() const { return work_->CheckInvariants(); }

}  // namespace quire::patterns
