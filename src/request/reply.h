// SPDX-License-Identifier: Apache-2.0
//
// The parts that replies are made of.
#pragma once

#include <cstdint>
#include <string_view>

#include "quire/bson.h"
#include "quire/status.h"

namespace quire::request {

// Appends {ok: 0, errmsg, code, codeName} and the error's extra fields.
void AppendError(const Status& status, bson::Builder* reply);

// Appends n as an int, or as a long when it has to be.
void AppendCount(bson::Builder* out, std::string_view name, int64_t n);

}  // namespace quire::request
