// SPDX-License-Identifier: Apache-2.0
//
// Which malloc the process runs with.
#pragma once

#include <string_view>

namespace quire {

// "jemalloc" when the program was linked (or preloaded) with it, as the tool `quire` is; else
// "system": a program that embeds the library keeps its own.
std::string_view AllocatorName();

}  // namespace quire
