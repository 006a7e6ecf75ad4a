// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace quire::apps {

// `quire demo`: its exit code.
int RunDemo(const std::vector<std::string>& arguments);

}  // namespace quire::apps
