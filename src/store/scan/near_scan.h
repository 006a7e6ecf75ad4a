// SPDX-License-Identifier: Apache-2.0
//
// GEO_NEAR_2DSPHERE and GEO_NEAR_2D: documents in the order of their distance, read from a geo
// index in rings that grow around the point.
#pragma once

#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <unordered_set>
#include <vector>

#include "exec/operator.h"
#include "expr/geo/cells.h"
#include "expr/match/geo.h"
#include "expr/match/match.h"
#include "store/catalog.h"
#include "store/scan/index_scan.h"
#include "store/transaction.h"

namespace quire::store {

struct NearScanOptions {
  CollectionPtr collection;
  const IndexInfo* index = nullptr;
  KeyBounds bounds;     // of all parts; those of the location are put in ring by ring
  size_t geo_part = 0;  // the part with the location
  const expr::match::GeoNearNode* near = nullptr;
  // Asked of the documents; may be null.
  const expr::match::Filter* filter = nullptr;
};

// One ring, for explain. Distances are in the query's unit.
struct NearRing {
  double min = 0;
  double max = 0;
  bool last = false;
  std::vector<expr::geo::KeyRange> ranges;  // what was read for it
  uint64_t buffered = 0;
  uint64_t returned = 0;
  exec::Counters scan;
  uint64_t docs_examined = 0;
};

// Rows carry the distance and the location it was measured to. What the options point to outlives
// it.
class NearScan final : public exec::SteppedOperator {
 public:
  NearScan(Transaction* txn, NearScanOptions options);
  const std::vector<NearRing>& rings() const { return rings_; }

 protected:
  Result<exec::Step> DoWork(OpContext& op, exec::Row* row) override;

 private:
  struct Found {
    double distance;
    RecordId id;
    friend bool operator>(const Found& a, const Found& b) {
      return std::tie(a.distance, a.id) > std::tie(b.distance, b.id);
    }
  };

  void OpenRing();
  std::vector<expr::geo::KeyRange> Cover(double min, double max) const;
  Result<exec::Step> ReadRing(OpContext& op, exec::Row* row);
  Status Take(RecordId id);
  Result<exec::Step> GiveNearest(exec::Row* row);

  Transaction* txn_;
  NearScanOptions options_;
  expr::match::Path path_;
  double furthest_;   // no document is further away
  double width_ = 0;  // of the next ring
  std::vector<expr::geo::KeyRange> read_;
  std::vector<NearRing> rings_;
  std::unique_ptr<IndexScan> scan_;
  std::unordered_set<RecordId> seen_;
  std::priority_queue<Found, std::vector<Found>, std::greater<>> found_;
  kv::ReadValue value_;
};

}  // namespace quire::store
