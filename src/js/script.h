// SPDX-License-Identifier: Apache-2.0
//
// JavaScript for $where, $function, $accumulator and mapReduce. Functions are compiled once per
// thread and called many times; values go in and come out as BSON. A script that runs too long
// (maxTimeMS, killOp), holds too much memory or recurses too deep is stopped with an error.
//
// Each thread has one engine, made at its first call and kept. Functions of one Scope share global
// variables; different scopes see nothing of each other.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/arena.h"
#include "quire/bson.h"
#include "quire/status.h"

namespace quire::js {

// Whether the process runs scripts at all. Safe for concurrent use, as the limit below.
bool Enabled();
void SetEnabled(bool enabled);

// Megabytes the scripts of one thread may hold.
inline constexpr int64_t kDefaultHeapLimit = 1100;
int64_t HeapLimit();
void SetHeapLimit(int64_t megabytes);

// Where the functions kept in the collection system.js come from.
class StoredFunctions {
 public:
  virtual ~StoredFunctions() = default;
  // Documents {_id: <name>, value: <function or value>}.
  virtual Result<std::vector<bson::Document>> Load() const = 0;
};

// The global variables that the functions of one operation share. Safe for concurrent use: each
// thread has variables of its own.
class Scope : public std::enable_shared_from_this<Scope> {
 public:
  // `variables` are global variables to begin with. `stored`, when not null, outlives the scope.
  static std::shared_ptr<const Scope> Make(bson::Document variables = {},
                                           const StoredFunctions* stored = nullptr);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  uint64_t id() const { return id_; }
  bson::View variables() const { return variables_.view(); }
  const StoredFunctions* stored() const { return stored_; }

 private:
  Scope(bson::Document variables, const StoredFunctions* stored);

  const uint64_t id_;
  const bson::Document variables_;
  const StoredFunctions* const stored_;
};
using ScopePtr = std::shared_ptr<const Scope>;

// Takes what a script emits; an error stops the script.
using EmitFn = std::function<Status(const bson::Value& key, const bson::Value& value)>;

// A function in a scope. Immutable and safe for concurrent use.
//
// Errors: JSInterpreterFailure (syntax, exceptions, memory), UnknownError (a thrown value that is
// no Error), what the operation was stopped with, 17279 and 16985 for values BSON cannot hold.
class Function {
 public:
  // `source` is a function, an expression, or statements of which the last expression counts.
  Function(ScopePtr scope, std::string source);

  const std::string& source() const { return source_; }
  // Calls with `self` as `this` (missing: the global object). The result lives in `arena`.
  // Numbers come back as doubles; NumberInt, NumberLong and NumberDecimal as what they are.
  Result<bson::Value> Call(const bson::Value& self, std::span<const bson::Value> arguments,
                           Arena* arena) const;
  // Whether the function is true of the document: its `this` and the variable `obj`.
  Result<bool> Test(bson::View document) const;
  // Calls with the document as `this`; emit(key, value) goes to `emit`.
  Status Emit(bson::View document, const EmitFn& emit) const;
  // Ok, or why the source does not compile.
  Status Compile() const;

 private:
  const ScopePtr scope_;
  const std::string source_;
};

}  // namespace quire::js
