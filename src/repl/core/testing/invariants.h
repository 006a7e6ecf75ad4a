// SPDX-License-Identifier: Apache-2.0
//
// What has to hold of a set at every moment, I1 to I10, and what it has promised to clients.
//
// Each check is called when what it is about may have changed. The first violation is kept.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "repl/core/core.h"
#include "repl/core/testing/disk.h"
#include "repl/core/testing/store.h"

namespace quire::repl {

class Invariants {
 public:
  // `losses_only`: what clients lose, and not the rules of bookkeeping that are there to prevent
  // it. `by_data`: a member of the in-sync set stands for its data folder alone
  // (Rules::positions_by_data).
  Invariants(bool losses_only, bool by_data) : losses_only_(losses_only), by_data_(by_data) {}

  const std::string& violation() const { return violation_; }
  const std::vector<LoggedSlot>& committed() const { return committed_; }

  // I1 one leader per epoch. And a leader whose log is open holds everything committed before.
  void LogOpened(const Core& core, const Disk& disk);
  // I2 within an epoch every log is a prefix of its leader's: the slot follows the one it was
  // linked to.
  void Appended(const Disk& disk, const LoggedSlot& slot);
  // I3 the in-sync set in the store is within the one the leader counts by.
  // I5 the commit point does not go back, and there is one committed history.
  void CommitAdvanced(const Core& core, const Disk& disk, const Store& store);
  // I5 who has accepted an epoch cuts nothing that it, or one before it, has committed. Who never
  // heard of the epoch held the slot by chance, and may follow an earlier leader that has never
  // seen it: until it has accepted the epoch, it counts for nothing (I4).
  void Cut(const Disk& disk, Time after);
  // I4 every folder in the in-sync set holds everything committed durably, and has accepted the
  // epoch that committed it.
  void InSyncHolds(MemberId member, const Disk& disk, const Store& store);
  // I6 a follower applies only what is committed.
  void Applying(const Core& core, const Disk& disk, Time up_to);
  // I7 what was promised to a client (by an answer to a write, by a majority read) is committed.
  void Promised(const LoggedSlot& slot, const char* how);
  // I7 a linearizable read shows what was promised before it.
  void LinearizableRead(bool shows_promised);
  // I8 the in-sync set has enough members, unless an operator has set it by hand.
  void StoreWritten(const Store& store);
  // I9 accepted epochs do not go back, nothing is acknowledged below them.
  void Persisting(const Local& before, const Local& now);
  // I9; I10 what is acknowledged is durable and without holes.
  void Acking(const Disk& disk, const Ack& ack);
  void Fail(const std::string& what);

  // From here on the store says what was true once: I3, I4 and I8, which are about it, say nothing.
  void StoreWentBack() { store_went_back_ = true; }

  // The last slot promised to a client, as a place in committed(); -1: none.
  int promised() const { return promised_; }

 private:
  void Broken(const char* what) {
    if (!losses_only_) Fail(what);
  }
  bool Committed(const LoggedSlot& slot) const;
  int FindCommitted(Time time) const;

  const bool losses_only_;
  const bool by_data_;
  bool store_went_back_ = false;
  std::string violation_;
  std::vector<LoggedSlot> committed_;  // in the order of time, for ever
  std::vector<Epoch> committed_in_;    // the epoch of the leader that did it
  std::map<Epoch, Boot> leaders_;
  std::vector<std::pair<LoggedSlot, const char*>> open_promises_;  // losses_only: not committed yet
  int promised_ = -1;
};

}  // namespace quire::repl
