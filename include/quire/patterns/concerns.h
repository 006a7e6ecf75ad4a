// SPDX-License-Identifier: Apache-2.0
//
// How a system uses a replica set: what its writes wait for, and who may answer its reports. At a
// single server and within the program it makes no difference.
#pragma once

#include "quire/bson.h"
#include "quire/patterns/read_preference.h"

namespace quire::patterns {

struct Concerns {
  // MongoDB's write concern of every write that is in no transaction (those are always {w:
  // "majority"}). Empty: what the client's address says, else the set's default.
  bson::Document writes{};
  // Who answers reports: sums, histories and searches on which no write depends. What a secondary
  // shows may lack the last writes.
  ReadPreference reports{};
};

// No failover takes back what was acknowledged: money, stock, what others were told of.
Concerns KeptByMajority();
// The primary's word is enough: many small writes, of which a failover may take the last ones. It
// takes them from the end: what is left is as it was at some moment.
Concerns KeptByPrimary();

}  // namespace quire::patterns
