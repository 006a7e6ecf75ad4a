// SPDX-License-Identifier: Apache-2.0
//
// The arguments that every command takes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "quire/bson.h"
#include "quire/status.h"

namespace quire::request {

// What the client wants to know before a write is acknowledged.
struct WriteConcern {
  bson::Value w;  // missing when not given
  bool journal = false;
  bool journal_given = false;
  int64_t wtimeout = 0;
  bool given = false;
};

struct Generic {
  std::string_view lsid;  // 16 bytes of the session's uuid; empty without a session
  std::optional<int64_t> txn_number;
  std::optional<bool> autocommit;
  bool start_transaction = false;
  int64_t max_time_ms = 0;  // 0: none
  bson::Value comment;
  bson::View read_concern;
  std::string_view read_concern_level;  // "" when not given
  WriteConcern write_concern;

  // In a multi-document transaction.
  bool in_transaction() const { return autocommit.has_value(); }
};

// TypeMismatch, BadValue, InvalidOptions as MongoDB's for malformed ones.
Result<Generic> ReadGeneric(std::string_view command, bson::View body);

}  // namespace quire::request
