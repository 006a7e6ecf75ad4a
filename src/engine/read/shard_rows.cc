// SPDX-License-Identifier: Apache-2.0
#include "engine/read/shard_rows.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/number.h"
#include "bson/ordered.h"
#include "bson/walk/field_walk.h"

namespace quire::engine {

namespace {

constexpr std::string_view kDocument = "d";
constexpr std::string_view kKey = "k";
constexpr std::string_view kMetadata = "m";

void AppendMetadata(const expr::Metadata& meta, bson::Builder* out) {
  out->BeginDocument(kMetadata);
  if (meta.has_text_score) {
    out->Append("textScore", meta.text_score);
  }
  if (meta.has_geo_distance) {
    out->Append("distance", meta.geo_distance);
  }
  if (!meta.geo_point.missing()) {
    out->Append("point", meta.geo_point);
  }
  if (!meta.sort_key.missing()) {
    out->Append("sortKey", meta.sort_key);
  }
  if (!meta.index_key.missing()) {
    out->Append("indexKey", meta.index_key);
  }
  if (meta.has_record_id) {
    out->Append("recordId", meta.record_id);
  }
  if (meta.has_score) {
    out->Append("score", meta.score);
  }
  if (!meta.score_details.missing()) {
    out->Append("scoreDetails", meta.score_details);
  }
  out->End();
}

void ReadMetadata(bson::View sent, expr::Metadata* meta) {
  auto number = [&](std::string_view name, double* out) {
    const bson::Value value = sent[name];
    if (value.type() == bson::Type::kDouble) {
      *out = value.AsDouble();
    }
    return value.type() == bson::Type::kDouble;
  };
  meta->has_text_score = number("textScore", &meta->text_score);
  meta->has_geo_distance = number("distance", &meta->geo_distance);
  meta->has_score = number("score", &meta->score);
  meta->geo_point = sent["point"];
  meta->sort_key = sent["sortKey"];
  meta->index_key = sent["indexKey"];
  meta->score_details = sent["scoreDetails"];
  const bson::Value id = sent["recordId"];
  meta->has_record_id = id.type() == bson::Type::kInt64;
  meta->record_id = meta->has_record_id ? id.AsInt64() : 0;
}

class ShardRows final : public run::RowSource {
 public:
  ShardRows(std::unique_ptr<run::RowSource> source, bool metadata)
      : source_(std::move(source)), metadata_(metadata) {}

  Result<bool> Next(OpContext& op, exec::Row* row) override {
    exec::Row inner;
    ASSIGN_OR_RETURN(const bool more, source_->Next(op, &inner));
    if (more) {
      Wrap(inner);
      row->document = bson::View(sent_.data());
    }
    return more;
  }
  Status Refresh(OpContext& op) override { return source_->Refresh(op); }
  Bell* News() override { return source_->News(); }
  bool HasNews() const override { return source_->HasNews(); }
  bool Pending() const override { return source_->Pending(); }
  void Rest() override { source_->Rest(); }
  bool HoldsSnapshot() const override { return source_->HoldsSnapshot(); }
  void Finish() override { source_->Finish(); }
  Status Check() const override { return source_->Check(); }
  std::string PlanSummary() const override { return source_->PlanSummary(); }
  exec::Counters Totals() const override { return source_->Totals(); }
  bson::Document ResumeToken() const override { return source_->ResumeToken(); }
  bool AtEnd() const override { return source_->AtEnd(); }
  bool Ended() const override { return source_->Ended(); }
  void Returned(bson::View sent) override { source_->Returned(sent[kDocument].AsDocument()); }

 private:
  void Wrap(const exec::Row& inner) {
    sent_.clear();
    bson::Builder out(&sent_);
    out.Append(kDocument, inner.document);
    std::string_view key = inner.sort_key;
    if (key.empty() && inner.meta.has_geo_distance) {  // $near sorts by nothing else
      near_.clear();
      bson::AppendOrdered(bson::Value(inner.meta.geo_distance), bson::Direction::kAscending,
                          nullptr, &near_, nullptr);
      key = near_;
    }
    if (!key.empty()) {
      out.Append(kKey, bson::Value::Binary(key, 0));
    }
    if (metadata_) {
      AppendMetadata(inner.meta, &out);
    }
    out.Close();
  }

  std::unique_ptr<run::RowSource> source_;
  const bool metadata_;
  std::string sent_;
  std::string near_;
};

}  // namespace

Result<ShardRowsWish> ShardRowsWish::Read(bson::View command) {
  ShardRowsWish wish;
  auto is_true = [](const bson::Value& value) {
    return value.type() == bson::Type::kBool && value.AsBool();
  };
  static const bson::FieldName kShardRows("shardRows");
  static const bson::FieldName kPartialGroup("partialGroup");
  for (bson::FieldWalk field(command); field.valid(); field.Next()) {
    if (field.Is(kPartialGroup)) {
      wish.partials = is_true(field.value());
    } else if (field.Is(kShardRows)) {
      const bson::Value rows = field.value();
      if (!rows.is_document()) {
        return Status(kBadValue, "shardRows is a document");
      }
      const bson::View fields = rows.AsDocument();
      wish.given = true;
      wish.metadata = is_true(fields["meta"]);
      wish.rows = wish.metadata || is_true(fields["keys"]);
      if (const bson::Value bytes = fields["bytes"]; bytes.is_number()) {
        wish.most_bytes = static_cast<size_t>(std::max<int64_t>(bson::ClampedInt64(bytes), 0));
      }
    }
  }
  wish.given = wish.given || wish.partials;
  return wish;
}

std::unique_ptr<run::RowSource> MakeShardRows(std::unique_ptr<run::RowSource> source,
                                              bool metadata) {
  return std::make_unique<ShardRows>(std::move(source), metadata);
}

Status ReadShardRow(bson::View sent, exec::Row* row) {
  const bson::Value document = sent[kDocument];
  if (!document.is_document()) {
    return {kInternalError, "A shard's row has no document"};
  }
  *row = exec::Row();
  row->document = document.AsDocument();
  if (const bson::Value key = sent[kKey]; key.type() == bson::Type::kBinary) {
    row->sort_key = key.AsBinary();
  }
  if (const bson::Value meta = sent[kMetadata]; meta.is_document()) {
    ReadMetadata(meta.AsDocument(), &row->meta);
  }
  return Status::Ok();
}

}  // namespace quire::engine
