// SPDX-License-Identifier: Apache-2.0
//
// The bodies that etcd's JSON gateway (/v3/...) takes and gives: keys and values in base64, 64-bit
// numbers as texts, fields that are zero left out.
#pragma once

#include <string>
#include <string_view>

#include "coord/coord.h"
#include "quire/status.h"

namespace quire::coord::etcd {

// POST /v3/kv/txn
std::string TransactBody(const Transaction& transaction);
Result<Answer> ReadAnswer(std::string_view body);

// POST /v3/kv/range
std::string ListBody(const Range& range);
Result<Listing> ReadListing(const Range& range, std::string_view body);

// POST /v3/watch; the answer is a stream of lines, one document each.
std::string WatchBody(std::string_view prefix);

// POST /v3/auth/authenticate
std::string LoginBody(const std::string& user, const std::string& password);
Result<std::string> ReadToken(std::string_view body);

// What a body with an HTTP status other than 200 says.
Status ReadError(long http_status, std::string_view body);

}  // namespace quire::coord::etcd
