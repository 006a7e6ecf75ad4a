// SPDX-License-Identifier: Apache-2.0
//
// What only a store at the other end of a network shows: servers that are away, hang or ask for
// logins and certificates.
#include "coord/etcd/etcd_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "base/error_codes.h"
#include "base/log.h"
#include "coord/testing/etcd_process.h"

namespace quire::coord {
namespace {

Deadline In(int millis) {
  return std::chrono::steady_clock::now() + std::chrono::milliseconds(millis);
}

const Transaction kSet{.writes = {Put("k", "v")}, .reads = {"k"}};

TEST(EtcdStore, AddressesThatAreNone) {
  for (const char* servers : {"", "http://", "http://a:1,,b:2", "http://a b", "http://a/path"}) {
    auto store = OpenEtcd({.servers = servers});
    ASSERT_FALSE(store.ok()) << servers;
    EXPECT_EQ(store.status().code(), kBadValue);
  }
  EXPECT_TRUE(OpenEtcd({.servers = "http://127.0.0.1:1/,127.0.0.1:2"}).ok());
}

TEST(EtcdStore, PassesOverServersThatAreAway) {
  EtcdProcess etcd;
  // Port 1 refuses.
  auto store = OpenEtcd({.servers = "http://127.0.0.1:1," + etcd.url()});
  ASSERT_TRUE(EtcdProcess::Await(**store));
  EXPECT_TRUE((*store)->Transact(kSet, In(10'000)).ok());
  etcd.Kill();
  EXPECT_EQ((*store)->Transact(kSet, In(10'000)).status().code(), kHostUnreachable);
  etcd.Start();
  ASSERT_TRUE(EtcdProcess::Await(**store));
  EXPECT_EQ((*store)->List({.prefix = "k"}, In(10'000))->entries.size(), 1U);
}

// How often the log tells so of the store at `url`.
size_t Told(const std::string& text, const std::string& url) {
  const auto lines = log::RecentLines().lines;
  return static_cast<size_t>(std::count_if(lines.begin(), lines.end(), [&](const auto& line) {
    return line.find(text) != std::string::npos && line.find(url) != std::string::npos;
  }));
}

TEST(EtcdStore, TheLogTellsOnceThatItIsAway) {
  EtcdProcess etcd;
  auto store = OpenEtcd({.servers = etcd.url()});
  ASSERT_TRUE(EtcdProcess::Await(**store));
  etcd.Kill();
  const size_t before = Told("cannot be used", etcd.url());  // it took its time to start
  EXPECT_FALSE((*store)->Transact(kSet, In(10'000)).ok());
  EXPECT_EQ(Told("cannot be used", etcd.url()), before) << "once may be chance";
  for (int i = 0; i < 4; ++i) {
    EXPECT_FALSE((*store)->Transact(kSet, In(10'000)).ok());
  }
  EXPECT_EQ(Told("cannot be used", etcd.url()), before + 1);
  EXPECT_EQ(Told("can be used again", etcd.url()), before);
  etcd.Start();
  ASSERT_TRUE(EtcdProcess::Await(**store));
  EXPECT_EQ(Told("can be used again", etcd.url()), before + 1);
}

TEST(EtcdStore, DeadlineEndsAHangingCall) {
  EtcdProcess etcd;
  auto store = OpenEtcd({.servers = etcd.url()});
  ASSERT_TRUE(EtcdProcess::Await(**store));
  etcd.Pause();
  EXPECT_EQ((*store)->Transact(kSet, In(200)).status().code(), kNetworkTimeout);
  EXPECT_EQ((*store)->Transact(kSet, In(-1)).status().code(), kNetworkTimeout);
  etcd.Resume();
  // What timed out was sent: it may be done by now.
  EXPECT_TRUE((*store)->Transact(kSet, In(10'000)).ok());
}

TEST(EtcdStore, WatchGoesOnAfterARestart) {
  EtcdProcess etcd;
  auto store = OpenEtcd({.servers = etcd.url()});
  ASSERT_TRUE(EtcdProcess::Await(**store));
  std::atomic<int> told{0};
  auto watcher = (*store)->Watch("k", [&] { ++told; });
  auto await_more_than = [&](int count) {
    for (int i = 0; i < 3000 && told <= count; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return told > count;
  };
  ASSERT_TRUE(await_more_than(0));
  etcd.Kill();
  for (int i = 0; i < 3000 && Told("cannot be used", etcd.url()) == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_GT(Told("cannot be used", etcd.url()), 0U) << "though nobody calls";
  const int before = told;
  etcd.Start();
  ASSERT_TRUE(await_more_than(before));
  ASSERT_TRUE(EtcdProcess::Await(**store));
  const int again = told;
  ASSERT_TRUE((*store)->Transact(kSet, In(10'000)).ok());
  EXPECT_TRUE(await_more_than(again));
}

int Shell(const std::string& command) {
  return std::system((command + " >/dev/null 2>&1").c_str());
}

TEST(EtcdStore, Logins) {
  EtcdProcess etcd({"--auth-token-ttl", "1"});
  auto stranger = OpenEtcd({.servers = etcd.url()});
  ASSERT_TRUE(EtcdProcess::Await(**stranger));
  const std::string post = "curl -sf " + etcd.url() + "/v3/auth/";
  ASSERT_EQ(Shell(post + R"(user/add -d '{"name":"root","password":"secret"}')"), 0);
  ASSERT_EQ(Shell(post + R"(role/add -d '{"name":"root"}')"), 0);
  ASSERT_EQ(Shell(post + R"(user/grant -d '{"user":"root","role":"root"}')"), 0);
  ASSERT_EQ(Shell(post + "enable -d '{}'"), 0);

  EXPECT_EQ((*stranger)->Transact(kSet, In(10'000)).status().code(), kUnauthorized);
  auto wrong = OpenEtcd({.servers = etcd.url(), .user = "root", .password = "x"});
  EXPECT_EQ((*wrong)->Transact(kSet, In(10'000)).status().code(), kAuthenticationFailed);
  auto store = OpenEtcd({.servers = etcd.url(), .user = "root", .password = "secret"});
  EXPECT_TRUE((*store)->Transact(kSet, In(10'000)).ok());
  // A token that has expired is renewed.
  etcd.Kill();
  etcd.Start();
  auto renewed = (*store)->Transact(kSet, In(100));
  for (int i = 0; i < 100 && !renewed.ok(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    renewed = (*store)->Transact(kSet, In(1000));
  }
  EXPECT_TRUE(renewed.ok()) << renewed.status().ToString();
}

class TestCertificates {
 public:
  TestCertificates() {
    char folder[] = "/tmp/quire-coord-tls-XXXXXX";
    folder_ = mkdtemp(folder);
    Make("ca", "-addext basicConstraints=critical,CA:TRUE");
    Make("other", "-addext basicConstraints=critical,CA:TRUE");
    Sign("server");
    Sign("client");
  }
  ~TestCertificates() { std::filesystem::remove_all(folder_); }
  TestCertificates(const TestCertificates&) = delete;
  TestCertificates& operator=(const TestCertificates&) = delete;
  std::string File(const std::string& name) const { return folder_ + "/" + name; }

 private:
  void Make(const std::string& name, const std::string& options) {
    EXPECT_EQ(Shell("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 "
                    "-subj /CN=" +
                    name + " " + options + " -keyout " + File(name + ".key") + " -out " +
                    File(name + ".pem")),
              0);
  }
  void Sign(const std::string& name) {
    EXPECT_EQ(Shell("openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=" +
                    name + " -keyout " + File(name + ".key") + " -out " + File(name + ".csr")),
              0);
    EXPECT_EQ(Shell("printf 'subjectAltName=IP:127.0.0.1' > " + File("ext") +
                    " && openssl x509 -req -days 2 -in " + File(name + ".csr") + " -CA " +
                    File("ca.pem") + " -CAkey " + File("ca.key") + " -CAcreateserial -extfile " +
                    File("ext") + " -out " + File(name + ".pem")),
              0);
  }

  std::string folder_;
};

TEST(EtcdStore, Certificates) {
  const TestCertificates files;
  EtcdProcess etcd({"--cert-file", files.File("server.pem"), "--key-file", files.File("server.key"),
                    "--client-cert-auth", "--trusted-ca-file", files.File("ca.pem")},
                   "https");
  EtcdOptions options{.servers = etcd.url(),
                      .ca_file = files.File("ca.pem"),
                      .certificate_file = files.File("client.pem"),
                      .key_file = files.File("client.key")};
  auto store = OpenEtcd(options);
  ASSERT_TRUE(EtcdProcess::Await(**store));
  EXPECT_TRUE((*store)->Transact(kSet, In(10'000)).ok());

  EtcdOptions foreign = options;
  foreign.ca_file = files.File("other.pem");
  EXPECT_EQ((*OpenEtcd(foreign))->Transact(kSet, In(10'000)).status().code(), kHostUnreachable);
  EtcdOptions nobody = options;
  nobody.certificate_file.clear();
  EXPECT_FALSE((*OpenEtcd(nobody))->Transact(kSet, In(10'000)).ok());
}

}  // namespace
}  // namespace quire::coord
