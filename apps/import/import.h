// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace quire::apps {

// `quire import`: its exit code.
int Import(const std::vector<std::string>& arguments);

}  // namespace quire::apps
