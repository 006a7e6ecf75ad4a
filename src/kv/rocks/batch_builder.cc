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

rocksdb::Slice ToSlice(std::string_view bytes) { return {bytes.data(), bytes.size()}; }

char* AppendVarint(size_t number, char* out) {
  while (number >= 0x80) {
    *out++ = static_cast<char>(number | 0x80);
    number >>= 7;
  }
  *out++ = static_cast<char>(number);
  return out;
}

}  // namespace

BatchBuilder::BatchBuilder(bool plain, size_t entries, size_t bytes) : plain_(plain) {
  if (!plain_) {
    constexpr size_t kPerEntry = 8;  // tag, section and sizes of most
    bytes_.reserve(kHeaderSize + kPerEntry * entries + bytes);
    bytes_.resize(kHeaderSize);
  }
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

// WriteBatch refuses keys and values of 4 GB, which nobody has in a transaction.
void BatchBuilder::Put(Sections::Numbered section, std::string_view key, std::string_view value) {
  if (plain_) {
    batch_.Put(section.handle, ToSlice(key), ToSlice(value)).PermitUncheckedError();
    return;
  }
  Begin(kPut, kPutInSection, section.id, key);
  char size[kLargestVarint];
  bytes_.append(size, static_cast<size_t>(AppendVarint(value.size(), size) - size));
  bytes_.append(value);
}

void BatchBuilder::Delete(Sections::Numbered section, std::string_view key) {
  if (plain_) {
    batch_.Delete(section.handle, ToSlice(key)).PermitUncheckedError();
    return;
  }
  Begin(kDelete, kDeleteInSection, section.id, key);
}

rocksdb::WriteBatch BatchBuilder::Finish() {
  if (plain_) {
    return std::move(batch_);
  }
  for (size_t i = 0; i < sizeof count_; ++i) {
    bytes_[kSequenceSize + i] = static_cast<char>(count_ >> (8 * i));
  }
  return rocksdb::WriteBatch(std::move(bytes_));
}

}  // namespace quire::kv
