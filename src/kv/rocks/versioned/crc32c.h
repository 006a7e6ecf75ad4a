// SPDX-License-Identifier: Apache-2.0
//
// The checksums of RocksDB's log, by the processor's own instructions. Debian builds RocksDB for
// every x86-64 processor, so its functions look each byte up in tables or go bit by bit, and took
// an eighth of an insert. The ones declared here bear the names of RocksDB's and are found before
// them by the dynamic linker; where the processor lacks the instructions they call RocksDB's. They
// are weak: linked with a static RocksDB, whose functions are not to be had twice, they give way.
// Built with another version of RocksDB than rocks_version.h names, there are none of ours.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rocksdb::crc32c {

// The CRC-32C of the bytes of which `crc` is that of the first part, and `data` the second.
uint32_t Extend(uint32_t crc, const char* data, size_t size);

// The CRC-32C of bytes in two parts, from those of the parts.
uint32_t Crc32cCombine(uint32_t first, uint32_t second, size_t second_size);

}  // namespace rocksdb::crc32c

namespace quire::kv {

// Whether all checksums of this process are computed by our functions from now on, as they are at
// first, or by RocksDB's. They give the same.
void UseOwnChecksums(bool own);

// Whether the checksums of a known text are right. A log with wrong ones could not be read again.
bool ChecksumsAreRight();

}  // namespace quire::kv
