// SPDX-License-Identifier: Apache-2.0
#include "kv/rocks/versioned/memtable_node.h"

#include <algorithm>

namespace quire::kv::memtable {
namespace {

// How many bytes all keys between the two share; null is before and after all keys.
size_t SharedBytes(const char* low, const char* high) {
  if (low == nullptr || high == nullptr) {
    return 0;
  }
  const std::string_view a = UserKeyOf(low);
  const std::string_view b = UserKeyOf(high);
  const size_t common = std::min(a.size(), b.size());
  return static_cast<size_t>(std::mismatch(a.begin(), a.begin() + common, b.begin()).first -
                             a.begin());
}

}  // namespace

// By steps of eight, as keys of one index often begin alike.
int CompareRest(const char* entry, const Target& target, size_t skip) {
  const Target own = Target::Of(InternalKey(entry));
  const char* own_key = own.user_key.data();
  const char* other_key = target.user_key.data();
  const size_t common = std::min(own.user_key.size(), target.user_key.size());
  if (common < kHead) {
    if (const int order = memcmp(own_key, other_key, common); order != 0) {
      return order;
    }
    skip = common;
  }
  for (size_t at = skip; at < common; at += kHead) {
    const size_t from = std::min(at, common - kHead);  // the last step goes over bytes again
    const uint64_t a = BigEndian(own_key + from);
    const uint64_t b = BigEndian(other_key + from);
    if (a != b) {
      return a < b ? -1 : 1;
    }
  }
  if (own.user_key.size() != target.user_key.size()) {
    return own.user_key.size() < target.user_key.size() ? -1 : 1;
  }
  return own.version == target.version ? 0 : own.version > target.version ? -1 : 1;
}

void Node::SetPrefix(const char* high, const char* first, const char* last) {
  const size_t sure = SharedBytes(low, high);
  const std::string_view key = UserKeyOf(first);
  // A key alone: most end with a number of eight bytes that the next one differs in.
  size_t shared =
      first == last ? key.size() - std::min(key.size(), kHead) : SharedBytes(first, last);
  shared = std::clamp(shared, sure, sure + kMostPrefix);
  skip = static_cast<uint32_t>(shared);
  prefix_size = static_cast<uint16_t>(shared - sure);
  memcpy(prefix.data(), key.data() + sure, prefix_size);
}

bool Node::HasPrefix(const char* part) const {
  if (prefix_size < kHead) {
    return memcmp(part, prefix.data(), prefix_size) == 0;
  }
  uint64_t different = 0;
  for (size_t at = 0; at < prefix_size; at += kHead) {
    const size_t from = std::min(at, prefix_size - kHead);  // the last step goes over bytes again
    different |= BigEndian(part + from) ^ BigEndian(prefix.data() + from);
  }
  return different == 0;
}

int Node::ComparePrefix(std::string_view user_key) const {
  const char* part = user_key.data() + skip - prefix_size;
  if (user_key.size() >= skip) [[likely]] {
    return HasPrefix(part) ? 0 : memcmp(part, prefix.data(), prefix_size);
  }
  const int order = memcmp(part, prefix.data(), user_key.size() - (skip - prefix_size));
  return order != 0 ? order : -1;
}

int Node::Before(Order order, const Target& target, int from) const {
  if (const int side = ComparePrefix(target.user_key); side != 0) {
    return side < 0 ? from : std::max(from, order.count());
  }
  const uint64_t head = HeadOf(target.user_key, skip);
  auto is_before = [&](int position) {
    const auto slot = static_cast<size_t>(order.slot(position));
    return heads[slot] != head ? heads[slot] < head : CompareRest(entries[slot], target, skip) < 0;
  };
  // Keys in order come last, newer versions of a key first.
  int end = order.count();
  if (from == end || is_before(end - 1)) {
    return end;
  }
  if (!is_before(from)) {
    return from;
  }
  ++from;
  --end;
  while (from < end) {
    const int middle = (from + end) / 2;
    if (is_before(middle)) {
      from = middle + 1;
    } else {
      end = middle;
    }
  }
  return from;
}

}  // namespace quire::kv::memtable
