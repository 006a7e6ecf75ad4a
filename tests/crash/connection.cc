// SPDX-License-Identifier: Apache-2.0
#include "connection.h"

#include <cstdio>
#include <cstdlib>

namespace quire::crash {

Bson FromJson(const std::string& json) {
  bson_error_t error;
  Bson document(bson_new_from_json(reinterpret_cast<const uint8_t*>(json.data()),
                                   static_cast<ssize_t>(json.size()), &error));
  if (!document) {
    fprintf(stderr, "%s: %s\n", json.c_str(), error.message);
    abort();
  }
  return document;
}

Connection::Connection(const std::string& uri) : client_(mongoc_client_new(uri.c_str())) {
  mongoc_client_set_error_api(client_, MONGOC_ERROR_API_VERSION_2);
}

Connection::~Connection() { mongoc_client_destroy(client_); }

Outcome Connection::Judge(const bson_error_t& error) {
  if (error.domain != MONGOC_ERROR_SERVER && error.domain != MONGOC_ERROR_WRITE_CONCERN) {
    return Outcome::kUnknown;
  }
  error_ = error.message;
  error_code_ = static_cast<int>(error.code);
  constexpr int kShuttingDown[] = {91, 11600};
  for (int code : kShuttingDown) {
    if (error_code_ == code) {
      return Outcome::kUnknown;
    }
  }
  return Outcome::kRefused;
}

Outcome Connection::Run(const char* database, const bson_t* command, bson_t* reply) {
  bson_t own;
  bson_t* answer = reply ? reply : &own;
  bson_error_t error{};
  bool ok = mongoc_client_command_simple(client_, database, command, nullptr, answer, &error);
  Outcome outcome = ok ? Outcome::kAcknowledged : Judge(error);
  bson_iter_t it;
  if (ok && bson_iter_init_find(&it, answer, "writeErrors")) {
    char* json = bson_as_relaxed_extended_json(answer, nullptr);
    error_ = json;
    bson_free(json);
    error_code_ = 0;
    outcome = Outcome::kRefused;
  }
  if (!reply) {
    bson_destroy(&own);
  }
  return outcome;
}

Outcome Connection::Run(const char* database, const std::string& json, bson_t* reply) {
  return Run(database, FromJson(json).get(), reply);
}

}  // namespace quire::crash
