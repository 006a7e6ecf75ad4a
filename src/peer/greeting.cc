// SPDX-License-Identifier: Apache-2.0
#include "base/error_codes.h"
#include "base/try.h"
#include "base/version.h"
#include "peer/greeting_internal.h"
#include "quire/doc.h"
#include "request/reply.h"

namespace quire::peer {
namespace {

std::string_view PayloadOf(bson::View reply) {
  const bson::Value payload = reply["payload"];
  return payload.type() == bson::Type::kBinary ? payload.AsBinary() : std::string_view();
}

bool IsDone(bson::View reply) {
  const bson::Value done = reply["done"];
  return done.type() == bson::Type::kBool && done.AsBool();
}

}  // namespace

bson::Document Greeting::Hello() const {
  return Doc("hello", 1, "client",
             Doc("application", Doc("name", options_.application), "driver",
                 Doc("name", "quire-peer", "version", kVersion), "os", Doc("type", "Linux")),
             "$db", "admin");
}

Result<std::optional<bson::Document>> Greeting::Next(bson::View reply) {
  RETURN_IF_ERROR(request::StatusOf(reply));
  switch (state_) {
    case State::kHello:
      return Login();
    case State::kChallenge: {
      ASSIGN_OR_RETURN(std::string proof, scram_->Prove(PayloadOf(reply), known_));
      state_ = State::kSignature;
      return std::optional(Continue(reply, proof));
    }
    case State::kSignature:
      RETURN_IF_ERROR(scram_->CheckSignature(PayloadOf(reply)));
      state_ = State::kLast;
      if (!IsDone(reply)) {
        return std::optional(Continue(reply, ""));
      }
      break;
    case State::kLast:
      break;
  }
  return std::optional<bson::Document>();
}

Result<std::optional<bson::Document>> Greeting::Login() {
  switch (options_.login.kind) {
    case Login::Kind::kNone:
      break;
    case Login::Kind::kKey: {
      ASSIGN_OR_RETURN(scram_, auth::ScramClient::Make(options_.login.user, options_.login.key));
      state_ = State::kChallenge;
      const std::string first = scram_->First();
      return std::optional(Doc("saslStart", 1, "mechanism", "SCRAM-SHA-256", "payload",
                               bson::Value::Binary(first, 0), "options",
                               Doc("skipEmptyExchange", true), "$db", options_.login.database));
    }
    case Login::Kind::kCertificate:
      state_ = State::kLast;
      return std::optional(Doc("authenticate", 1, "mechanism", "MONGODB-X509", "$db", "$external"));
  }
  return std::optional<bson::Document>();
}

bson::Document Greeting::Continue(bson::View reply, std::string_view payload) const {
  return Doc("saslContinue", 1, "conversationId", reply["conversationId"], "payload",
             bson::Value::Binary(payload, 0), "$db", options_.login.database);
}

}  // namespace quire::peer
