// SPDX-License-Identifier: Apache-2.0
//
// The seam to the coordination store: the small, agreed memory of a cluster (who leads a set, who
// is in sync, where data lies). It holds no user data and is on no path of a steady read or write.
//
// What may be believed:
// - A *transaction's answer* is a fact, done or refused: its comparisons and values are those of
// one
//   place in the store's history, which every other transaction sees in the same order.
// - A *listing* and a *watch* are hints. They may show a past state; they may lose events. Use them
//   to decide that a transaction is worth sending, never as its reason.
// - An *error* of Transact decides nothing: the transaction may have happened, may happen later,
// and
//   may happen twice. Values carry a nonce of their writer, so that the next answer tells.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "quire/status.h"

namespace quire::coord {

// Counts the writing transactions of a store; every key has that of its last change.
using Revision = int64_t;
using Deadline = std::chrono::steady_clock::time_point;

struct Entry {
  std::string key;
  std::string value;
  Revision created = 0;
  Revision modified = 0;

  bool operator==(const Entry&) const = default;
};

// Holds when the key's last change is `modified`; 0: when there is no such key.
struct Compare {
  std::string key;
  Revision modified = 0;
};

struct Write {
  enum class Kind { kPut, kDelete };
  Kind kind = Kind::kPut;
  std::string key;
  std::string value;  // of a put
};

inline Write Put(std::string key, std::string value) {
  return {Write::Kind::kPut, std::move(key), std::move(value)};
}
// Deleting a key that is not there is no error.
inline Write Delete(std::string key) { return {Write::Kind::kDelete, std::move(key), {}}; }

// All writes, if all comparisons hold; else none.
struct Transaction {
  std::vector<Compare> compares = {};
  // At least one, and each key once: without a write nothing would be agreed upon.
  std::vector<Write> writes = {};
  // Keys that the answer shows beside those compared.
  std::vector<std::string> reads = {};

  // Writes, comparisons and reads together that every store takes.
  static constexpr size_t kMostOperations = 120;
  // Bytes of keys and values that every store takes.
  static constexpr size_t kMostBytes = size_t{1} << 20;
};

// Which store answered, and where in its history.
struct Position {
  uint64_t cluster = 0;  // differs between two stores that know nothing of each other
  Revision revision = 0;
};

struct Answer {
  bool done = false;  // false: refused, as a comparison did not hold
  Position position;
  // The keys compared and read that exist, in the order of their names: as they are after the
  // writes, or as they were when the transaction was refused. A key only written has `position`'s
  // revision and the value it was given.
  std::vector<Entry> entries;

  // Null when the key does not exist. REQUIRES: the transaction compared or read it.
  const Entry* Find(std::string_view key) const;
};

struct Range {
  std::string prefix = {};
  std::string after = {};       // only keys above this one; empty: all
  Revision at = 0;              // the state after that transaction; 0: a recent one
  Revision modified_since = 0;  // only entries whose last change is not older
  size_t most = 1000;           // entries
};

struct Listing {
  Position position;
  std::vector<Entry> entries;  // in the order of their keys
  bool more = false;           // `most` cut it off
};

// Ends with the object: its function neither runs nor will.
class Watcher {
 public:
  virtual ~Watcher() = default;
};

// Safe for concurrent use. Calls block their thread until the answer or the deadline.
class Store {
 public:
  virtual ~Store() = default;

  // Errors: HostUnreachable, NetworkTimeout, Unauthorized, AuthenticationFailed, BadValue (it can
  // never be taken: no write, a key twice, too large), OperationFailed.
  virtual Result<Answer> Transact(const Transaction& transaction, Deadline deadline) = 0;
  // Further error: SnapshotTooOld when the store has forgotten the state at `range.at`.
  virtual Result<Listing> List(const Range& range, Deadline deadline) = 0;
  // Calls `changed` from a thread of the store when a key with this prefix may have changed, and
  // whenever it (again) begins to watch. One call at a time; it must not destroy the watcher.
  virtual Result<std::unique_ptr<Watcher>> Watch(std::string prefix,
                                                 std::function<void()> changed) = 0;
};

// BadValue when the transaction can never be taken. For backends.
Status CheckForm(const Transaction& transaction);
// The least string above every string with this prefix; empty when there is none. For backends.
std::string EndOfPrefix(std::string_view prefix);

}  // namespace quire::coord
