// SPDX-License-Identifier: Apache-2.0
//
// Reading the parts of a configuration.
#pragma once

#include "quire/bson.h"
#include "quire/status.h"
#include "repl/core/config.h"

namespace quire::repl {

// Reads one member, and appends it to `out` with every default filled in.
Result<MemberConfig> ParseMember(bson::View member, bson::Builder* out);
// The same for `settings`; sets what `config` has of them.
Status ParseSettings(bson::View settings, SetConfig* config, bson::Builder* out);

}  // namespace quire::repl
