// SPDX-License-Identifier: Apache-2.0
//
// `quire serve` as a child process, in memory, for tests that also run through an address.
#pragma once

#include <string>

namespace quire::served {

// The address of a server that starts with the first call and ends with the test program; "" when
// it does not come up. With QUIRE_SERVED_AT in the environment: that one, a replica set's perhaps.
const std::string& Address();

}  // namespace quire::served
