// SPDX-License-Identifier: Apache-2.0
//
// The ways to log in: which are enabled, and how often each was tried.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>

#include "quire/status.h"

namespace quire::command {

inline constexpr std::string_view kX509 = "MONGODB-X509";

class Mechanisms {
 public:
  static constexpr std::array<std::string_view, 3> kNames = {kX509, "SCRAM-SHA-1", "SCRAM-SHA-256"};

  // Logins by one mechanism, those hello began (speculative) among them.
  struct Tries {
    std::atomic<int64_t> received{0};
    std::atomic<int64_t> successful{0};
    std::atomic<int64_t> speculative_received{0};
    std::atomic<int64_t> speculative_successful{0};
  };

  bool Enabled(std::string_view name) const;
  // From then on only those of a list separated by commas. Error: BadValue for one that does not
  // exist, or none.
  Status Enable(std::string_view list);
  static Status CheckList(std::string_view list) { return BitsOf(list).status(); }

  // REQUIRES: `name` is one of kNames.
  Tries& tries(std::string_view name);
  void CountReceived(std::string_view name, bool speculative);
  void CountSuccess(std::string_view name, bool speculative);

  std::atomic<int64_t> supported_asked{0};  // hellos with saslSupportedMechs

 private:
  static std::optional<size_t> Find(std::string_view name);
  static Result<unsigned> BitsOf(std::string_view list);

  std::atomic<unsigned> enabled_{(1U << kNames.size()) - 1};
  std::array<Tries, kNames.size()> tries_;
};

}  // namespace quire::command
