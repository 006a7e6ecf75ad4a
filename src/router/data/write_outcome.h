// SPDX-License-Identifier: Apache-2.0
//
// What several shards have said about one command, as its client is told. No I/O.
#pragma once

#include <vector>

#include "quire/bson.h"
#include "quire/status.h"

namespace quire::router {

// One error of a statement that several shards ran. REQUIRES: there is one.
Status MergeErrors(const std::vector<Status>& errors);
// The writeConcernError of a command of which these parts had one; empty when none had.
bson::Document MergeConcernErrors(const std::vector<bson::Document>& errors);

}  // namespace quire::router
