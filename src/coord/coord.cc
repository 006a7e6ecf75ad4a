// SPDX-License-Identifier: Apache-2.0
#include "coord/coord.h"

#include <algorithm>
#include <set>

#include "base/error_codes.h"

namespace quire::coord {

const Entry* Answer::Find(std::string_view key) const {
  auto at = std::lower_bound(entries.begin(), entries.end(), key,
                             [](const Entry& e, std::string_view k) { return e.key < k; });
  return at == entries.end() || at->key != key ? nullptr : &*at;
}

Status CheckForm(const Transaction& transaction) {
  if (transaction.writes.empty()) {
    return {kBadValue, "A transaction of the coordination store has at least one write"};
  }
  size_t bytes = 0;
  std::set<std::string_view> written;
  for (const Write& write : transaction.writes) {
    if (write.key.empty()) {
      return {kBadValue, "A key of the coordination store is not empty"};
    }
    if (!written.insert(write.key).second) {
      return {kBadValue, "The key '" + write.key + "' is written twice in one transaction"};
    }
    bytes += write.key.size() + write.value.size();
  }
  for (const Compare& compare : transaction.compares) {
    if (compare.key.empty()) {
      return {kBadValue, "A key of the coordination store is not empty"};
    }
    bytes += compare.key.size();
  }
  const size_t operations =
      transaction.writes.size() + transaction.compares.size() + transaction.reads.size();
  if (operations > Transaction::kMostOperations || bytes > Transaction::kMostBytes) {
    return {kBadValue, "The transaction has " + std::to_string(operations) + " operations and " +
                           std::to_string(bytes) + " bytes; the coordination store takes " +
                           std::to_string(Transaction::kMostOperations) + " and " +
                           std::to_string(Transaction::kMostBytes)};
  }
  return Status::Ok();
}

std::string EndOfPrefix(std::string_view prefix) {
  std::string end(prefix);
  while (!end.empty() && static_cast<unsigned char>(end.back()) == 0xff) {
    end.pop_back();
  }
  if (!end.empty()) {
    end.back() = static_cast<char>(static_cast<unsigned char>(end.back()) + 1);
  }
  return end;
}

}  // namespace quire::coord
