// SPDX-License-Identifier: Apache-2.0
//
// Where the tests reach into the systems: a crash after any step, writes that fail or lose their
// answer, and every query as it is sent.
#pragma once

#include <string_view>

#include "quire/bson.h"

namespace quire::patterns {

// Called after every step of an operation with the step's name, "system.operation.cN".
class CrashHook {
 public:
  virtual ~CrashHook() = default;
  // False: the operation ends here with Crashed, as if its process had died. What runs inside the
  // call happens while this client is paused.
  virtual bool After(std::string_view point) = 0;
};

// Called around every write that a system sends.
class FaultHook {
 public:
  enum class Fault {
    kNone,
    kFailBefore,  // the write is not applied; the caller gets HostUnreachable
    kLoseAnswer,  // it is applied; the caller gets HostUnreachable all the same
  };
  virtual ~FaultHook() = default;
  // What runs inside the call happens before the (delayed) write.
  virtual Fault BeforeWrite() = 0;
};

// Called before every read and every write by a filter that a system sends.
class QueryHook {
 public:
  virtual ~QueryHook() = default;
  // `query` is a find or an aggregate command that looks at the same documents in the same way.
  virtual void Asks(const bson::Document& query) = 0;
};

}  // namespace quire::patterns
