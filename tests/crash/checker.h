// SPDX-License-Identifier: Apache-2.0
//
// What must hold after a restart.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "writer.h"

namespace quire::crash {

// Compares the server with the models and settles these; a description of each problem.
std::vector<std::string> CheckAll(const std::string& uri, std::deque<DocumentWriter>& writers,
                                  CatalogWriter& catalog);

}  // namespace quire::crash
