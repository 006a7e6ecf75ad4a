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
  bool given = false;    // with at least one field
  bool present = false;  // perhaps empty
};

// The stable API a client asked to be held to.
struct Api {
  std::optional<std::string_view> version;
  bool strict = false;  // only what the version has
  bool deprecation_errors = false;
};

// A session belongs to whoever began it: its key is the 16 bytes of its uuid, followed by the
// digest of its owner when there is one. The same uuid is another session for another user.
inline constexpr size_t kSessionIdSize = 16;
std::string SessionKey(std::string_view uuid, std::string_view owner);
// Appends {id, uid} of the session with that key as the field `name`; without an owner uid is the
// digest of no user.
void AppendSession(std::string_view name, std::string_view key, bson::Builder* out);

struct Generic {
  // The key of the session (see SessionKey); empty without one.
  std::string_view lsid;
  // Whose session it is, as the request says; empty when it does not. Only routers are believed.
  std::string_view session_owner;
  std::optional<int64_t> txn_number;
  std::optional<bool> autocommit;
  bool start_transaction = false;
  int64_t max_time_ms = 0;  // 0: none
  bson::Value comment;
  bson::View read_concern;
  std::string_view read_concern_level;  // "" when not given
  WriteConcern write_concern;
  Api api;
  bool help = false;           // only what the command does is wanted
  bson::Element cluster_time;  // $clusterTime as it was given; absent without one
  bson::Value statement_id;    // stmtId
  bson::Value statement_ids;   // stmtIds

  // In a multi-document transaction.
  bool in_transaction() const { return autocommit.has_value(); }
};

// TypeMismatch, BadValue, InvalidOptions, APIVersionError as MongoDB's for malformed ones.
Result<Generic> ReadGeneric(std::string_view command, bson::View body);

}  // namespace quire::request
