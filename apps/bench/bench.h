// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace quire::apps {

// `quire bench`: measures servers with the workloads of bench/. The exit code.
int Bench(const std::vector<std::string>& arguments);

}  // namespace quire::apps
