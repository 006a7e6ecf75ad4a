// SPDX-License-Identifier: Apache-2.0
//
// The times of a set. No promise hangs on them: they say how long a fault is felt.
#pragma once

#include "repl/core/types.h"

namespace quire::repl {

struct Settings {
  Millis beacon = 500;            // between two beacons of a leader
  Millis silent = 4000;           // a member silent for so long leaves the in-sync set
  Millis slow = 4000;             // so does one that was not level with the leader for so long
  Millis between_changes = 1000;  // of the in-sync set
  Millis proof = 8000;            // a leader without a proof that it still leads steps down
  Millis rewrite = 3000;      // of the in-sync set, as a proof, when a silent member has to stay
  Millis election = 10000;    // without a leader (electionTimeoutMillis)
  Millis settle = 20;         // writes under way when a leader begins to hand over get so long
  Millis ballot = 300;        // for the answers of a pre-vote; then it is tried again
  Millis courtesy = 2000;     // a better candidate goes first for so long
  Millis recovery = 30000;    // an operator's recovery is tried again for so long
  Millis store_retry = 1000;  // a request to the store without an answer is followed by another
  Millis poll = 5000;         // the keys are read so often
  Millis floor = 60000;       // the floor is written so often
  Millis lazily = 1000;       // the file of acknowledged positions is written so often
  Millis hung_disk = 5000;    // a leader whose sync takes longer hands over
  // A follower that has not applied for so long takes no more; half of it makes writers wait.
  Millis apply_lag = 10000;
  Millis takeover_in_sync = 10000;  // a member of higher priority takes over after so long in sync
  Millis takeover_uptime = 30000;   // and up
};

}  // namespace quire::repl
