// SPDX-License-Identifier: Apache-2.0
//
// The three keys of a set as they lie in the coordination store:
//   <prefix>/config  {config: {...MongoDB's form...}, counter, nonce}
//   <prefix>/isr     {epoch, members: [{id, data}], floor, unclean, counter, nonce}
//   <prefix>/leader  {epoch, member, boot, host, counter, nonce}
// with <prefix> = /quire/<cluster>/sets/<set>, all in canonical extended JSON.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "coord/coord.h"
#include "quire/status.h"
#include "repl/core/events.h"
#include "repl/core/view.h"

namespace quire::repl {

struct KeyNames {
  KeyNames(const std::string& cluster, const std::string& set);

  std::string prefix;  // with a slash at its end
  std::string config;
  std::string isr;
  std::string leader;
};

// What the entries say; nothing when not all three keys are there. Error: FailedToParse.
Result<std::optional<View>> DecodeKeys(const KeyNames& names,
                                       std::span<const coord::Entry> entries);

// `host`: of the leader, for people who look at the keys.
coord::Transaction EncodeWrite(const KeyNames& names, const WriteKeys& write,
                               const std::string& host);

// Makes the keys of a new set: they must not be there.
coord::Transaction EncodeFirst(const KeyNames& names, const View& view, const Nonce& nonce,
                               const std::string& host);

}  // namespace quire::repl
