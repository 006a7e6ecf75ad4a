// SPDX-License-Identifier: Apache-2.0
//
// Files that are there after a power failure.
#pragma once

#include <string>
#include <string_view>

#include "quire/status.h"

namespace quire::repl {

Status SyncFolder(const std::string& folder);
// Whole or not at all.
Status WriteDurably(const std::string& file, std::string_view bytes);
Result<std::string> ReadWhole(const std::string& file);
Status RenameDurably(const std::string& from, const std::string& to);
Status RemoveAll(const std::string& path);

}  // namespace quire::repl
