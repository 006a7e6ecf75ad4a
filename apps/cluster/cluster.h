// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace quire::apps {

// `quire cluster`: a replica set with its coordination store on this machine, in the background.
// The exit code.
int Cluster(const std::vector<std::string>& arguments);

}  // namespace quire::apps
