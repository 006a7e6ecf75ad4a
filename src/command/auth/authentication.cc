// SPDX-License-Identifier: Apache-2.0
//
// Logging in and out: SCRAM conversations over saslStart and saslContinue.
#include <algorithm>
#include <array>
#include <chrono>

#include "base/error_codes.h"
#include "base/log.h"
#include "base/try.h"
#include "command/auth/login.h"
#include "command/diagnostic.h"
#include "command/own_documents.h"
#include "request/fields.h"

namespace quire::command {
namespace {

constexpr int32_t kConversation = 1;

// A login under way.
struct Conversation : request::Attachment {
  explicit Conversation(auth::Mechanism m) : mechanism(m), scram(m) {}
  const auth::Mechanism mechanism;
  auth::ScramServer scram;
  std::string database;
  bool known = true;  // the user exists and can log in so
  bool skip_empty_exchange = false;
  bool proven = false;       // only the empty last exchange is missing
  bool speculative = false;  // begun by hello
};

Status Failed() { return {kAuthenticationFailed, "Authentication failed."}; }

struct SaslRequest {
  std::string_view mechanism;
  bson::Value payload;
  std::optional<bson::View> options;
  std::string_view database;
  int32_t conversation = 0;
  bool auto_authorize = false;
};
using S = SaslRequest;
constexpr auto kStartRows = std::to_array<request::FieldRow<S>>(
    {request::Field<&S::mechanism>("mechanism", request::Need::kRequired),
     request::Field<&S::payload>("payload", request::Need::kRequired),
     request::Field<&S::options>("options"), request::Field<&S::database>("db"),
     request::Field<&S::auto_authorize>("autoAuthorize")});
constexpr auto kContinueRows = std::to_array<request::FieldRow<S>>(
    {request::Field<&S::conversation>("conversationId", request::Need::kRequired),
     request::Field<&S::payload>("payload", request::Need::kRequired)});

std::string UserId(const Conversation& conversation) {
  return conversation.database + "." + conversation.scram.user();
}

std::chrono::milliseconds Now() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now().time_since_epoch());
}

void LogFailure(Invocation& i, const Conversation& conversation, std::string_view why) {
  log::Info("ACCESS", "Authentication failed",
            {{"user", UserId(conversation)},
             {"mechanism", auth::MechanismName(conversation.mechanism)},
             {"remote", i.call.client.remote()},
             {"reason", why}});
}

// The bytes of a payload: binary, or base64 in a string. They may be kept until the login ends, so
// there are not many.
Result<std::string> PayloadOf(std::string_view command, const bson::Value& payload) {
  constexpr size_t kMaxPayload = 8 << 10;
  const size_t size = payload.type() == bson::Type::kBinary ? payload.AsBinary().size()
                      : payload.is_string()                 ? payload.AsString().size() / 4 * 3
                                                            : 0;
  if (size > kMaxPayload) {
    return Failed();
  }
  if (payload.type() == bson::Type::kBinary) {
    return std::string(payload.AsBinary());
  }
  if (payload.is_string()) {
    std::optional<std::string> bytes = auth::FromBase64(payload.AsString());
    if (bytes) {
      return *std::move(bytes);
    }
    return Status(kBadValue, "the payload is not valid base64");
  }
  return Status(kTypeMismatch, "BSON field '" + std::string(command) +
                                   ".payload' is the wrong type '" +
                                   std::string(bson::TypeName(payload.type())) +
                                   "', expected types '[binData, string]'");
}

void AppendStep(bson::Builder* reply, bool done, const std::string& payload, bool as_text) {
  reply->Append("conversationId", kConversation).Append("done", done);
  if (as_text) {
    reply->Append("payload", auth::Base64(payload));
  } else {
    reply->Append("payload", bson::Value::Binary(payload, 0));
  }
}

// Begins a conversation; appends its first step to *reply.
Status Start(Invocation& i, const SaslRequest& asked, std::string_view database, bool speculative,
             bson::Builder* reply) {
  i.call.client.login_under_way = nullptr;
  std::optional<auth::Mechanism> mechanism = auth::FindMechanism(asked.mechanism);
  if (!mechanism || !i.commands.mechanisms.Enabled(asked.mechanism)) {
    return UnknownMechanism(asked.mechanism);
  }
  i.commands.mechanisms.CountReceived(asked.mechanism, speculative);
  ASSIGN_OR_RETURN(std::string payload, PayloadOf("saslStart", asked.payload));
  auto conversation = std::make_shared<Conversation>(*mechanism);
  conversation->database = database;
  conversation->speculative = speculative;
  if (asked.options) {
    conversation->skip_empty_exchange = Truthy((*asked.options)["skipEmptyExchange"]);
  }
  if (!conversation->scram.ReadFirst(payload).ok()) {
    return Failed();
  }
  const std::string id = UserId(*conversation);
  std::optional<bson::Document> user;
  std::optional<auth::Credential> credential;
  if (i.commands.members.Is(conversation->scram.user(), database)) {
    credential = i.commands.members.CredentialOf(*mechanism);
  } else {
    ASSIGN_OR_RETURN(user, LoadOwn(i.engine, kUsers, bson::Value(std::string_view(id))));
    if (user) {
      credential = CredentialOf(user->view(), *mechanism);
    }
  }
  // hello names the mechanisms that a user does have: the client takes another one.
  const bool guessed_wrong = user && speculative;
  if (!credential && (guessed_wrong || !i.commands.info().access_control)) {
    if (!speculative) {
      LogFailure(i, *conversation, "no such user, or not by this mechanism");
    }
    return Failed();
  }
  if (!credential) {
    // Goes on as with a wrong password, so that nobody learns who exists.
    conversation->known = false;
    credential = i.commands.login_guard().StandIn(*mechanism, id);
  }
  std::string challenge = conversation->scram.Challenge(*std::move(credential));
  AppendStep(reply, false, challenge, asked.payload.is_string());
  i.call.client.login_under_way = std::move(conversation);
  return Status::Ok();
}

