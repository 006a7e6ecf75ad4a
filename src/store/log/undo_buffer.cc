// SPDX-License-Identifier: Apache-2.0
#include "store/log/undo_buffer.h"

#include <cstring>

#include "base/error_codes.h"
#include "store/log/bytes.h"

namespace quire::store {

namespace {

constexpr size_t kRecordBytes = size_t{1} << 20;
constexpr size_t kUuidSize = 16;

void AppendSized(std::string_view bytes, std::string* out) {
  AppendNumber(static_cast<uint32_t>(bytes.size()), out);
  out->append(bytes);
}

bool TakeSized(std::string_view* bytes, std::string_view* taken) {
  uint32_t size = 0;
  return TakeNumber(bytes, &size) && TakeBytes(bytes, size, taken);
}

bool TakeOperation(std::string_view* rest, UndoOperation* operation) {
  std::string_view kind;
  if (!TakeBytes(rest, 1, &kind)) {
    return false;
  }
  const char which = kind[0];
  operation->of_key = which == 'A' || which == 'V';
  if (operation->of_key) {
    if (!TakeSized(rest, &operation->key)) {
      return false;
    }
    return which == 'A' || TakeSized(rest, &operation->before.emplace());
  }
  if ((which != 'R' && which != 'O') || !TakeBytes(rest, kUuidSize, &operation->uuid) ||
      !TakeNumber(rest, &operation->id)) {
    return false;
  }
  bson::View document;
  if (which == 'O') {
    if (!TakeDocument(rest, &document)) {
      return false;
    }
    operation->before = document.bytes();
  }
  return true;
}

}  // namespace

void UndoBuffer::Begin(char kind) {
  if (starts_.empty() || bytes_.size() - starts_.back() > kRecordBytes) {
    starts_.push_back(bytes_.size());
  }
  bytes_.push_back(kind);
}

void UndoBuffer::Record(std::string_view uuid, RecordId id, const bson::View* before) {
  Begin(before == nullptr ? 'R' : 'O');
  bytes_.append(uuid);
  AppendNumber(id, &bytes_);
  if (before != nullptr) {
    bytes_.append(before->bytes());
  }
}

void UndoBuffer::Key(std::string_view key, const std::string_view* before) {
  Begin(before == nullptr ? 'A' : 'V');
  AppendSized(key, &bytes_);
  if (before != nullptr) {
    AppendSized(*before, &bytes_);
  }
}

void UndoBuffer::RollBack(size_t size) {
  bytes_.resize(size);
  while (!starts_.empty() && starts_.back() >= size) {
    starts_.pop_back();
  }
}

Result<std::vector<UndoOperation>> ReadUndo(std::string_view record) {
  std::vector<UndoOperation> operations;
  while (!record.empty()) {
    if (!TakeOperation(&record, &operations.emplace_back())) {
      return Status(kDataCorruptionDetected, "What undoes a change cannot be read");
    }
  }
  return operations;
}

std::string UndoKey(uint64_t time, uint32_t record) {
  std::string key = MetaKey(kUndoKind, "");
  AppendBigEndian(time, &key);
  AppendBigEndian(record, &key);
  return key;
}

kv::Range UndoRange(uint64_t from, uint64_t before) {
  return {UndoKey(from, 0), UndoKey(before, 0)};
}

}  // namespace quire::store
