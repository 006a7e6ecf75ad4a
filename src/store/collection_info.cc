// SPDX-License-Identifier: Apache-2.0
#include "store/collection_info.h"

#include <cstring>
#include <random>

namespace quire::store {

Uuid GenerateUuid() {
  static thread_local std::mt19937_64 random(std::random_device{}());
  Uuid uuid;
  for (size_t i = 0; i < uuid.size(); i += 8) {
    uint64_t bits = random();
    memcpy(uuid.data() + i, &bits, 8);
  }
  uuid[6] = static_cast<uint8_t>((uuid[6] & 0x0F) | 0x40);
  uuid[8] = static_cast<uint8_t>((uuid[8] & 0x3F) | 0x80);
  return uuid;
}

const IndexInfo* CollectionInfo::FindIndex(std::string_view index_name) const {
  for (const auto& index : indexes) {
    if (index->name == index_name) {
      return index.get();
    }
  }
  return nullptr;
}

}  // namespace quire::store
