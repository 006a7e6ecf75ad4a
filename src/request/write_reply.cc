// SPDX-License-Identifier: Apache-2.0
#include "request/write_reply.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "base/error_codes.h"
#include "base/try.h"
#include "request/reply.h"

namespace quire::request {

namespace {

Status Malformed(std::string_view field) {
  return {kProtocolError, "the reply to a write has no valid '" + std::string(field) + "'"};
}

// Calls `take(document)` with each document of the array at `name`, if there is one.
template <typename F>
Status ForEach(bson::View reply, std::string_view name, F take) {
  const bson::Value list = reply[name];
  if (list.missing()) {
    return Status::Ok();
  }
  if (!list.is_array()) {
    return Malformed(name);
  }
  for (const bson::Element& element : list.AsArray()) {
    if (!element.value().is_document() || !element.value().AsDocument()["index"].is_number()) {
      return Malformed(name);
    }
    take(element.value().AsDocument());
  }
  return Status::Ok();
}

int32_t IndexIn(bson::View entry) { return static_cast<int32_t>(CountIn(entry["index"])); }

template <typename T>
void AddIndexed(std::vector<T>* whole, std::vector<T> part,
                const std::function<int32_t(int32_t)>& place) {
  const auto before = static_cast<ptrdiff_t>(whole->size());
  for (T& entry : part) {
    entry.index = place(entry.index);
    whole->push_back(std::move(entry));
  }
  const auto by_index = [](const T& a, const T& b) { return a.index < b.index; };
  std::stable_sort(whole->begin() + before, whole->end(), by_index);
  std::inplace_merge(whole->begin(), whole->begin() + before, whole->end(), by_index);
}

}  // namespace

Result<WriteReply> WriteReply::Read(const bson::Argument& reply) {
  const bson::View fields = reply;
  WriteReply out;
  if (const bson::Value n = fields["n"]; !n.missing() && !n.is_number()) {
    return Malformed("n");
  }
  out.n = CountIn(fields["n"]);
  out.modified = CountIn(fields["nModified"]);
  RETURN_IF_ERROR(ForEach(fields, "upserted", [&](bson::View entry) {
    out.upserted.push_back({IndexIn(entry), bson::OwnedValue(entry["_id"])});
  }));
  RETURN_IF_ERROR(ForEach(fields, "writeErrors", [&](bson::View entry) {
    out.errors.push_back({IndexIn(entry), ErrorIn(entry, {"index", "code", "errmsg"})});
  }));
  if (const bson::Value retried = fields["retriedStmtIds"]; retried.is_array()) {
    for (const bson::Element& statement : retried.AsArray()) {
      out.retried.push_back(static_cast<int32_t>(CountIn(statement.value())));
    }
  }
  if (const bson::Value unmet = fields["writeConcernError"]; unmet.is_document()) {
    out.write_concern_error = bson::Document(unmet.AsDocument());
  }
  return out;
}

void WriteReply::AppendTo(bson::Builder* reply, bool update) const {
  AppendCount(reply, "n", n);
  if (update) {
    AppendCount(reply, "nModified", modified);
  }
  if (!upserted.empty()) {
    reply->BeginArray("upserted");
    for (const Upserted& entry : upserted) {
      reply->PushDocument().Append("index", entry.index).Append("_id", entry.id.value()).End();
    }
    reply->End();
  }
  if (!errors.empty()) {
    reply->BeginArray("writeErrors");
    for (const WriteError& error : errors) {
      reply->PushDocument().Append("index", error.index).Append("code", error.status.code());
      if (!error.status.extra().empty()) {
        reply->AppendFields(bson::View(error.status.extra().data()));
      }
      reply->Append("errmsg", error.status.message()).End();
    }
    reply->End();
  }
  AppendRetried(retried, reply);
  if (!write_concern_error.empty()) {
    reply->Append("writeConcernError", write_concern_error);
  }
}

void WriteReply::Add(WriteReply part, const std::function<int32_t(int32_t)>& place) {
  n += part.n;
  modified += part.modified;
  AddIndexed(&upserted, std::move(part.upserted), place);
  AddIndexed(&errors, std::move(part.errors), place);
  retried.insert(retried.end(), part.retried.begin(), part.retried.end());
  if (!part.write_concern_error.empty()) {
    write_concern_error = std::move(part.write_concern_error);
  }
}

void AppendRetried(const std::vector<int32_t>& statements, bson::Builder* reply) {
  if (statements.empty()) {
    return;
  }
  reply->BeginArray("retriedStmtIds");
  for (int32_t statement : statements) {
    reply->Push(statement);
  }
  reply->End();
}

Status WriteErrorOf(const bson::Argument& reply) {
  const bson::View fields = reply;
  bson::Value error = fields["writeConcernError"];
  if (bson::Value errors = fields["writeErrors"]; errors.is_array() && !errors.AsArray().empty()) {
    error = errors.AsArray().front().value();
  }
  return error.is_document()
             ? ErrorIn(error.AsDocument(), {}).WithExtra(std::string(fields.bytes()))
             : Status::Ok();
}

bson::Document WriteConcernError(const Status& status, const bson::Argument& info) {
  bson::Builder out;
  out.Append("code", static_cast<int32_t>(status.code()))
      .Append("codeName", status.code_name())
      .Append("errmsg", status.message());
  if (!info.view().empty()) {
    out.Append("errInfo", info.view());
  }
  return out.Finish();
}

}  // namespace quire::request
