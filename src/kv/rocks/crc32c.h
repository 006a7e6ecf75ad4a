// SPDX-License-Identifier: Apache-2.0
//
// The checksum of RocksDB's log, by the processor's own instruction. Debian builds RocksDB for
// every x86-64 processor, so its function looks each byte up in tables and took a tenth of an
// insert. The one declared here bears the name of RocksDB's and is found before it by the dynamic
// linker; where the processor lacks the instruction it calls RocksDB's. It is weak: linked with a
// static RocksDB, whose function is not to be had twice, it gives way.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rocksdb::crc32c {

// The CRC-32C of the bytes of which `crc` is that of the first part, and `data` the second.
uint32_t Extend(uint32_t crc, const char* data, size_t size);

}  // namespace rocksdb::crc32c

namespace quire::kv {

// Whether the checksum of a known text is right. A log with wrong ones could not be read again.
bool ChecksumsAreRight();

}  // namespace quire::kv
