// SPDX-License-Identifier: Apache-2.0
//
// CRC-32C (Castagnoli), the checksum of OP_MSG.
#pragma once

#include <cstdint>
#include <string_view>

namespace quire::wire {

// The checksum of `bytes`; the processor's instruction is used where there is one.
uint32_t Crc32c(std::string_view bytes);

}  // namespace quire::wire
