// SPDX-License-Identifier: Apache-2.0
#include "request/cursor_reply.h"

#include <string>

#include "base/error_codes.h"

namespace quire::request {

namespace {

Status Malformed(std::string_view what) {
  return {kProtocolError, "a reply has no valid '" + std::string(what) + "'"};
}

bool HoldsDocuments(bson::View batch) {
  for (const bson::Element& element : batch) {
    if (!element.value().is_document()) {
      return false;
    }
  }
  return true;
}

}  // namespace

Result<CursorReply> CursorReply::Read(const bson::Argument& reply) {
  const bson::Value cursor = reply.view()["cursor"];
  if (!cursor.is_document()) {
    return Malformed("cursor");
  }
  CursorReply out;
  bool has_batch = false;
  bool has_id = false;
  bool has_ns = false;
  for (const bson::Element& field : cursor.AsDocument()) {
    const std::string_view name = field.name();
    const bson::Value value = field.value();
    if ((name == "firstBatch" || name == "nextBatch") && value.is_array()) {
      out.batch = value.AsArray();
      has_batch = HoldsDocuments(out.batch);
    } else if (name == "id" && value.type() == bson::Type::kInt64) {
      out.id = value.AsInt64();
      has_id = true;
    } else if (name == "ns" && value.is_string()) {
      out.ns = value.AsString();
      has_ns = true;
    } else if (name == "postBatchResumeToken" && value.is_document()) {
      out.post_batch_resume_token = bson::Document(value.AsDocument());
    } else if (name == "stream" && value.is_document()) {
      out.stream = bson::Document(value.AsDocument());
    } else if (name == "atClusterTime" && value.type() == bson::Type::kTimestamp) {
      out.at_cluster_time = value.AsTimestamp();
    } else if (name == "partialResultsReturned" && value.type() == bson::Type::kBool) {
      out.partial = value.AsBool();
    }
  }
  if (!has_batch || !has_id || !has_ns) {
    return Malformed(!has_batch ? "cursor.firstBatch' or 'nextBatch"
                     : !has_id  ? "cursor.id"
                                : "cursor.ns");
  }
  return out;
}

void CursorReply::Begin(BatchKind kind, bson::Builder* reply) {
  reply->BeginDocument("cursor").BeginArray(kind == BatchKind::kFirst ? "firstBatch" : "nextBatch");
}

void CursorReply::End(bson::Builder* reply) const {
  reply->End();
  if (!post_batch_resume_token.empty()) {
    reply->Append("postBatchResumeToken", post_batch_resume_token);
  }
  if (!stream.empty()) {
    reply->Append("stream", stream);
  }
  if (at_cluster_time) {
    reply->Append("atClusterTime", *at_cluster_time);
  }
  if (partial) {
    reply->Append("partialResultsReturned", true);
  }
  reply->Append("id", id).Append("ns", ns).End();
}

}  // namespace quire::request
