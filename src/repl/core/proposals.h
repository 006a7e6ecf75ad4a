// SPDX-License-Identifier: Apache-2.0
//
// What a leader knows of the keys, and the write of them that may or may not happen.
//
// A write without an answer, or with a refusal, has decided nothing: the request may arrive late,
// or twice. It is decided when a later write transaction shows versions that differ from those it
// compares; until then both outcomes count, old and new.
#pragma once

#include <optional>
#include <vector>

#include "repl/core/rules.h"
#include "repl/core/view.h"

namespace quire::repl {

struct Proposal {
  Versions expected;
  View wanted;
  Nonce nonce;
  CommandId command = 0;  // of a reconfig
  bool reconfig = false;
};

class Proposals {
 public:
  explicit Proposals(const Rules& rules) : rules_(rules) {}

  void Reset(const View& confirmed);
  const View& confirmed() const { return confirmed_; }
  const std::optional<Proposal>& open() const { return open_; }

  void Open(Proposal proposal);
  void Forget();  // breaks the rule above: for tests of it

  // The largest in-sync set that may hold: nothing is committed that not all of it hold.
  const InSyncSet& Largest() const { return largest_; }

  // How many members the in-sync set must have for anything to be committed.
  int Needed() const;

  // The smallest majority that may hold.
  int SmallestMajority() const;

  // Takes what a write transaction of this leader showed. Returns the proposal it decided, if any.
  // A view from before what is known (an answer that is late, a store that went back) says nothing.
  std::optional<Proposal> Learn(const View& now);

 private:
  void Count();

  const Rules& rules_;
  View confirmed_;
  std::optional<Proposal> open_;
  InSyncSet largest_;
};

}  // namespace quire::repl
