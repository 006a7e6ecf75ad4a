// SPDX-License-Identifier: Apache-2.0
#include "tool/options.h"

#include <charconv>
#include <cstdio>
#include <type_traits>

#include "base/error_codes.h"
#include "base/try.h"
#include "tool/text.h"

namespace quire::apps {
namespace {

constexpr size_t kHelpColumn = 26;

Status Bad(std::string text) { return {kBadValue, std::move(text)}; }

const ToolOption* FindRow(const std::vector<ToolOption>& rows, std::string_view name) {
  for (const ToolOption& row : rows) {
    if (row.name == name) {
      return &row;
    }
  }
  return nullptr;
}

const ToolOption* FindLetter(const std::vector<ToolOption>& rows, std::string_view argument) {
  for (const ToolOption& row : rows) {
    if (row.letter != 0 && argument.size() == 2 && argument[1] == row.letter) {
      return &row;
    }
  }
  return nullptr;
}

bool IsSwitch(const ToolOption& row) { return std::holds_alternative<bool*>(row.field); }

template <typename Number>
Status SetNumber(const ToolOption& row, const std::string& text, Number* number) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  if (error != std::errc() || end != text.data() + text.size()) {
    return Bad("--" + std::string(row.name) + ": '" + text + "' is not a " +
               (std::is_integral_v<Number> ? "whole number" : "number"));
  }
  if (!(*number >= static_cast<Number>(row.min) && *number <= static_cast<Number>(row.max))) {
    return Bad("--" + std::string(row.name) + ": '" + text + "' is not between " +
               std::to_string(row.min) + " and " + std::to_string(row.max));
  }
  return Status::Ok();
}

Status Set(const ToolOption& row, const std::string& text) {
  if (auto* number = std::get_if<int64_t*>(&row.field)) {
    return SetNumber(row, text, *number);
  }
  if (auto* number = std::get_if<double*>(&row.field)) {
    return SetNumber(row, text, *number);
  }
  if (auto* list = std::get_if<std::vector<std::string>*>(&row.field)) {
    (*list)->push_back(text);
    return Status::Ok();
  }
  if (auto* flag = std::get_if<bool*>(&row.field)) {
    if (text != "true" && text != "false") {
      return Bad("--" + std::string(row.name) + ": '" + text + "' is not true or false");
    }
    **flag = text == "true";
    return Status::Ok();
  }
  *std::get<std::string*>(row.field) = text;
  return Status::Ok();
}

}  // namespace

Status ParseOptions(const std::vector<ToolOption>& rows, const std::vector<std::string>& arguments,
                    std::vector<std::string>* words) {
  for (size_t at = 0; at < arguments.size(); ++at) {
    const std::string& argument = arguments[at];
    if (argument == "--") {
      words->insert(words->end(), arguments.begin() + static_cast<int64_t>(at) + 1,
                    arguments.end());
      break;
    }
    if (argument.size() < 2 || argument[0] != '-') {
      words->push_back(argument);
      continue;
    }
    const bool is_long = argument.starts_with("--");
    const size_t equals = is_long ? argument.find('=') : std::string::npos;
    const ToolOption* row =
        is_long ? FindRow(rows, argument.substr(0, equals).substr(2)) : FindLetter(rows, argument);
    if (row == nullptr) {
      return Bad("unknown option '" + argument + "'");
    }
    if (equals != std::string::npos) {
      RETURN_IF_ERROR(Set(*row, argument.substr(equals + 1)));
    } else if (IsSwitch(*row)) {
      RETURN_IF_ERROR(Set(*row, "true"));
    } else if (++at == arguments.size()) {
      return Bad("option '" + argument + "' needs a value");
    } else {
      RETURN_IF_ERROR(Set(*row, arguments[at]));
    }
  }
  return Status::Ok();
}

std::string OptionHelp(const std::vector<ToolOption>& rows) {
  std::string text;
  for (const ToolOption& row : rows) {
    std::string usage = row.letter != 0 ? std::string("  -") + row.letter + ", " : "      ";
    usage += "--" + std::string(row.name);
    usage += row.value.empty() ? "" : " " + std::string(row.value);
    usage += usage.size() < kHelpColumn ? std::string(kHelpColumn - usage.size(), ' ')
                                        : "\n" + std::string(kHelpColumn, ' ');
    text += usage + Wrapped(row.help, kHelpColumn) + "\n";
  }
  return text;
}

std::optional<int> StartCommand(const CommandStart& start,
                                const std::vector<std::string>& arguments) {
  Status usage = ParseOptions(start.rows, arguments, start.words);
  if (start.answered(usage.ok())) {
    return kExitOk;
  }
  usage = usage.ok() ? start.check() : usage;
  if (!usage.ok()) {
    const std::string name(start.command);
    fprintf(stderr, "quire %s: %s\n(quire %s --help lists the options)\n", name.c_str(),
            usage.message().c_str(), name.c_str());
    return kExitBadUsage;
  }
  return std::nullopt;
}

}  // namespace quire::apps
