// SPDX-License-Identifier: Apache-2.0
//
// Authentication as a server without users answers it: nobody can log in, anybody may log out.
#include "base/error_codes.h"
#include "base/try.h"
#include "command/diagnostic.h"
#include "request/fields.h"

namespace quire::command {
namespace {

Status UnknownMechanism(std::string_view name) {
  return {kMechanismUnavailable, "Received authentication for mechanism " + std::string(name) +
                                     " which is unknown or not enabled"};
}

Result<std::string_view> MechanismOf(Invocation& i) {
  bson::Element mechanism = i.body().Find("mechanism");
  if (!mechanism.present()) {
    return request::MissingField(i.call.command.name, "mechanism");
  }
  if (mechanism.type() != bson::Type::kString) {
    return request::WrongType(i.call.command.name, mechanism, "string");
  }
  return mechanism.value().AsString();
}

Status RunLogout(Invocation&) { return Status::Ok(); }

Status RunSaslStart(Invocation& i) {
  ASSIGN_OR_RETURN(std::string_view mechanism, MechanismOf(i));
  if (mechanism != "SCRAM-SHA-1" && mechanism != "SCRAM-SHA-256") {
    return UnknownMechanism(mechanism);
  }
  return {kAuthenticationFailed, "Authentication failed."};
}

Status RunSaslContinue(Invocation&) { return {kProtocolError, "No SASL session state found"}; }

Status RunAuthenticate(Invocation& i) {
  ASSIGN_OR_RETURN(std::string_view mechanism, MechanismOf(i));
  return UnknownMechanism(mechanism);
}

}  // namespace

std::span<const Row> AuthenticationRows() {
  using request::kHandshake;
  static constexpr Row kRows[] = {
      {{"logout", "", kHandshake, "ends the login"}, RunLogout},
      {{"saslStart", "", kHandshake, "begins a login"}, RunSaslStart},
      {{"saslContinue", "", kHandshake, "goes on with a login"}, RunSaslContinue},
      {{"authenticate", "", kHandshake, "logs in with a certificate"}, RunAuthenticate},
  };
  return kRows;
}

}  // namespace quire::command
