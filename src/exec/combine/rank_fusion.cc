// SPDX-License-Identifier: Apache-2.0
#include "exec/combine/rank_fusion.h"

#include "base/try.h"
#include "bson/compare.h"
#include "bson/number.h"
#include "bson/ordered.h"

namespace quire::exec {

namespace {

constexpr double kRankConstant = 60;

constexpr std::string_view kDescription =
    "value output by reciprocal rank fusion algorithm, computed as sum of (weight * (1 / (60 + "
    "rank))) across input pipelines from which this document is output, from:";

void AppendKey(const bson::Value& value, bson::Direction direction, std::string* key) {
  bson::AppendOrdered(value.missing() ? bson::Value::Null() : value, direction, nullptr, key,
                      nullptr);
}

}  // namespace

RankFusion::RankFusion(std::unique_ptr<Operator> input, RankFusionOptions options)
    : Unary(std::move(input)), options_(std::move(options)) {}

Status RankFusion::ReadSource(OpContext& op, Operator& rows) {
  const expr::SortPattern* order = options_.sources[source_].order;
  Row row;
  std::string key;
  for (;; ++position_) {
    RETURN_IF_ERROR(op.CheckInterrupt());
    ASSIGN_OR_RETURN(bool more, rows.Next(op, &row));
    if (!more) {
      return Status::Ok();
    }
    key.clear();
    if (order != nullptr) {
      RETURN_IF_ERROR(order->AppendKey(row.document, &row.meta, *options_.context, &key));
    } else {
      AppendKey(bson::Value(row.meta.geo_distance), bson::Direction::kAscending, &key);
    }
    if (position_ == 1 || key != last_key_) {
      rank_ = position_;
      last_key_ = key;
    }
    bson::Builder ranked;
    ranked.Append("d", row.document).Append("i", static_cast<int32_t>(source_)).Append("r", rank_);
    bson::Document document = ranked.Finish();
    Row kept;
    kept.document = document;
    key.clear();
    AppendKey(row.document["_id"], bson::Direction::kAscending, &key);
    RETURN_IF_ERROR(by_id_->Add(key, kept));
  }
}

double RankFusion::ScoreOf(const std::vector<int64_t>& ranks) const {
  double score = 0;
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] > 0) {
      score += 1 / (static_cast<double>(ranks[i]) + kRankConstant) * options_.sources[i].weight;
    }
  }
  return score;
}

Status RankFusion::AddScored(const Found& found) {
  double score = ScoreOf(found.ranks);
  bson::Builder scored;
  scored.Append("d", found.document.view()).Append("s", score).BeginArray("r");
  for (int64_t rank : found.ranks) {
    scored.Push(bson::Value(rank));
  }
  scored.End();
  bson::Document document = scored.Finish();
  Row row;
  row.document = document;
  std::string key;
  AppendKey(bson::Value(score), bson::Direction::kDescending, &key);
  AppendKey(found.document["_id"], bson::Direction::kAscending, &key);
  return by_score_->Add(key, row);
}

Status RankFusion::Merge(OpContext& op) {
  Found found;
  Row row;
  while (true) {
    RETURN_IF_ERROR(op.CheckInterrupt());
    ASSIGN_OR_RETURN(bool more, by_id_->Next(&row));
    bson::View document = more ? row.document["d"].AsDocument() : bson::View();
    bool same =
        more && !found.ranks.empty() && bson::Compare(found.document["_id"], document["_id"]) == 0;
    if (!same && !found.ranks.empty()) {
      RETURN_IF_ERROR(AddScored(found));
    }
    if (!more) {
      return Status::Ok();
    }
    if (!same) {
      found.document = bson::Document(document);
      found.ranks.assign(options_.sources.size(), 0);
    }
    found.ranks[static_cast<size_t>(row.document["i"].AsInt32())] = row.document["r"].AsInt64();
  }
}

Status RankFusion::ReadAll(OpContext& op) {
  if (by_id_ == nullptr) {
    SorterOptions sorting;
    sorting.memory_limit = op.memory_limit;
    sorting.allow_disk = options_.allow_disk;
    by_id_ = std::make_unique<Sorter>(sorting);
    by_score_ = std::make_unique<Sorter>(sorting);
  }
  for (; source_ < options_.sources.size(); ++source_) {
    const SourceFactory& open = options_.sources[source_].open;
    if (open != nullptr && rows_ == nullptr) {
      ASSIGN_OR_RETURN(rows_, open(op));
    }
    RETURN_IF_ERROR(ReadSource(op, open == nullptr ? *input_ : *rows_));
    rows_.reset();
    position_ = 1;
  }
  RETURN_IF_ERROR(by_id_->Finish());
  RETURN_IF_ERROR(Merge(op));
  counters_.spills = by_id_->spills();
  counters_.memory = by_id_->peak_memory();
  by_id_.reset();
  RETURN_IF_ERROR(by_score_->Finish());
  counters_.spills += by_score_->spills();
  counters_.memory = std::max(counters_.memory, by_score_->peak_memory());
  return Status::Ok();
}

bson::Document RankFusion::DetailsOf(double score, bson::View ranks) const {
  bson::Builder out;
  out.Append("value", score).Append("description", kDescription).BeginArray("details");
  size_t i = 0;
  for (const bson::Element& e : ranks) {
    const RankedSource& source = options_.sources[i++];
    int64_t rank = e.value().AsInt64();
    out.PushDocument().Append("inputPipelineName", source.name);
    if (rank > 0) {
      out.Append("rank", bson::NarrowInt(rank))
          .Append("weight", source.weight)
          .BeginArray("details")
          .End();
    } else {
      out.Append("rank", "NA");
    }
    out.End();
  }
  out.End();
  return out.Finish();
}

Result<bool> RankFusion::Produce(OpContext& op, Row* row) {
  if (!read_) {
    RETURN_IF_ERROR(ReadAll(op));
    read_ = true;
  }
  Row scored;
  ASSIGN_OR_RETURN(bool more, by_score_->Next(&scored));
  if (!more) {
    return false;
  }
  *row = Row();
  row->document = scored.document["d"].AsDocument();
  row->meta.has_score = true;
  row->meta.score = scored.document["s"].AsDouble();
  if (options_.details) {
    details_ = DetailsOf(row->meta.score, scored.document["r"].AsArray());
    row->meta.score_details = bson::Value(details_.view());
  }
  return true;
}

}  // namespace quire::exec
