// SPDX-License-Identifier: Apache-2.0
#include "run/redact.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace quire::run {
namespace {

constexpr std::string_view kHidden = "xxx";
constexpr int kDeepest = 10;  // of explain in explain, which no command allows

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

bool IsSecret(std::string_view command, std::string_view field) {
  return std::find(std::begin(kEverywhere), std::end(kEverywhere), field) !=
             std::end(kEverywhere) ||
         std::any_of(std::begin(kSecrets), std::end(kSecrets), [&](const Secret& secret) {
           return secret.command == command && secret.field == field;
         });
}

// The command that explain runs, of those before it the innermost.
bool Wraps(const bson::Element& first) {
  return first.name() == "explain" && first.type() == bson::Type::kDocument &&
         !first.value().AsDocument().empty();
}

bool HasSecrets(bson::View command, int depth) {
  if (command.empty() || depth > kDeepest) {
    return depth > kDeepest;
  }
  std::string_view name = command.front().name();
  for (const bson::Element& e : command) {
    if (IsSecret(name, e.name())) {
      return true;
    }
  }
  return Wraps(command.front()) && HasSecrets(command.front().value().AsDocument(), depth + 1);
}

bson::Document Redact(bson::View command, int depth) {
  bson::Builder out;
  if (depth > kDeepest) {
    return out.Finish();
  }
  std::string_view name = command.empty() ? std::string_view() : command.front().name();
  bool first = true;
  for (const bson::Element& e : command) {
    if (first && Wraps(e)) {
      bson::Document inner = Redact(e.value().AsDocument(), depth + 1);
      out.Append(e.name(), inner.view());
    } else if (IsSecret(name, e.name())) {
      out.Append(e.name(), kHidden);
    } else {
      out.Append(e);
    }
    first = false;
  }
  return out.Finish();
}

}  // namespace

ShownCommand::ShownCommand(bson::View command) : command_(command) {
  if (HasSecrets(command, 0)) {
    redacted_ = Redact(command, 0);
  }
}

}  // namespace quire::run
