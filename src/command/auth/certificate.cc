// SPDX-License-Identifier: Apache-2.0
//
// Certificates: logging in with one (MONGODB-X509), and exchanging the server's own.
#include <array>

#include "base/error_codes.h"
#include "base/log.h"
#include "base/try.h"
#include "command/auth/login.h"
#include "command/diagnostic.h"
#include "request/fields.h"

namespace quire::command {
namespace {

constexpr std::string_view kExternal = "$external";

struct CertificateLogin {
  std::string_view mechanism;
  std::string_view user;
  std::string_view database;
};
using C = CertificateLogin;
constexpr auto kLoginRows = std::to_array<request::FieldRow<C>>(
    {request::Field<&C::mechanism>("mechanism", request::Need::kRequired),
     request::Field<&C::user>("user"), request::Field<&C::database>("db")});

Status Failed(std::string text = "Authentication failed.") {
  return {kAuthenticationFailed, std::move(text)};
}

// The checks of who the client is, up to whether there is such a user.
Status CheckCertificate(Invocation& i, const CertificateLogin& asked, std::string_view database) {
  const request::Client& client = i.call.client;
  if (database != kExternal) {
    return {kProtocolError, "X.509 authentication must always use the $external database."};
  }
  if (!client.encrypted || client.certificate_subject.empty()) {
    return Failed("No verified subject name available from client");
  }
  if (!asked.user.empty() && asked.user != client.certificate_subject) {
    return Failed("There is no x.509 client certificate matching the user.");
  }
  if (client.member_certificate && i.commands.separate_members &&
      !i.commands.members.by_certificate()) {
    return Failed(
        "The certificate is one of a member: its O, OU and DC are those of the server's own");
  }
  return Status::Ok();
}

Status LogInByCertificate(Invocation& i, bson::View request, std::string_view database,
                          bool speculative, bson::Builder* reply) {
  CertificateLogin asked;
  RETURN_IF_ERROR(request::ReadFields<C>("authenticate", request, true, kLoginRows, &asked));
  if (asked.mechanism != kX509) {
    return Failed();
  }
  if (!i.commands.mechanisms.Enabled(kX509)) {
    return UnknownMechanism(asked.mechanism);
  }
  i.commands.mechanisms.CountReceived(kX509, speculative);
  if (speculative) {
    database = asked.database.empty() ? kExternal : asked.database;
  }
  const std::string& subject = i.call.client.certificate_subject;
  Status status = CheckCertificate(i, asked, database);
  if (status.ok()) {
    const bool member = i.call.client.member_certificate && i.commands.members.by_certificate();
    status =
        member ? LogIn(i, auth::kMemberUser, auth::kMemberDatabase) : LogIn(i, subject, database);
  }
  if (!status.ok()) {
    log::Info("ACCESS", "Authentication failed",
              {{"user", subject.empty() ? asked.user : std::string_view(subject)},
               {"mechanism", kX509},
               {"remote", i.call.client.remote()},
               {"error", status.message()}});
    return status;
  }
  i.commands.mechanisms.CountSuccess(kX509, speculative);
  reply->Append("dbname", database).Append("user", subject);
  return Status::Ok();
}

Status RunAuthenticate(Invocation& i) {
  return LogInByCertificate(i, i.body(), i.database(), false, &i.reply());
}

struct RotateRequest {
  std::string_view message;
  static constexpr auto kFields = std::to_array<request::FieldRow<RotateRequest>>(
      {request::Field<&RotateRequest::message>("message")});
};

Status RunRotateCertificates(Invocation& i) {
  RotateRequest asked;
  RETURN_IF_ERROR(request::ReadFields<RotateRequest>("rotateCertificates", i.body(), true,
                                                     RotateRequest::kFields, &asked));
  const auto& rotate = i.commands.info().rotate_certificates;
  if (!rotate) {
    return Status::Ok();  // without TLS there is nothing to read
  }
  log::Info("NETWORK", "Rotating certificates", {{"message", asked.message}});
  Status status = rotate();
  if (!status.ok()) {
    log::Error("NETWORK", "Certificates not rotated, those before stay in force",
               {{"message", asked.message}, {"error", status.message()}});
    return status;
  }
  const ServerCertificate now = i.commands.info().certificate();
  log::Info("NETWORK", "Certificates rotated",
            {{"message", asked.message}, {"subject", now.subject}});
  return Status::Ok();
}

}  // namespace

void AuthenticateSpeculatively(Invocation& i, bson::View request) {
  bson::Builder answer;
  if (LogInByCertificate(i, request, "", true, &answer).ok()) {
    bson::Document document = answer.Finish();
    i.reply().Append("speculativeAuthenticate", document);
  }
}

std::span<const Row> CertificateRows() {
  using request::kHandshake;
  static constexpr Row kRows[] = {
      {{"authenticate", "", kHandshake | request::kLogsIn | request::kStableApi,
        "logs in with a certificate"},
       RunAuthenticate,
       kAnyone},
      {{"rotateCertificates", "", request::kAdminOnly, "reads the server's certificates again"},
       RunRotateCertificates,
       OnCluster(Action::rotateCertificates)},
  };
  return kRows;
}

}  // namespace quire::command
