// SPDX-License-Identifier: Apache-2.0
#include "request/reply.h"

namespace quire::request {

void AppendError(const Status& status, bson::Builder* reply) {
  reply->Append("ok", 0.0)
      .Append("errmsg", status.message())
      .Append("code", static_cast<int32_t>(status.code()))
      .Append("codeName", status.code_name());
  if (!status.extra().empty()) {
    reply->AppendFields(bson::View(status.extra().data()));
  }
}

void AppendCount(bson::Builder* out, std::string_view name, int64_t n) {
  if (n >= INT32_MIN && n <= INT32_MAX) {
    out->Append(name, static_cast<int32_t>(n));
  } else {
    out->Append(name, n);
  }
}

}  // namespace quire::request
