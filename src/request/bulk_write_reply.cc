// SPDX-License-Identifier: Apache-2.0
#include "request/bulk_write_reply.h"

#include "base/error_codes.h"
#include "request/reply.h"
#include "request/write_reply.h"

namespace quire::request {

using Kind = BulkOperation::Kind;

Result<BulkItem> BulkItem::Read(const bson::Argument& item, Kind kind) {
  const bson::View fields = item;
  if (!fields["idx"].is_number() || !fields["ok"].is_number() || !fields["n"].is_number()) {
    return Status(kProtocolError, "an item of a bulkWrite's reply has no valid 'ok', 'idx' or 'n'");
  }
  BulkItem out;
  out.index = static_cast<int32_t>(CountIn(fields["idx"]));
  out.kind = kind;
  if (CountIn(fields["ok"]) != 1) {
    out.status = ErrorIn(fields, {"ok", "idx", "code", "errmsg", "n", "nModified", "upserted"});
  }
  out.n = CountIn(fields["n"]);
  out.modified = CountIn(fields["nModified"]);
  if (const bson::Value upserted = fields["upserted"]; upserted.is_document()) {
    out.upserted = bson::OwnedValue(upserted.AsDocument()["_id"]);
  }
  return out;
}

bson::Document BulkItem::Write() const {
  bson::Builder out;
  out.Append("ok", status.ok() ? 1.0 : 0.0).Append("idx", index);
  if (!status.ok()) {
    out.Append("code", static_cast<int32_t>(status.code())).Append("errmsg", status.message());
    if (!status.extra().empty()) {
      out.AppendFields(bson::View(status.extra().data()));
    }
  }
  AppendCount(&out, "n", n);
  if (kind == Kind::kUpdate) {
    AppendCount(&out, "nModified", modified);
  }
  if (upserted) {
    out.BeginDocument("upserted").Append("_id", upserted->value()).End();
  }
  return out.Finish();
}

void BulkWriteReply::AppendTo(bson::Builder* reply) const {
  int64_t errors = 0;
  int64_t inserted = 0;
  int64_t matched = 0;
  int64_t modified = 0;
  int64_t upserted = 0;
  int64_t deleted = 0;
  for (const BulkItem& item : items) {
    errors += item.status.ok() ? 0 : 1;
    inserted += item.kind == Kind::kInsert ? item.n : 0;
    deleted += item.kind == Kind::kDelete ? item.n : 0;
    matched += item.kind == Kind::kUpdate && !item.upserted ? item.n : 0;
    modified += item.modified;
    upserted += item.upserted ? 1 : 0;
  }
  AppendCount(reply, "nErrors", errors);
  AppendCount(reply, "nInserted", inserted);
  AppendCount(reply, "nMatched", matched);
  AppendCount(reply, "nModified", modified);
  AppendCount(reply, "nUpserted", upserted);
  AppendCount(reply, "nDeleted", deleted);
  AppendRetried(retried, reply);
}

}  // namespace quire::request
