// SPDX-License-Identifier: Apache-2.0
//
// Logins by certificate, restrictions and rotateCertificates on a node in memory: what the door
// tells of the connection is made up.
#include <gmock/gmock.h>

#include "base/error_codes.h"
#include "command/diagnostic.h"
#include "command/testing/harness.h"

namespace quire::command {
namespace {

using ::testing::HasSubstr;

constexpr const char* kSubject = "CN=ann,O=Acme";
constexpr const char* kLogin = R"({"authenticate": 1, "mechanism": "MONGODB-X509"})";

class CertificateTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(CodeOf(node_.Run(R"({"createUser": "CN=ann,O=Acme", "roles": []})", "$external")), 0);
    client_.encrypted = true;
    client_.certificate_subject = kSubject;
  }
  static int CodeOf(const bson::Document& reply) {
    return reply["ok"].AsDouble() == 1 ? 0 : reply["code"].AsInt32();
  }
  bson::Document LogIn(const char* json = kLogin, const char* database = "$external") {
    return node_.RunAs(client_, json, database);
  }
  // How often logins by certificate were tried, and succeeded.
  std::string Counts() {
    bson::Document status = node_.Run(R"({"serverStatus": 1})", "admin");
    return bson::ToJson(status["security"]
                            .AsDocument()["authentication"]
                            .AsDocument()["mechanisms"]
                            .AsDocument()["MONGODB-X509"]
                            .AsDocument()["authenticate"]
                            .AsDocument());
  }

  Node node_;
  request::Client client_{"192.0.2.7:5000", "198.51.100.1:27017"};
};

TEST_F(CertificateTest, LogsIn) {
  bson::Document reply = LogIn();
  EXPECT_EQ(reply["dbname"].AsString(), "$external");
  EXPECT_EQ(reply["user"].AsString(), kSubject);
  ASSERT_NE(client_.login, nullptr);
  bson::Document status = node_.RunAs(client_, R"({"connectionStatus": 1})", "admin");
  EXPECT_THAT(bson::ToJson(status.view()),
              HasSubstr(R"({"user":"CN=ann,O=Acme","db":"$external"})"));
  EXPECT_EQ(Counts(), R"({"received":1,"successful":1})");
}

TEST_F(CertificateTest, Refused) {
  struct Case {
    const char* what;
    void (*change)(request::Client* client);
    const char* json;
    const char* database;
    int code;
  };
  auto nothing = [](request::Client*) {};
  const Case cases[] = {
      {"plain", [](request::Client* c) { c->encrypted = false; }, kLogin, "$external", 18},
      {"no certificate", [](request::Client* c) { c->certificate_subject = ""; }, kLogin,
       "$external", 18},
      {"unknown", [](request::Client* c) { c->certificate_subject = "CN=eve"; }, kLogin,
       "$external", 18},
      {"a member's", [](request::Client* c) { c->member_certificate = true; }, kLogin, "$external",
       18},
      {"somebody else", nothing,
       R"({"authenticate": 1, "mechanism": "MONGODB-X509", "user": "CN=eve"})", "$external", 18},
      {"elsewhere", nothing, kLogin, "admin", kProtocolError},
      {"no mechanism", nothing, R"({"authenticate": 1})", "$external", 40414},
      {"another", nothing, R"({"authenticate": 1, "mechanism": "SCRAM-SHA-1"})", "$external", 18},
      {"a number", nothing, R"({"authenticate": 1, "mechanism": 1})", "$external", 14},
      {"a field too many", nothing, R"({"authenticate": 1, "mechanism": "MONGODB-X509", "x": 1})",
       "$external", 40415},
  };
  for (const Case& c : cases) {
    request::Client client("192.0.2.7:5000", "198.51.100.1:27017");
    client.encrypted = true;
    client.certificate_subject = kSubject;
    c.change(&client);
    EXPECT_EQ(CodeOf(node_.RunAs(client, c.json, c.database)), c.code) << c.what;
    EXPECT_EQ(client.login, nullptr) << c.what;
  }
  EXPECT_EQ(Counts(), R"({"received":6,"successful":0})");
}

TEST_F(CertificateTest, ParametersDecideWhich) {
  client_.member_certificate = true;
  ASSERT_TRUE(SetStartupParameters(node_.commands(), {"enforceUserClusterSeparation=false"}).ok());
  EXPECT_EQ(CodeOf(LogIn()), 0);
  ASSERT_TRUE(
      SetStartupParameters(node_.commands(), {"authenticationMechanisms=SCRAM-SHA-1,SCRAM-SHA-256"})
          .ok());
  EXPECT_EQ(CodeOf(LogIn()), kMechanismUnavailable);
  for (const char* bad : {"authenticationMechanisms=PLAIN", "authenticationMechanisms=",
                          "authenticationMechanisms=SCRAM-SHA-1,,", "opensslCipherConfig=1"}) {
    EXPECT_FALSE(SetStartupParameters(node_.commands(), {bad}).ok()) << bad;
  }
  EXPECT_EQ(
      CodeOf(node_.Run(R"({"setParameter": 1, "authenticationMechanisms": "PLAIN"})", "admin")),
      kIllegalOperation);
}

TEST_F(CertificateTest, RestrictionsCountForItToo) {
  auto restrict = [&](const char* list) {
    std::string json = R"({"updateUser": "CN=ann,O=Acme", "authenticationRestrictions": )";
    ASSERT_EQ(CodeOf(node_.Run(json + list + "}", "$external")), 0);
  };
  restrict(R"([{"clientSource": ["192.0.2.0/24"], "serverAddress": ["198.51.100.1"]}])");
  EXPECT_EQ(CodeOf(LogIn()), 0);
  restrict(R"([{"clientSource": ["192.0.2.0/24"], "serverAddress": ["198.51.100.2"]}])");
  EXPECT_EQ(CodeOf(LogIn()), kAuthenticationFailed);
  restrict("[]");
  EXPECT_EQ(CodeOf(LogIn()), 0);
}

TEST_F(CertificateTest, Rotation) {
  EXPECT_EQ(CodeOf(node_.Run(R"({"rotateCertificates": 1})", "admin")), 0) << "without TLS";
  int rotated = 0;
  Status outcome = Status::Ok();
  node_.commands().info().rotate_certificates = [&] {
    ++rotated;
    return outcome;
  };
  node_.commands().info().certificate = [] { return ServerCertificate{"CN=new", {}, true}; };
  EXPECT_EQ(CodeOf(node_.Run(R"({"rotateCertificates": 1, "message": "yearly"})", "admin")), 0);
  outcome = {kInvalidSSLConfiguration, "broken"};
  EXPECT_EQ(CodeOf(node_.Run(R"({"rotateCertificates": 1})", "admin")), kInvalidSSLConfiguration);
  EXPECT_EQ(CodeOf(node_.Run(R"({"rotateCertificates": 1})", "test")), kUnauthorized);
  EXPECT_EQ(rotated, 2);
  bson::Document status = node_.Run(R"({"serverStatus": 1})", "admin");
  EXPECT_EQ(status["security"].AsDocument()["SSLServerSubjectName"].AsString(), "CN=new");
}

}  // namespace
}  // namespace quire::command
