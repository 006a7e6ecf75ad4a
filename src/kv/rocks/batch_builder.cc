// SPDX-License-Identifier: Apache-2.0
#include "kv/rocks/batch_builder.h"

#include <utility>

namespace quire::kv {
namespace {

constexpr size_t kSequenceSize = 8;
constexpr size_t kHeaderSize = kSequenceSize + 4;
constexpr size_t kLargestVarint = 5;

// PERSISTED by RocksDB.
constexpr char kDelete = 0;
constexpr char kPut = 1;
constexpr char kDeleteInSection = 4;
constexpr char kPutInSection = 5;

char* AppendVarint(size_t number, char* out) {
  while (number >= 0x80) {
    *out++ = static_cast<char>(number | 0x80);
    number >>= 7;
  }
  *out++ = static_cast<char>(number);
  return out;
}

}  // namespace

BatchBuilder::BatchBuilder(size_t entries, size_t bytes) {
  constexpr size_t kPerEntry = 8;  // tag, section and sizes of most
  bytes_.reserve(kHeaderSize + kPerEntry * entries + bytes);
  bytes_.resize(kHeaderSize);
}

void BatchBuilder::Begin(char tag, char tag_in_section, uint32_t section, std::string_view key) {
  char head[1 + 2 * kLargestVarint];
  char* end = head;
  *end++ = section == 0 ? tag : tag_in_section;
  if (section != 0) {
    end = AppendVarint(section, end);
  }
  end = AppendVarint(key.size(), end);
  bytes_.append(head, static_cast<size_t>(end - head));
  bytes_.append(key);
  ++count_;
}

void BatchBuilder::Put(uint32_t section, std::string_view key, std::string_view value) {
  Begin(kPut, kPutInSection, section, key);
  char size[kLargestVarint];
  bytes_.append(size, static_cast<size_t>(AppendVarint(value.size(), size) - size));
  bytes_.append(value);
}

void BatchBuilder::Delete(uint32_t section, std::string_view key) {
  Begin(kDelete, kDeleteInSection, section, key);
}

rocksdb::WriteBatch BatchBuilder::Finish() {
  for (size_t i = 0; i < sizeof count_; ++i) {
    bytes_[kSequenceSize + i] = static_cast<char>(count_ >> (8 * i));
  }
  return rocksdb::WriteBatch(std::move(bytes_));
}

}  // namespace quire::kv
