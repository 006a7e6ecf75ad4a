// SPDX-License-Identifier: Apache-2.0
//
// What a server writes down about itself when it starts, where MongoDB's tools look for it.
#pragma once

#include "command/command.h"

namespace quire::command {

// Fills admin.system.version and local.system.replset where they are empty, and adds this start to
// local.startup_log. REQUIRES: info().host is the server's address.
Status NoteStart(Commands& commands);

}  // namespace quire::command
