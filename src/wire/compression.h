// SPDX-License-Identifier: Apache-2.0
//
// The compressors of OP_COMPRESSED.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "quire/status.h"

namespace quire::wire {

// The compressor's number on the wire.
enum class Compressor : uint8_t { kNoop = 0, kSnappy = 1, kZlib = 2, kZstd = 3 };

// By the name used in hello ("snappy", "zlib", "zstd", "noop").
std::optional<Compressor> CompressorByName(std::string_view name);

// Appends the compressed form of `bytes` to *out.
Status Compress(Compressor compressor, std::string_view bytes, std::string* out);

// Appends the original of `bytes` to *out. The result must have exactly `size` bytes; memory is
// taken as output appears, not because `size` claims it. Error: BadValue.
Status Decompress(Compressor compressor, std::string_view bytes, size_t size, std::string* out);

}  // namespace quire::wire
