// SPDX-License-Identifier: Apache-2.0
#include "store/records/conversion.h"

#include <string>
#include <string_view>

#include "base/try.h"
#include "store/layout.h"

namespace quire::store {

namespace {

constexpr std::string_view kUnderWay = "3";  // the format its documents come from
constexpr std::string_view kDone = "4";

std::string Key() { return MetaKey(kFormatKind, ""); }

Status SetMark(kv::Txn& txn, std::string_view mark) {
  RETURN_IF_ERROR(txn.Put(Key(), mark));
  return txn.Commit(kv::Durability::kProcess);
}

}  // namespace

Result<bool> NeedsConversion(kv::Store& store) {
  ASSIGN_OR_RETURN(auto txn, store.Begin({}));
  kv::ReadValue mark;
  ASSIGN_OR_RETURN(const bool marked, txn->Get(Key(), &mark));
  if (marked) {
    return mark.view() != kDone;
  }
  const std::string catalog = MetaKey('C', "");
  ASSIGN_OR_RETURN(auto entries,
                   txn->Scan({catalog, kv::PrefixEnd(catalog)}, kv::Direction::kForward));
  ASSIGN_OR_RETURN(const bool any, entries->Next());
  entries.reset();
  RETURN_IF_ERROR(SetMark(*txn, any ? kUnderWay : kDone));
  return any;
}

Status EndConversion(kv::Store& store) {
  ASSIGN_OR_RETURN(auto txn, store.Begin({}));
  return SetMark(*txn, kDone);
}

}  // namespace quire::store
