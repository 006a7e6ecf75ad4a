// SPDX-License-Identifier: Apache-2.0
//
// Some parts of this backend know more of RocksDB than its headers promise: the memtable
// (memtable.h), the form of a write batch (batch_builder.h), the file systems laid under the
// database (log_file_system.h, passing_errors.h) and the checksums put in place of its own
// (crc32c.h). They were written for one version. With any other the store is plain: it goes without
// them, slower and otherwise the same, but that of all I/O errors it recovers from a full disk only
// without a new start.
#pragma once

#include <rocksdb/version.h>

#include <string>
#include <string_view>

#include "base/error_codes.h"
#include "quire/status.h"

#define QUIRE_KNOWN_ROCKSDB (ROCKSDB_MAJOR == 7 && ROCKSDB_MINOR == 8)

namespace quire::kv {

#define QUIRE_TEXT_OF(number) #number
#define QUIRE_VERSION_TEXT(major, minor) QUIRE_TEXT_OF(major) "." QUIRE_TEXT_OF(minor)
// The version whose headers this was built with.
constexpr std::string_view kBuiltWithRocks = QUIRE_VERSION_TEXT(ROCKSDB_MAJOR, ROCKSDB_MINOR);
#undef QUIRE_VERSION_TEXT
#undef QUIRE_TEXT_OF
// The version those parts were written for.
constexpr std::string_view kKnownRocks = "7.8";
static_assert((kBuiltWithRocks == kKnownRocks) == QUIRE_KNOWN_ROCKSDB);

// Whether those parts may be used in a program built with one version (major.minor) that runs with
// another. Error: the headers are not those of the library, so that nothing would fit.
inline Result<bool> OwnPartsFit(std::string_view built, std::string_view running) {
  if (built != running) {
    return Status(kInternalError, "Built for RocksDB " + std::string(built) +
                                      ", but the library is version " + std::string(running));
  }
  return running == kKnownRocks;
}

}  // namespace quire::kv
