// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace quire::apps {

// `quire export`: its exit code.
int Export(const std::vector<std::string>& arguments);

}  // namespace quire::apps
