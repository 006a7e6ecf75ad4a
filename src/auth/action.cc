// SPDX-License-Identifier: Apache-2.0
#include "auth/action.h"

#include <algorithm>
#include <array>

namespace quire::auth {
namespace {

constexpr std::array<std::string_view, kActionCount> kNames = {
#define QUIRE_ACTION(name) #name,
    QUIRE_ACTIONS(QUIRE_ACTION)
#undef QUIRE_ACTION
};

}  // namespace

std::string_view ActionName(Action action) { return kNames[static_cast<size_t>(action)]; }

std::optional<Action> FindAction(std::string_view name) {
  auto at = std::find(kNames.begin(), kNames.end(), name);
  if (at == kNames.end()) {
    return std::nullopt;
  }
  return static_cast<Action>(at - kNames.begin());
}

}  // namespace quire::auth
