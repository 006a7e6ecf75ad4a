// SPDX-License-Identifier: Apache-2.0
//
// What all replies share: errors, and the parts that replies are made of. The replies of writes are
// in write_reply.h and bulk_write_reply.h, those with a cursor in cursor_reply.h: each is written
// and read there and nowhere else.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "quire/bson.h"
#include "quire/status.h"

namespace quire::request {

// Appends {ok: 0, errmsg, code, codeName} and the error's extra fields.
void AppendError(const Status& status, bson::Builder* reply);

// The error of a reply with its further fields as extra(), except those that any reply may have
// ($clusterTime, operationTime, topologyVersion); Ok when its `ok` is 1. Any document may be given.
Status StatusOf(const bson::Argument& reply);

// The error whose code and text are in `error`, with its fields as extra(), except `known` ones.
// UnknownError without a code.
Status ErrorIn(bson::View error, std::initializer_list<std::string_view> known);

// Appends n as an int, or as a long when it has to be.
void AppendCount(bson::Builder* out, std::string_view name, int64_t n);
// A number of any type as an integer; 0 when it is none.
int64_t CountIn(const bson::Value& value);

}  // namespace quire::request
