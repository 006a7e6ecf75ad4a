// SPDX-License-Identifier: Apache-2.0
#include "run/redact.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>

namespace quire::run {
namespace {

constexpr std::string_view kHidden = "xxx";
constexpr int kDeepest = 10;  // what lies deeper is not shown

struct Secret {
  std::string_view command;
  std::string_view field;
};
constexpr Secret kSecrets[] = {
    {"createUser", "pwd"},
    {"updateUser", "pwd"},
    {"saslStart", "payload"},
    {"saslContinue", "payload"},
    {"authenticate", "key"},
    {"authenticate", "nonce"},
    {"authenticate", "pwd"},
    {"hello", "speculativeAuthenticate"},
    {"isMaster", "speculativeAuthenticate"},
    {"ismaster", "speculativeAuthenticate"},
};
// Of every command, whatever its name is: a name that was misspelt does not show the password that
// stands behind it. Data that clients store lies deeper.
constexpr std::string_view kEverywhere[] = {"pwd", "password", "speculativeAuthenticate"};
// Its arguments are parameters, of which some are passwords.
constexpr std::string_view kSetParameter = "setParameter";
bool SpeaksOfPasswords(std::string_view parameter) {
  constexpr std::string_view kPassword = "password";
  return std::search(parameter.begin(), parameter.end(), kPassword.begin(), kPassword.end(),
                     [](char a, char b) { return (a | 0x20) == b; }) != parameter.end();
}

bool IsSecret(std::string_view command, std::string_view field) {
  return std::find(std::begin(kEverywhere), std::end(kEverywhere), field) !=
             std::end(kEverywhere) ||
         (command == kSetParameter && SpeaksOfPasswords(field)) ||
         std::any_of(std::begin(kSecrets), std::end(kSecrets), [&](const Secret& secret) {
           return secret.command == command && secret.field == field;
         });
}

// Whether no part of the command is data of clients: secrets are hidden at any depth.
bool IsOfAccounts(std::string_view command) {
  return command == kSetParameter ||
         std::any_of(std::begin(kSecrets), std::end(kSecrets),
                     [&](const Secret& secret) { return secret.command == command; });
}

bool IsNested(const bson::Element& e) {
  return e.type() == bson::Type::kDocument || e.type() == bson::Type::kArray;
}

// False: nothing is to be hidden in it.
bool MayHoldSecrets(bson::View command) {
  if (command.empty() || IsNested(command.front())) {
    return !command.empty();
  }
  const std::string_view name = command.front().name();
  return std::any_of(command.begin(), command.end(), [&](const bson::Element& e) {
    return IsSecret(name, e.name()) || (IsNested(e) && IsOfAccounts(name));
  });
}

// What fields belong to.
enum class Part : unsigned char {
  kCommand,     // a document in the place of its name is a command: of explain, setQuerySettings
  kArguments,   // of a command of accounts, as deep as they lie
  kOperations,  // the list of applyOps
  kOperation,   // of which each document may be a command
};

// As what a nested field is gone through; nothing: it is shown as it is.
std::optional<Part> PartOf(Part outer, std::string_view command, const bson::Element& e,
                           bool first) {
  const bool document = e.type() == bson::Type::kDocument;
  switch (outer) {
    case Part::kArguments:
      return Part::kArguments;
    case Part::kOperations:
      return Part::kOperation;
    case Part::kOperation:
      return document ? std::optional(Part::kCommand) : std::nullopt;
    case Part::kCommand:
      break;
  }
  if (IsOfAccounts(command)) {
    return Part::kArguments;
  }
  if (!first) {
    return std::nullopt;
  }
  return document ? Part::kCommand : Part::kOperations;
}

void AppendShown(bson::View fields, Part part, std::string_view command, int depth,
                 bson::Builder* out) {
  if (part == Part::kCommand) {
    command = fields.empty() ? std::string_view() : fields.front().name();
  }
  bool first = true;
  for (const bson::Element& e : fields) {
    const auto inner = IsNested(e) ? PartOf(part, command, e, first) : std::nullopt;
    first = false;
    if (IsSecret(command, e.name()) || (inner && depth == kDeepest)) {
      out->Append(e.name(), kHidden);
    } else if (!inner) {
      out->Append(e);
    } else if (e.type() == bson::Type::kDocument) {
      out->BeginDocument(e.name());
      AppendShown(e.value().AsDocument(), *inner, command, depth + 1, out);
      out->End();
    } else {
      out->BeginArray(e.name());
      AppendShown(e.value().AsArray(), *inner, command, depth + 1, out);
      out->End();
    }
  }
}

}  // namespace

ShownCommand::ShownCommand(bson::View command) : command_(command) {
  if (MayHoldSecrets(command)) {
    bson::Builder out;
    AppendShown(command, Part::kCommand, "", 0, &out);
    redacted_ = out.Finish();
  }
}

}  // namespace quire::run
