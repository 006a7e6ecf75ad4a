// SPDX-License-Identifier: Apache-2.0
#include "request/reply.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/error_codes.h"
#include "bson/number.h"

namespace quire::request {

namespace {

bool IsTrue(const bson::Value& ok) {
  return ok.is_number() ? CountIn(ok) == 1 : ok.type() == bson::Type::kBool && ok.AsBool();
}

}  // namespace

void AppendError(const Status& status, bson::Builder* reply) {
  reply->Append("ok", 0.0)
      .Append("errmsg", status.message())
      .Append("code", static_cast<int32_t>(status.code()))
      .Append("codeName", status.code_name());
  if (!status.extra().empty()) {
    reply->AppendFields(bson::View(status.extra().data()));
  }
}

Status StatusOf(const bson::Argument& reply) {
  return IsTrue(reply.view()["ok"])
             ? Status::Ok()
             : ErrorIn(reply, {"ok", "code", "codeName", "errmsg", "$clusterTime", "operationTime",
                               "topologyVersion"});
}

Status ErrorIn(bson::View error, std::initializer_list<std::string_view> known) {
  bson::Builder extra;
  for (const bson::Element& field : error) {
    if (std::find(known.begin(), known.end(), field.name()) == known.end()) {
      extra.Append(field);
    }
  }
  const bson::Value text = error["errmsg"];
  const auto code = static_cast<int>(CountIn(error["code"]));
  Status status(code != 0 ? code : kUnknownError,
                std::string(text.is_string() ? text.AsString() : ""));
  bson::Document fields = extra.Finish();
  return fields.empty() ? status : status.WithExtra(std::move(fields).TakeBytes());
}

void AppendCount(bson::Builder* out, std::string_view name, int64_t n) {
  if (n >= INT32_MIN && n <= INT32_MAX) {
    out->Append(name, static_cast<int32_t>(n));
  } else {
    out->Append(name, n);
  }
}

int64_t CountIn(const bson::Value& value) { return bson::TruncatedInt64(value).value_or(0); }

}  // namespace quire::request
