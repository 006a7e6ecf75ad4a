// SPDX-License-Identifier: Apache-2.0
//
// Ids made of content: the same in every process and at every repetition.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace quire::patterns {

uint64_t HashBytes(std::string_view bytes, uint64_t seed);

// 16 bytes.
std::string HashId(std::string_view bytes);

}  // namespace quire::patterns
