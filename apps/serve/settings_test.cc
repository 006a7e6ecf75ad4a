// SPDX-License-Identifier: Apache-2.0
#include "serve/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace quire::apps {
namespace {

using ::testing::HasSubstr;

std::string ErrorOf(const std::vector<std::string>& arguments) {
  auto parsed = ParseCommandLine(arguments);
  return parsed.ok() ? "" : parsed.status().message();
}

std::string WriteFile(const std::string& text) {
  std::string path = "/tmp/settings_test." + std::to_string(getpid()) + ".yaml";
  std::ofstream(path) << text;
  return path;
}

TEST(CommandLine, Forms) {
  auto parsed = ParseCommandLine({"--port", "1234", "--dbpath=/x y", "--quiet", "-vvv",
                                  "--setParameter", "a=1", "--setParameter=b=2=3",
                                  "--filePermissions", "0770", "--cacheSizeGB", "0.25"});
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  const Settings& s = parsed->settings;
  EXPECT_EQ(s.port, 1234);
  EXPECT_EQ(s.dbpath, "/x y");
  EXPECT_TRUE(s.quiet);
  EXPECT_EQ(s.verbosity, 3);
  EXPECT_THAT(s.set_parameter, ::testing::ElementsAre("a=1", "b=2=3"));
  EXPECT_EQ(s.file_permissions, 0770);
  EXPECT_EQ(s.cache_size_gb, 0.25);
  EXPECT_EQ(s.bind_ip, "127.0.0.1") << "a default";
}

TEST(CommandLine, WhatMemoryServerPasses) {
  auto parsed =
      ParseCommandLine({"--port", "0", "--dbpath", "/tmp/x", "--replSet", "testset",
                        "--storageEngine", "wiredTiger", "--bind_ip", "127.0.0.1", "--noauth"});
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  EXPECT_EQ(parsed->settings.repl_set, "testset");
}

TEST(CommandLine, MemberOfASet) {
  auto parsed = ParseCommandLine({"--replSet", "s0", "--coord", "http://127.0.0.1:2379,b:2379",
                                  "--clusterName", "shop", "--dbpath", "/tmp/x"});
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  EXPECT_EQ(parsed->settings.coord, "http://127.0.0.1:2379,b:2379");
  EXPECT_EQ(parsed->settings.cluster_name, "shop");
  const bson::Document shown = parsed->ToDocument();
  EXPECT_EQ(bson::ToJson(shown["replication"]),
            R"({"replSetName":"s0","coord":{"servers":"http://127.0.0.1:2379,b:2379"},)"
            R"("clusterName":"shop"})");
}

TEST(CommandLine, KeyFileIsRead) {
  const std::string path = testing::TempDir() + "quire_settings_test_key";
  std::ofstream(path) << "c2hhcmVk";
  std::filesystem::permissions(
      path, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  EXPECT_TRUE(ParseCommandLine({"--keyFile", path, "--clusterAuthMode", "keyFile"}).ok());
  std::ofstream(path) << "short";
  EXPECT_FALSE(ParseCommandLine({"--keyFile", path}).ok());
  std::filesystem::remove(path);
}

TEST(CommandLine, Errors) {
  struct Case {
    std::vector<std::string> arguments;
    std::string_view text;
  };
  const Case cases[] = {
      {{"--prot", "1"}, "did you mean '--port'?"},
      {{"--coord", "http://a:2379"}, "--coord needs --replSet"},
      {{"--coordUser", "root"}, "--coordUser needs --coord"},
      {{"--clusterName", "shop"}, "--clusterName needs --coord"},
      {{"--coord", "a", "--replSet", "s0", "--coordUser", "u"}, "need each other"},
      {{"--coord", "a", "--replSet", "s0", "--ephemeral"}, "keeps its data in a folder"},
      {{"--clusterAuthMode", "sendX509"}, "must be keyFile or x509"},
      {{"--clusterAuthMode", "keyFile"}, "needs --keyFile"},
      {{"--clusterAuthMode", "x509"}, "needs --tlsCAFile"},
      {{"--keyFile", "/does/not/exist"}, "cannot be read"},
      {{"--Port", "1"}, "did you mean '--port'?"},
      {{"--dpath=/x"}, "did you mean '--dbpath'?"},
      {{"--qqqqqqqqqqqqqqq"}, "unknown option '--qqqqqqqqqqqqqqq'"},
      {{"-x"}, "unknown option '-x'"},
      {{"--port"}, "needs a value"},
      {{"--port", "--quiet"}, "needs a value"},
      {{"--port", "abc"}, "is not a number"},
      {{"--port", "70000"}, "is not between 0 and 65535"},
      {{"--maxConns", "1"}, "is not between"},
      {{"--quiet=maybe"}, "is not true or false"},
      {{"--setParameter", "a"}, "name=value"},
      {{"stray"}, "unexpected argument"},
      {{"--fork"}, "needs --logpath"},
      {{"--logFormat", "xml"}, "must be text or json"},
      {{"--auditPath", "x"}, "need --auditDestination"},
      {{"--auditDestination", "file"}, "needs --auditPath"},
      {{"--auditDestination", "nowhere"}, "must be file, console or syslog"},
      {{"--auditDestination", "syslog", "--auditPath", "x"}, "needs --auditDestination file"},
      {{"--auditDestination", "console", "--auditFormat", "BSON"}, "must be JSON"},
      {{"--auditDestination", "console", "--auditFilter", "{a"}, "auditFilter"},
      {{"--storageEngine", "mmapv1"}, "unknown storage engine"},
      {{"--tlsMode", "requireSSL"}, "unsupported value for tlsMode"},
      {{"--tlsMode", "requireTLS"}, "need tlsCertificateKeyFile"},
      {{"--tlsCAFile", "x"}, "need to enable TLS"},
      {{"--tlsMode=allowTLS", "--tlsCertificateKeyFile=x", "--tlsDisabledProtocols=SSL3"},
       "Unrecognized disabledProtocols"},
      {{"--sslMode", "requireSSL"}, "use --tlsMode"},
      {{"--config", "/nonexistent/file"}, "cannot read configuration file"},
      {{"--config", "/tmp"}, "/tmp is a folder"},
      {{"--replSet", "s0", "--coord", "http://a/path", "--dbpath", "x"}, "write http://host:port"},
  };
  for (const Case& c : cases) {
    EXPECT_THAT(ErrorOf(c.arguments), HasSubstr(std::string(c.text))) << c.arguments[0];
  }
}

TEST(ConfigFile, NestedKeysAndTheCommandLineWins) {
  std::string path = WriteFile(R"(
storage:
  dbPath: /data/x
  wiredTiger:
    engineConfig:
      cacheSizeGB: 2
net:
  port: 28000
  bindIp: 127.0.0.1,::1
  unixDomainSocket:
    enabled: false
systemLog:
  destination: file
  path: /tmp/x.log
  logAppend: true
processManagement:
  fork: false
security:
  authorization: disabled
auditLog:
  destination: file
  format: JSON
  path: /tmp/audit.json
  filter: '{ atype: { $in: [ "authenticate", "authCheck" ] } }'
setParameter:
  logLevel: 2
)");
  auto parsed = ParseCommandLine({"--config", path, "--port", "1"});
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  const Settings& s = parsed->settings;
  EXPECT_EQ(s.dbpath, "/data/x");
  EXPECT_EQ(s.cache_size_gb, 2);
  EXPECT_EQ(s.port, 1);
  EXPECT_EQ(s.bind_ip, "127.0.0.1,::1");
  EXPECT_EQ(s.audit_destination, "file");
  EXPECT_EQ(s.audit_path, "/tmp/audit.json");
  EXPECT_TRUE(s.no_unix_socket);
  EXPECT_TRUE(s.logappend);
  EXPECT_THAT(s.set_parameter, ::testing::ElementsAre("logLevel=2"));
  bson::Document shown = parsed->ToDocument();
  EXPECT_EQ(shown["net"].AsDocument()["port"].AsInt32(), 1);
  EXPECT_EQ(shown["storage"].AsDocument()["dbPath"].AsString(), "/data/x");
  EXPECT_EQ(shown["setParameter"].AsDocument()["logLevel"].AsString(), "2");
  EXPECT_FALSE(shown["net"].AsDocument()["unixDomainSocket"].AsDocument()["enabled"].AsBool());
  std::remove(path.c_str());
}

TEST(ConfigFile, TlsWithoutItsSecret) {
  std::string path = WriteFile(R"(
net:
  tls:
    mode: preferTLS
    certificateKeyFile: /k.pem
    certificateKeyFilePassword: sesame
    CAFile: /ca.pem
    allowConnectionsWithoutCertificates: true
)");
  auto parsed = ParseCommandLine({"--config", path});
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  EXPECT_EQ(parsed->settings.tls_mode, "preferTLS");
  EXPECT_EQ(parsed->settings.tls_key_password, "sesame");
  EXPECT_TRUE(parsed->settings.tls_without_certificates);
  bson::Document shown = parsed->ToDocument();
  EXPECT_EQ(shown["net"].AsDocument()["tls"].AsDocument()["certificateKeyFilePassword"].AsString(),
            "<password>");
  std::remove(path.c_str());
  EXPECT_THAT(Shown({"x", "--tlsCertificateKeyFilePassword", "a", "--port", "1",
                     "--tlsCertificateKeyFilePassword=b"}),
              ::testing::ElementsAre("x", "--tlsCertificateKeyFilePassword", "<password>", "--port",
                                     "1", "--tlsCertificateKeyFilePassword=<password>"));
}

TEST(ConfigFile, Errors) {
  const std::pair<const char*, const char*> cases[] = {
      {"net:\n  prot: 1\n", "unknown option 'net.prot'; did you mean 'net.port'?"},
      {"wholly:\n  unlike: 1\n", "unknown option 'wholly.unlike'\n"},
      {"sharding:\n  clusterRole: shardsvr\n", "every replica set with --coord can be a shard"},
      {"systemLog:\n  destination: syslog\n", "logs go to standard output"},
      {"net:\n  port: [1, 2]\n", "'net.port' takes one value"},
      {"net: 1\n", "'net' holds options"},
      {"net:\n  port: x\n", "is not a number"},
      {"a: [b\n", "settings_test"},
      {"just text", "not a YAML map"},
      {"security:\n  authorization: perhaps\n", "must be enabled or disabled"},
      {"storage:\n  journal:\n    enabled: false\n", "cannot be turned off"},
  };
  for (const auto& [text, error] : cases) {
    std::string path = WriteFile(text);
    EXPECT_THAT(ErrorOf({"-f", path}) + "\n", HasSubstr(error)) << text;
    std::remove(path.c_str());
  }
}

TEST(Addresses, ThatOthersReach) {
  for (const char* address : {"0.0.0.0:27017", "[::]:27017", "10.0.0.5:27017", "[fe80::1]:1"}) {
    EXPECT_TRUE(ReachedFromOutside(address)) << address;
  }
  for (const char* address : {"127.0.0.1:27017", "127.1.2.3:1", "[::1]:27017", "/tmp/x.sock"}) {
    EXPECT_FALSE(ReachedFromOutside(address)) << address;
  }
}

TEST(Help, NamesEveryOption) {
  const std::string help =
      HelpText("quire serve", Role::kServer) + HelpText("quire route", Role::kRouter);
  for (const Option& option : AllOptions()) {
    EXPECT_THAT(help, HasSubstr("--" + std::string(option.name)));
    EXPECT_FALSE(option.help.empty());
  }
}

TEST(Help, TellsTheExitCodes) {
  for (Role role : {Role::kServer, Role::kRouter}) {
    EXPECT_THAT(HelpText("quire", role), HasSubstr("Exit codes"));
  }
}

TEST(Help, FitsAHundredColumns) {
  for (Role role : {Role::kServer, Role::kRouter}) {
    std::istringstream lines(HelpText("quire", role));
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(line.size(), 100U) << line;
    }
  }
}

// Whoever asks what is needed has not given it yet.
TEST(Help, IsGivenWhateverElseIsMissing) {
  for (const char* option : {"--help", "-h", "--version"}) {
    EXPECT_TRUE(ParseCommandLine({option}, Role::kRouter).ok()) << option;
    EXPECT_TRUE(ParseCommandLine({option, "--fork"}, Role::kServer).ok()) << option;
  }
}

}  // namespace
}  // namespace quire::apps
