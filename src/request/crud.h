// SPDX-License-Identifier: Apache-2.0
//
// The typed requests of the data commands. Everything borrows from the command's bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quire/bson.h"
#include "quire/status.h"
#include "request/fields.h"
#include "request/request.h"

namespace quire::request {

// The collection a command's first field names. InvalidNamespace, or BadValue when the field is
// no string (a uuid stays uninterpreted and gives InvalidNamespace).
Result<std::string_view> CollectionName(std::string_view command, bson::View body);
// "<database>.<collection>", checked: InvalidNamespace for names MongoDB refuses.
inline constexpr size_t kLongestNamespace = 255;  // bytes
Result<std::string> Namespace(std::string_view database, std::string_view collection);
// The same of a collection that is read: no name with $ can be.
Result<std::string> ReadNamespace(std::string_view database, std::string_view collection);
// Whether it may be the name of a database. Error: InvalidNamespace.
Status CheckDatabaseName(std::string_view database);

// An array of documents: from the body, or from the document sequence of that name.
Result<std::vector<bson::View>> ArrayOrSequence(std::string_view command, std::string_view name,
                                                const ArrayArgument& argument,
                                                const std::vector<Sequence>& sequences);
// InvalidLength unless a write may have that many statements.
Status CheckBatchSize(size_t size);

struct FindRequest {
  std::string_view collection;
  bson::View filter;
  bson::View sort;
  bson::View projection;
  bson::Value hint;
  int64_t skip = 0;
  int64_t limit = 0;
  std::optional<int64_t> batch_size;
  bool single_batch = false;
  bson::View max;
  bson::View min;
  bool return_key = false;
  bool show_record_id = false;
  bool tailable = false;
  bool await_data = false;
  bool no_cursor_timeout = false;
  bool allow_disk_use = false;
  bool allow_partial_results = false;
  bool oplog_replay = false;
  bson::View collation;
  bson::View let;

  // `body` may be the command itself or what explain wraps.
  static Result<FindRequest> Parse(bson::View body);
};

struct CountRequest {
  std::string_view collection;
  bson::View query;
  int64_t limit = 0;
  bool names_limit = false;  // also one of 0, which is none
  int64_t skip = 0;
  bson::Value hint;
  bson::View collation;
  static Result<CountRequest> Parse(bson::View body);
};

struct DistinctRequest {
  std::string_view collection;
  std::string_view key;
  bson::View query;
  bson::Value hint;
  bson::View collation;
  static Result<DistinctRequest> Parse(bson::View body);
};

struct GetMoreRequest {
  int64_t cursor_id = 0;
  std::string_view collection;
  std::optional<int64_t> batch_size;
  int64_t term = 0;  // of replication; checked only
  static Result<GetMoreRequest> Parse(bson::View body);
};

struct InsertRequest {
  std::string_view collection;
  std::vector<bson::View> documents;
  bool ordered = true;
  bool bypass_validation = false;
  bool keep_empty_timestamps = false;  // bypassEmptyTsReplacement
  static Result<InsertRequest> Parse(const Request& request);
};

struct UpdateStatement {
  bson::View q;
  bson::Value u;
  bson::View constants;  // c
  bool upsert = false;
  bool multi = false;
  bson::View collation;
  ArrayArgument array_filters;
  bson::Value hint;
  bson::View sort;
};

struct UpdateRequest {
  std::string_view collection;
  std::vector<UpdateStatement> updates;
  bool ordered = true;
  bool bypass_validation = false;
  bool keep_empty_timestamps = false;  // bypassEmptyTsReplacement
  bson::View let;
  static Result<UpdateRequest> Parse(bson::View body, const std::vector<Sequence>& sequences);
};

struct DeleteStatement {
  bson::View q;
  int64_t limit = 0;
  bson::View collation;
  bson::Value hint;
};

struct DeleteRequest {
  std::string_view collection;
  std::vector<DeleteStatement> deletes;
  bool ordered = true;
  bson::View let;
  static Result<DeleteRequest> Parse(bson::View body, const std::vector<Sequence>& sequences);
};

struct FindAndModifyRequest {
  std::string_view collection;
  bson::View query;
  bson::View sort;
  bson::View fields;
  bool remove = false;
  bson::Value update;
  bool return_new = false;
  bool upsert = false;
  bool bypass_validation = false;
  bool keep_empty_timestamps = false;
  bson::View collation;
  ArrayArgument array_filters;
  bson::Value hint;
  bson::View let;
  static Result<FindAndModifyRequest> Parse(bson::View body);
};

struct AggregateRequest {
  std::string_view collection;  // empty: the command ran on the database ({aggregate: 1})
  ArrayArgument pipeline;
  bool explain = false;
  bool allow_disk_use = true;
  std::optional<int64_t> batch_size;
  bson::View collation;
  bson::Value hint;
  bson::View let;
  bool bypass_validation = false;
  static Result<AggregateRequest> Parse(bson::View body);
};

}  // namespace quire::request
