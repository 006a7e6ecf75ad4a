// SPDX-License-Identifier: Apache-2.0
#include "command/auth/mechanisms.h"

#include <algorithm>
#include <string>

#include "base/error_codes.h"
#include "base/try.h"

namespace quire::command {

std::optional<size_t> Mechanisms::Find(std::string_view name) {
  const auto* found = std::find(kNames.begin(), kNames.end(), name);
  return found == kNames.end() ? std::nullopt
                               : std::optional(static_cast<size_t>(found - kNames.begin()));
}

Result<unsigned> Mechanisms::BitsOf(std::string_view list) {
  unsigned bits = 0;
  while (!list.empty()) {
    std::string_view name = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), name.size() + 1));
    std::optional<size_t> at = Find(name);
    if (!at) {
      return Status(kBadValue, "Unknown authentication mechanism '" + std::string(name) + "'");
    }
    bits |= 1U << *at;
  }
  if (bits == 0) {
    return Status(kBadValue, "at least one authentication mechanism has to be named");
  }
  return bits;
}

bool Mechanisms::Enabled(std::string_view name) const {
  std::optional<size_t> at = Find(name);
  return at && ((enabled_.load(std::memory_order_relaxed) >> *at) & 1U) != 0;
}

Status Mechanisms::Enable(std::string_view list) {
  ASSIGN_OR_RETURN(unsigned bits, BitsOf(list));
  enabled_.store(bits, std::memory_order_relaxed);
  return Status::Ok();
}

Mechanisms::Tries& Mechanisms::tries(std::string_view name) { return tries_[*Find(name)]; }

void Mechanisms::CountReceived(std::string_view name, bool speculative) {
  Tries& counts = tries(name);
  counts.received.fetch_add(1, std::memory_order_relaxed);
  counts.speculative_received.fetch_add(speculative ? 1 : 0, std::memory_order_relaxed);
}

void Mechanisms::CountSuccess(std::string_view name, bool speculative) {
  Tries& counts = tries(name);
  counts.successful.fetch_add(1, std::memory_order_relaxed);
  counts.speculative_successful.fetch_add(speculative ? 1 : 0, std::memory_order_relaxed);
}

}  // namespace quire::command
