// SPDX-License-Identifier: Apache-2.0
//
// All of Perf: the calls, and the steps they are made of.
#pragma once

#include <iosfwd>
#include <set>

#include "base/mutex.h"
#include "quire/patterns/lease.h"
#include "quire/patterns/perf.h"

namespace quire::patterns {

class Perf::Work {
 public:
  Work(const Client& client, std::string_view database, PerfOptions options = {});
  static std::vector<IndexSpec> DayIndexes(std::string_view collection);
  static const std::vector<IndexSpec>& Indexes();
  static const std::vector<ShardKeySpec>& ShardKeys();
  Status CreateIndexes() const { return store_.CreateIndexes(Indexes()); }
  Result<std::vector<std::string>> MissingIndexes() const;
  Result<PerfInsertReport> Insert(const PerfSample& sample, const bson::Document& concern = {},
                                  const CallKey& key = std::nullopt) const;
  Result<PerfInsertReport> InsertMany(const std::vector<PerfSample>& samples,
                                      const bson::Document& concern = {},
                                      const CallKey& key = std::nullopt) const;
  Result<Page> ByHost(std::string_view host, bson::Date from, bson::Date to,
                      const PageRequest& page) const;
  Result<Page> ByRange(bson::Date from, bson::Date to, const PageRequest& page) const;
  Result<Page> ByHostAndParameter(std::string_view host, std::string_view parameter,
                                  bson::Date from, bson::Date to, const PageRequest& page) const;
  Result<bson::Document> Latest(std::string_view host) const;
  Result<std::vector<PerfSum>> Aggregate(const PerfGroup& by, bson::Date from, bson::Date to) const;
  Result<std::vector<PerfSum>> Daily(std::string_view host, std::string_view parameter,
                                     bson::Date from, bson::Date to) const;
  Result<std::vector<PerfSum>> Monthly(std::string_view host, std::string_view parameter,
                                       bson::Date from, bson::Date to) const;
  Result<std::vector<IndexTrial>> ExplainOrders(std::string_view host, bson::Date from,
                                                bson::Date to) const;
  Result<JobReport> ScanFolder(const std::string& folder, std::string_view suffix) const;
  Result<JobReport> DropExpired() const;
  Result<JobReport> Rollup() const;
  Result<std::vector<std::string>> CheckInvariants() const;

 private:
  struct Day {
    std::string name;  // "20130522"
    std::string collection;
    bson::Date from;
    bson::Date to;
  };
  static Day DayOf(bson::Date time);
  Result<std::vector<Day>> DaysIn(bson::Date from, bson::Date to) const;
  bool Expired(const Day& day) const;
  Status Prepare(const Day& day) const;
  Result<PerfInsertReport> StoreAll(const std::vector<bson::Document>& samples,
                                    const bson::Document& concern) const;
  Result<PerfInsertReport> StoreDay(const Day& day, const std::vector<bson::Document>& samples,
                                    const bson::Document& concern) const;
  bson::Document Shaped(const bson::Document& sample, const bson::Value& id) const;
  Result<Page> Query(const bson::Document& equality, bson::Date from, bson::Date to,
                     const PageRequest& page) const;
  Result<std::vector<PerfSum>> Stored(const char* collection, const char* unit,
                                      std::string_view host, std::string_view parameter,
                                      bson::Date from, bson::Date to) const;
  Result<std::vector<PerfSum>> SumsIn(const Store& store, const PerfGroup& by, bson::Date from,
                                      bson::Date to) const;
  Result<PerfInsertReport> InsertOnce(const std::vector<PerfSample>& samples,
                                      const bson::Document& concern, const Claim& claim) const;
  Result<JobReport> RollupHeld(Lease* lease, const bson::Document& state) const;
  Result<std::vector<std::string>> Dirty(const bson::Value& last_run) const;
  // How many samples the sums are of.
  Result<int64_t> SumDay(const Day& day, int64_t token, JobReport* report) const;
  Status SumMonth(const std::string& month, int64_t token, JobReport* report) const;
  Status Replace(const char* collection, const bson::Document& sum, int64_t token) const;
  Result<bool> ScanFile(const std::string& path) const;
  Result<bson::Document> Register(const std::string& path, int64_t size) const;
  Result<bool> CheckDay(const Day& day, const bson::Value& last_run,
                        std::vector<std::string>* wrong) const;
  Status CheckMonth(const std::string& month, std::vector<std::string>* wrong) const;
  struct LineBatch;
  Result<bson::Document> SampleOf(const std::string& line) const;
  // The next lines of the file, which `file` tells the place of.
  LineBatch ReadBatch(std::istream* stream, const bson::Document& file) const;
  Result<bson::Document> Record(const std::string& path, const bson::Document& file,
                                const bson::Document& update) const;
  Status ImportClaimed(const std::string& path, const bson::Document& claimed) const;
  Status Finish(const std::string& path, const bson::Document& file) const;

  PerfOptions options_;
  Client client_;
  std::string database_;
  Store store_;
  Idempotency calls_;
  // The days whose indexes exist.
  struct Prepared {
    Mutex mutex;
    std::set<std::string> days QUIRE_GUARDED_BY(mutex);
  };
  mutable Prepared prepared_;
};

}  // namespace quire::patterns
