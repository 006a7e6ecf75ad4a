// SPDX-License-Identifier: Apache-2.0
//
// Commands as they are shown to people: in the log, system.profile, currentOp, error texts and the
// audit log. Passwords and the messages of logins are not in them.
#pragma once

#include <optional>

#include "quire/bson.h"

namespace quire::run {

// A command without its secrets, each replaced by "xxx". Whoever shows a command shows this.
class ShownCommand {
 public:
  // `command` outlives it.
  explicit ShownCommand(bson::View command);

  bson::View view() const { return redacted_ ? redacted_->view() : command_; }

 private:
  bson::View command_;
  std::optional<bson::Document> redacted_;  // when there is something to hide
};

}  // namespace quire::run
