// SPDX-License-Identifier: Apache-2.0
//
// Options of a sub-command as rows: parsing, --help and messages read the same table.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "quire/status.h"

namespace quire::apps {

struct ToolOption {
  std::string_view name;   // "db" for --db
  char letter;             // 'd' for -d; 0: none
  std::string_view value;  // what the help calls its value; "" for switches
  // A list takes a value each time the option is given.
  std::variant<bool*, int64_t*, double*, std::string*, std::vector<std::string>*> field;
  std::string_view help;
  int64_t min = 0;  // bounds of numbers
  int64_t max = INT64_MAX;
};

// Sets the fields of the rows from a command line (--name VALUE, --name=VALUE, -x VALUE; after "--"
// nothing is an option). What is no option goes to `words`. Error: BadValue with a text for the
// user.
Status ParseOptions(const std::vector<ToolOption>& rows, const std::vector<std::string>& arguments,
                    std::vector<std::string>* words);

// One paragraph per row.
std::string OptionHelp(const std::vector<ToolOption>& rows);

// The command line of a sub-command on its way to be run.
struct CommandStart {
  std::string_view command;  // "import"
  const std::vector<ToolOption>& rows;
  std::vector<std::string>* words;
  // Whether all there is to do was to answer (--help, --list), which it did.
  // `parsed`: every option was understood.
  std::function<bool(bool parsed)> answered;
  // Error: BadValue with a text for the user.
  std::function<Status()> check;
};

// Takes the arguments in. What the program exits with when it ends there: an answer was printed, or
// the usage is wrong and standard error says how.
std::optional<int> StartCommand(const CommandStart& start,
                                const std::vector<std::string>& arguments);

// What the sub-commands exit with.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;    // could not do it, or not to the end
inline constexpr int kExitBadUsage = 2;  // the command line is wrong; nothing was done
inline constexpr int kExitPartly = 3;    // done, but some of the input was refused

}  // namespace quire::apps
