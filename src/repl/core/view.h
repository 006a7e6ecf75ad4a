// SPDX-License-Identifier: Apache-2.0
//
// The keys of a set in the coordination store: `leader`, `isr` (the in-sync set) and `config`.
//
// They change by compare-and-swap only, and every transaction compares all three. What a successful
// or refused write transaction showed is a fact; what a read or a watch showed is a hint.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "repl/core/config.h"
#include "repl/core/types.h"

namespace quire::repl {

// Names one attempt to write a key: no two attempts of any member are the same.
struct Nonce {
  Boot boot = 0;
  uint64_t attempt = 0;

  bool operator==(const Nonce&) const = default;
};

// Names one state of the keys: every write raises the counter by one. Without a store that goes
// back no two states have the same.
struct Stamp {
  Counter counter = 0;
  Nonce nonce;

  bool operator==(const Stamp&) const = default;
};

// Whether keys with the stamp `view` are older than those that `heard` tells of, or, the store
// having gone back, others.
inline bool Misses(const Stamp& view, const Stamp& heard) {
  return heard.counter > view.counter ||
         (heard.counter == view.counter && heard.nonce != view.nonce);
}

// What a transaction compares of a key.
struct KeyVersion {
  int64_t revision = 0;
  Nonce nonce;

  bool operator==(const KeyVersion&) const = default;
};

struct InSyncMember {
  MemberId member = kNoMember;
  DataId data = 0;

  bool operator==(const InSyncMember&) const = default;
};

// At most kMaxInSync folders.
class InSyncSet {
 public:
  const InSyncMember* begin() const { return members_.data(); }
  const InSyncMember* end() const { return members_.data() + size_; }
  int size() const { return size_; }
  bool Contains(InSyncMember member) const;
  bool Contains(MemberId member) const;
  void Add(InSyncMember member);      // in place of another folder of the member
  void Include(InSyncMember member);  // beside it
  void Remove(MemberId member);

  bool operator==(const InSyncSet&) const = default;

 private:
  std::array<InSyncMember, kMaxInSync> members_;
  int size_ = 0;
};

struct LeaderKey {
  KeyVersion version;
  Leadership leader;
};

struct InSyncKey {
  KeyVersion version;
  InSyncSet members;
  Time floor = 0;        // a commit point; whose log ends before it does not lead
  uint64_t unclean = 0;  // how often an operator has set the set by hand
};

struct ConfigKey {
  KeyVersion version;
  std::shared_ptr<const SetConfig> config;
};

// All three keys as one transaction saw them.
struct View {
  LeaderKey leader;
  InSyncKey isr;
  ConfigKey config;
  Stamp
      stamp;  // each write puts its own into the values it writes: this is the newest of the three

  bool known() const { return config.config != nullptr; }
  const SetConfig& set() const { return *config.config; }
};

// What a transaction compares: the versions of the three keys.
struct Versions {
  KeyVersion leader;
  KeyVersion isr;
  KeyVersion config;

  bool operator==(const Versions&) const = default;
};

Versions VersionsOf(const View& view);

}  // namespace quire::repl
