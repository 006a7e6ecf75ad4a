// SPDX-License-Identifier: Apache-2.0
//
// One driver connection, and what an operation over it came to.
#pragma once

#include <mongoc/mongoc.h>

#include <memory>
#include <string>

namespace quire::crash {

struct BsonFree {
  void operator()(bson_t* document) const { bson_destroy(document); }
};
using Bson = std::unique_ptr<bson_t, BsonFree>;

Bson FromJson(const std::string& json);

enum class Outcome {
  kAcknowledged,
  kRefused,  // the server said no: nothing was done
  kUnknown,  // no answer: it may have been done
};

class Connection {
 public:
  explicit Connection(const std::string& uri);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Runs a command; with a reply when `reply` is given (the caller destroys it in any case). A
  // reply with writeErrors counts as refused.
  Outcome Run(const char* database, const bson_t* command, bson_t* reply = nullptr);
  Outcome Run(const char* database, const std::string& json, bson_t* reply = nullptr);

  // The last error the server gave.
  const std::string& error() const { return error_; }
  int error_code() const { return error_code_; }
  mongoc_client_t* client() { return client_; }
  // Of a call of the driver that failed: refused or unknown.
  Outcome Judge(const bson_error_t& error);

 private:
  mongoc_client_t* client_;
  std::string error_;
  int error_code_ = 0;
};

}  // namespace quire::crash