Status RunSaslStart(Invocation& i) {
  SaslRequest asked;
  RETURN_IF_ERROR(
      request::ReadFields<SaslRequest>("saslStart", i.body(), true, kStartRows, &asked));
  RETURN_IF_ERROR(Start(i, asked, i.database(), false, &i.reply()));
  auto conversation = std::static_pointer_cast<Conversation>(i.call.client.login_under_way);
  LoginGuard& guard = i.commands.login_guard();
  i.call.outcome.delay =
      guard.failed().Begin(i.call.client.origin(), UserId(*conversation), Now(),
                           std::chrono::milliseconds(guard.most_delay_millis.load()));
  return Status::Ok();
}

Status FinishLogin(Invocation& i, const Conversation& conversation) {
  RETURN_IF_ERROR(LogIn(i, conversation.scram.user(), conversation.database));
  i.commands.login_guard().failed().Succeeded(i.call.client.origin(), UserId(conversation));
  i.commands.mechanisms.CountSuccess(auth::MechanismName(conversation.mechanism),
                                     conversation.speculative);
  return Status::Ok();
}

Status RunSaslContinue(Invocation& i) {
  SaslRequest asked;
  RETURN_IF_ERROR(
      request::ReadFields<SaslRequest>("saslContinue", i.body(), true, kContinueRows, &asked));
  auto conversation = std::static_pointer_cast<Conversation>(i.call.client.login_under_way);
  if (conversation == nullptr) {
    return {kProtocolError, "No SASL session state found"};
  }
  if (asked.conversation != kConversation) {
    return {kProtocolError, "sasl: Mismatched conversation id"};
  }
  bool as_text = asked.payload.is_string();
  ASSIGN_OR_RETURN(std::string payload, PayloadOf("saslContinue", asked.payload));
  if (conversation->proven) {
    RETURN_IF_ERROR(FinishLogin(i, *conversation));
    AppendStep(&i.reply(), true, "", as_text);
    return Status::Ok();
  }
  auto signature = conversation->scram.Verify(payload);
  if (!signature.ok()) {
    i.call.client.login_under_way = nullptr;
    LogFailure(i, *conversation,
               conversation->known ? "wrong password" : "no such user, or not by this mechanism");
    i.commands.login_guard().failed().Failed(i.call.client.origin(), UserId(*conversation), Now());
    return signature.status();
  }
  conversation->proven = true;
  if (conversation->skip_empty_exchange) {
    RETURN_IF_ERROR(FinishLogin(i, *conversation));
  }
  AppendStep(&i.reply(), conversation->skip_empty_exchange, *signature, as_text);
  return Status::Ok();
}

// Drops a login that was begun with hello when it has to wait.
bool SlowedDown(Invocation& i) {
  auto conversation = std::static_pointer_cast<Conversation>(i.call.client.login_under_way);
  LoginGuard& guard = i.commands.login_guard();
  const bool slow = guard.most_delay_millis.load() > 0 &&
                    guard.failed().Slows(i.call.client.origin(), UserId(*conversation), Now());
  if (slow) {
    i.call.client.login_under_way = nullptr;
  }
  return slow;
}

Status RunLogout(Invocation& i) {
  SetLogin(i.call.client, nullptr);
  i.call.client.login_under_way = nullptr;
  return Status::Ok();
}

}  // namespace

void StartSpeculatively(Invocation& i, bson::View request) {
  if (!request.empty() && request.front().name() == "authenticate") {
    AuthenticateSpeculatively(i, request);
    return;
  }
  SaslRequest asked;
  if (request.empty() || request.front().name() != "saslStart" ||
      !request::ReadFields<SaslRequest>("saslStart", request, true, kStartRows, &asked).ok()) {
    return;
  }
  bson::Builder step;
  // After failed logins the client is left to ask for itself, and to wait.
  if (Start(i, asked, asked.database.empty() ? "admin" : asked.database, true, &step).ok() &&
      !SlowedDown(i)) {
    bson::Document document = step.Finish();
    i.reply().Append("speculativeAuthenticate", document);
  }
}

std::span<const Row> AuthenticationRows() {
  using request::kHandshake;
  using request::kLogsIn;
  using request::kStableApi;
  static constexpr Row kRows[] = {
      {{"logout", "", kHandshake, "ends the login"}, RunLogout, kAnyone},
      {{"saslStart", "", kHandshake | kLogsIn | kStableApi, "begins a login"},
       RunSaslStart,
       kAnyone},
      {{"saslContinue", "", kHandshake | kLogsIn | kStableApi, "goes on with a login"},
       RunSaslContinue,
       kAnyone},
  };
  return kRows;
}

}  // namespace quire::command
