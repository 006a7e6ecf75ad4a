// SPDX-License-Identifier: Apache-2.0
#include "store/log/set_marks.h"

#include "base/error_codes.h"
#include "base/try.h"
#include "store/layout.h"
#include "store/log/bytes.h"

namespace quire::store {

namespace {

constexpr char kMarkKind = 'a';

std::string AppliedKey() { return MetaKey(kMarkKind, "applied"); }
std::string CommitKey() { return MetaKey(kMarkKind, "commit"); }
std::string LocalKey() { return MetaKey(kMarkKind, "local"); }
std::string SizeKey() { return MetaKey(kMarkKind, "size"); }

std::string EpochKey(uint64_t epoch) {
  std::string key = MetaKey(kEpochKind, "");
  AppendBigEndian(epoch, &key);
  return key;
}

uint64_t ReadEpoch(std::string_view key) {
  uint64_t epoch = 0;
  for (char byte : key.substr(key.size() - sizeof epoch)) {
    epoch = (epoch << 8) | static_cast<unsigned char>(byte);
  }
  return epoch;
}

Status Corrupt() { return {kDataCorruptionDetected, "The marks of the log cannot be read"}; }

// 0 when there is none.
Result<uint64_t> ReadNumber(kv::Txn& txn, const std::string& key) {
  kv::ReadValue value;
  ASSIGN_OR_RETURN(const bool found, txn.Get(key, &value));
  uint64_t number = 0;
  std::string_view rest = found ? value.view() : std::string_view();
  if (found && !TakeNumber(&rest, &number)) {
    return Corrupt();
  }
  return number;
}

Status WriteNumber(kv::Txn& txn, const std::string& key, uint64_t number) {
  std::string value;
  AppendNumber(number, &value);
  return txn.Put(key, value);
}

}  // namespace

Result<std::optional<AppliedMark>> ReadApplied(kv::Txn& txn) {
  kv::ReadValue value;
  ASSIGN_OR_RETURN(const bool found, txn.Get(AppliedKey(), &value));
  if (!found) {
    return std::optional<AppliedMark>();
  }
  AppliedMark mark;
  std::string_view rest = value.view();
  if (!TakeNumber(&rest, &mark.applied) || !TakeNumber(&rest, &mark.operations) ||
      !TakeNumber(&rest, &mark.undo_begin)) {
    return Corrupt();
  }
  return std::optional<AppliedMark>(mark);
}

Status WriteApplied(kv::Txn& txn, const AppliedMark& mark) {
  std::string value;
  AppendNumber(mark.applied, &value);
  AppendNumber(mark.operations, &value);
  AppendNumber(mark.undo_begin, &value);
  return txn.Put(AppliedKey(), value);
}

Result<uint64_t> ReadCommit(kv::Txn& txn) { return ReadNumber(txn, CommitKey()); }

Status WriteCommit(kv::Txn& txn, uint64_t commit) { return WriteNumber(txn, CommitKey(), commit); }

Result<uint64_t> ReadLogSize(kv::Txn& txn) { return ReadNumber(txn, SizeKey()); }

Status WriteLogSize(kv::Txn& txn, uint64_t bytes) { return WriteNumber(txn, SizeKey(), bytes); }

Result<bson::Document> ReadLocal(kv::Txn& txn) {
  kv::ReadValue value;
  ASSIGN_OR_RETURN(const bool found, txn.Get(LocalKey(), &value));
  if (!found) {
    return bson::Document();
  }
  return bson::Document::Parse(std::string(value.view()));
}

Status WriteLocal(kv::Txn& txn, bson::View local) { return txn.Put(LocalKey(), local.bytes()); }

Result<std::vector<LogEnd>> ReadEpochEnds(kv::Txn& txn) {
  std::vector<LogEnd> ends;
  const std::string prefix = MetaKey(kEpochKind, "");
  ASSIGN_OR_RETURN(auto cursor, txn.Scan({prefix, kv::PrefixEnd(prefix)}, kv::Direction::kForward));
  while (true) {
    ASSIGN_OR_RETURN(const bool more, cursor->Next());
    if (!more) {
      return ends;
    }
    LogEnd end{ReadEpoch(cursor->key()), 0};
    std::string_view rest = cursor->value();
    if (!TakeNumber(&rest, &end.time)) {
      return Corrupt();
    }
    ends.push_back(end);
  }
}

Status WriteEpochEnd(kv::Txn& txn, LogEnd end) {
  std::string value;
  AppendNumber(end.time, &value);
  return txn.Put(EpochKey(end.epoch), value);
}

Status DeleteEpochEnd(kv::Txn& txn, uint64_t epoch) { return txn.Delete(EpochKey(epoch)); }

Result<bool> WasInSet(kv::Txn& txn) {
  ASSIGN_OR_RETURN(const auto mark, ReadApplied(txn));
  return mark.has_value();
}

}  // namespace quire::store
