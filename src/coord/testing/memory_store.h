// SPDX-License-Identifier: Apache-2.0
//
// A coordination store inside the process, for tests: with an exact history, and with every fault
// that a real one may show, by chance or on request.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "coord/coord.h"

namespace quire::coord {

// Chances from 0 to 1 of what goes wrong with one call.
struct Faults {
  double lose_request = 0;  // it never arrives: NetworkTimeout
  double lose_answer = 0;   // it is done (or refused), and nobody hears of it: NetworkTimeout
  double delay_request =
      0;  // NetworkTimeout now; it arrives before one of the next calls, or never
  double duplicate_request = 0;  // it arrives again before one of the next calls
  double stale_listing = 0;      // the listing shows an earlier state
  double lose_hint = 0;          // watchers do not hear of the change
};

// Deterministic: the same seed and calls give the same answers.
class MemoryStore final : public Store {
 public:
  explicit MemoryStore(uint64_t seed = 0, uint64_t cluster = 1);
  ~MemoryStore() override;

  Result<Answer> Transact(const Transaction& transaction, Deadline deadline) override;
  Result<Listing> List(const Range& range, Deadline deadline) override;
  Result<std::unique_ptr<Watcher>> Watch(std::string prefix,
                                         std::function<void()> changed) override;

  void SetFaults(const Faults& faults);
  // While away, no call arrives: HostUnreachable.
  void SetAway(bool away);
  // Requests under way arrive now.
  void Settle();
  // Keeps the present state, and brings the last one kept back, as an operator does who restores an
  // old backup: with its revisions, and with the same cluster id.
  void Keep();
  void GoBack();

 private:
  class Registration;
  struct State {
    std::map<std::string, Entry, std::less<>> entries;
    Revision revision = 1;
  };
  struct Hearer {
    std::string prefix;
    std::function<void()> changed;
    std::mutex running;  // held while `changed` is called
    bool ended = false;  // protected by running
  };

  bool Happens(double chance);
  Answer Execute(const Transaction& transaction);
  void DeliverSome();
  // Tells the watchers of what was written since the last call. REQUIRES: mutex_ is not held.
  void Tell();

  const uint64_t cluster_;
  std::mutex mutex_;
  // The rest is protected by mutex_.
  std::mt19937_64 random_;
  Faults faults_;
  bool away_ = false;
  State state_;
  State kept_;
  std::vector<State> earlier_;          // the states before, a bounded number
  std::vector<Transaction> under_way_;  // requests that have not arrived
  std::vector<std::string> written_;    // keys whose watchers are to be told
  std::vector<std::shared_ptr<Hearer>> hearers_;
};

}  // namespace quire::coord
