// SPDX-License-Identifier: Apache-2.0
//
// TLS between a client of OpenSSL, whose bytes the tests hand over piece by piece, and the server's
// side: the transport alone, and the whole server.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "base/error_codes.h"
#include "request/network_stats.h"
#include "server/certificate_internal.h"
#include "server/server.h"
#include "server/testing/certificates.h"
#include "server/transport_internal.h"

namespace quire::server {
namespace {

using ::testing::HasSubstr;
using tls::kTls12;
using tls::kTls13;
using Wish = TestCertificate::Wish;

// The certificates of all tests here.
struct Authority {
  TestFolder folder;
  TestCertificate ca{folder.File("ca.pem"), {.name = "Test CA", .authority = true}};
  TestCertificate server{folder.File("server.pem"), {.issuer = &ca}};
  TestCertificate client{folder.File("client.pem"), {.name = "ann", .issuer = &ca}};
  TestCertificate foreign_ca{folder.File("foreign_ca.pem"), {.name = "Other", .authority = true}};
  TestCertificate foreign{folder.File("foreign.pem"), {.name = "ann", .issuer = &foreign_ca}};
  TestCertificate expired{folder.File("expired.pem"),
                          {.name = "ann", .issuer = &ca, .from = -7200, .until = -3600}};

  TlsOptions Options(TlsMode mode = TlsMode::kRequire) const {
    TlsOptions options;
    options.mode = mode;
    options.certificate_key_file = server.file();
    options.ca_file = ca.file();
    return options;
  }
};

const Authority& Made() {
  static const Authority authority;
  return authority;
}

std::unique_ptr<Tls> MustLoad(const TlsOptions& options) {
  auto tls = Tls::Load(options);
  EXPECT_TRUE(tls.ok()) << tls.status().message();
  return tls.ok() ? *std::move(tls) : nullptr;
}

// The client's half; its bytes are in memory.
class Client {
 public:
  explicit Client(const TestCertificate* certificate = nullptr, int newest = TLS1_3_VERSION)
      : context_(SSL_CTX_new(TLS_client_method()), SSL_CTX_free) {
    SSL_CTX_set_max_proto_version(context_.get(), newest);
    if (certificate != nullptr) {
      SSL_CTX_use_certificate(context_.get(), certificate->x509());
      SSL_CTX_use_PrivateKey(context_.get(), certificate->key());
    }
    ssl_.reset(SSL_new(context_.get()));
    SSL_set_bio(ssl_.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_connect_state(ssl_.get());
  }
  // Goes on with the handshake; the bytes to send.
  std::string Shake() {
    ERR_clear_error();
    done_ = SSL_do_handshake(ssl_.get()) == 1;
    return Out();
  }
  void Take(const std::string& bytes) {
    BIO_write(SSL_get_rbio(ssl_.get()), bytes.data(), static_cast<int>(bytes.size()));
  }
  bool done() const { return done_; }
  std::string Encrypt(std::string_view text) {
    size_t n = 0;
    size_t sent = 0;
    while (sent < text.size() &&
           SSL_write_ex(ssl_.get(), text.data() + sent, text.size() - sent, &n) == 1) {
      sent += n;
    }
    return Out();
  }
  // What has been understood of the bytes taken.
  std::string Decrypted() {
    std::string text;
    char data[4096];
    size_t n = 0;
    ERR_clear_error();
    while (SSL_read_ex(ssl_.get(), data, sizeof data, &n) == 1) {
      text.append(data, n);
    }
    return text;
  }
  SSL* ssl() { return ssl_.get(); }
  std::string Out() {
    std::string bytes(BIO_ctrl_pending(SSL_get_wbio(ssl_.get())), '\0');
    BIO_read(SSL_get_wbio(ssl_.get()), bytes.data(), static_cast<int>(bytes.size()));
    return bytes;
  }

 private:
  std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context_;
  struct Free {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };
  std::unique_ptr<SSL, Free> ssl_;
  bool done_ = false;
};

// A transport on one end of a pair of sockets, the test at the other.
class TransportTest : public ::testing::Test {
 protected:
  void Open(TlsOptions options) {
    if (options.mode != TlsMode::kDisabled) {
      tls_ = MustLoad(options);
    }
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds_), 0);
    transport_ = std::make_unique<Transport>(fds_[0], tls_.get());
  }
  void TearDown() override {
    transport_.reset();
    for (int fd : fds_) {
      if (fd >= 0) {
        close(fd);
      }
    }
  }
  void Give(std::string_view bytes) const {
    ASSERT_EQ(send(fds_[1], bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  // What the server has sent.
  std::string Sent() const {
    std::string bytes;
    char data[65536];
    ssize_t n;
    while ((n = recv(fds_[1], data, sizeof data, MSG_DONTWAIT)) > 0) {
      bytes.append(data, static_cast<size_t>(n));
    }
    return bytes;
  }
  // Runs the handshake with `client`, `piece` bytes at a time; how it ends.
  Transport::Step Shake(Client& client, size_t piece = SIZE_MAX) const {
    Transport::Step step = Transport::Step::kReadable;
    for (int turn = 0; turn < 20; ++turn) {
      std::string bytes = client.Shake();
      if (bytes.empty() && client.done()) {
        break;
      }
      for (size_t at = 0; at < bytes.size(); at += piece) {
        EXPECT_FALSE(transport_->ready());
        Give(std::string_view(bytes).substr(at, piece));
        step = transport_->Greet();
        if (step == Transport::Step::kClose) {
          return step;
        }
        client.Take(Sent());
        if (piece == SIZE_MAX) {
          break;
        }
      }
    }
    return step;
  }
  std::string Received(bool* end = nullptr) const {
    std::string text;
    char data[1000];
    size_t n = 0;
    bool more = true;
    while (more) {
      auto read = transport_->Receive(data, sizeof data, false, &n, &more);
      text.append(data, n);
      if (end != nullptr) {
        *end = read == Transport::Read::kEnd;
      }
      if (read != Transport::Read::kData) {
        break;
      }
    }
    return text;
  }

  std::unique_ptr<Tls> tls_;
  int fds_[2] = {-1, -1};
  std::unique_ptr<Transport> transport_;
};

TEST(Opening, IsToldByTheFirstBytes) {
  const std::string hello("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11);
  EXPECT_EQ(Classify(hello), Opening::kTls);
  for (size_t size = 0; size < hello.size(); ++size) {
    EXPECT_EQ(Classify(hello.substr(0, size)), Opening::kUndecided) << size;
  }
  // A message of 66,326 bytes begins like a record; the zero of responseTo tells.
  EXPECT_EQ(Classify(std::string("\x16\x03\x01\x00\x07\x01\x00\x00\x00\x00\x00\x00", 12)),
            Opening::kPlain);
  EXPECT_EQ(Classify(std::string("\x16\x02", 2)), Opening::kPlain);
  EXPECT_EQ(Classify(std::string("\x3f", 1)), Opening::kPlain);
  EXPECT_EQ(Classify("GET / HTTP/1.1"), Opening::kPlain);
}

TEST_F(TransportTest, HandshakeAndDataBothWays) {
  Open(Made().Options());
  Client client(&Made().client);
  ASSERT_EQ(Shake(client), Transport::Step::kReady) << transport_->problem();
  EXPECT_TRUE(transport_->encrypted());
  TlsPeer peer = transport_->Peer();
  EXPECT_EQ(peer.version, "TLSv1.3");
  EXPECT_EQ(peer.subject, "CN=ann");
  EXPECT_FALSE(peer.of_server_organisation);
  Give(client.Encrypt("a question"));
  EXPECT_EQ(Received(), "a question");
  EXPECT_EQ(Received(), "") << "and no more";
  size_t sent = 0;
  EXPECT_EQ(transport_->Send("an answer", &sent), Transport::Flush::kDone);
  client.Take(Sent());
  EXPECT_EQ(client.Decrypted(), "an answer");
}

TEST_F(TransportTest, OneByteAtATime) {
  for (int newest : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    TearDown();
    Open(Made().Options());
    Client client(&Made().client, newest);
    ASSERT_EQ(Shake(client, 1), Transport::Step::kReady) << transport_->problem();
    std::string record = client.Encrypt("piecemeal");
    (void)Received();
    EXPECT_EQ(transport_->pending(), 0U);
    for (size_t at = 0; at + 1 < record.size(); ++at) {
      Give(record.substr(at, 1));
      EXPECT_EQ(Received(), "");
      EXPECT_EQ(transport_->pending(), at + 1);
    }
    Give(record.substr(record.size() - 1));
    EXPECT_EQ(Received(), "piecemeal");
    EXPECT_EQ(transport_->pending(), 0U);
  }
}

TEST_F(TransportTest, RecordsAfterTheHandshakeInOnePiece) {
  Open(Made().Options());
  Client client(&Made().client);
  // The last flight of TLS 1.3 and the first two records arrive together.
  Give(client.Shake());
  EXPECT_EQ(transport_->Greet(), Transport::Step::kReadable);
  client.Take(Sent());
  std::string bytes = client.Shake();
  bytes += client.Encrypt("one");
  bytes += client.Encrypt(std::string(3000, 'x'));
  Give(bytes);
  ASSERT_EQ(transport_->Greet(), Transport::Step::kReady);
  EXPECT_EQ(Received(), "one" + std::string(3000, 'x')) << "nothing is left where epoll cannot see";
}

TEST_F(TransportTest, BlockedSendsGoOnWhereTheyWere) {
  Open(Made().Options());
  Client client(&Made().client);
  ASSERT_EQ(Shake(client), Transport::Step::kReady);
  std::string large;
  for (int i = 0; large.size() < 4'000'000; ++i) {
    large += std::to_string(i);
  }
  size_t sent = 0;
  std::string got;
  int blocked = 0;
  Transport::Flush flush;
  while ((flush = transport_->Send(std::string(large), &sent)) == Transport::Flush::kBlocked) {
    ++blocked;
    client.Take(Sent());
    got += client.Decrypted();
  }
  EXPECT_EQ(flush, Transport::Flush::kDone);
  client.Take(Sent());
  got += client.Decrypted();
  EXPECT_GT(blocked, 0);
  EXPECT_TRUE(got == large);
}

TEST_F(TransportTest, ADeafPeerDoesNotBlockTheHandshake) {
  Open(Made().Options());
  int size = 1;
  setsockopt(fds_[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
  // Fills what little the socket takes.
  char junk[1024] = {};
  while (send(fds_[0], junk, sizeof junk, MSG_DONTWAIT) > 0) {
  }
  Client client(&Made().client);
  Give(client.Shake());
  EXPECT_EQ(transport_->Greet(), Transport::Step::kWritable);
}

TEST_F(TransportTest, GarbageEndsIt) {
  const std::string hello("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11);
  const std::string cases[] = {hello + std::string(600, '\xff'), hello + std::string(600, '\0')};
  for (const std::string& bytes : cases) {
    TearDown();
    Open(Made().Options());
    Give(bytes);
    EXPECT_EQ(transport_->Greet(), Transport::Step::kClose);
    EXPECT_NE(transport_->problem(), "");
    EXPECT_EQ(transport_->Greet(), Transport::Step::kClose) << "and stays so";
  }
}

TEST_F(TransportTest, ARecordChangedOnTheWayEndsIt) {
  Open(Made().Options());
  Client client(&Made().client);
  ASSERT_EQ(Shake(client), Transport::Step::kReady);
  std::string good = client.Encrypt("first");
  std::string bad = client.Encrypt("second");
  bad.back() = static_cast<char>(bad.back() ^ 1);
  Give(good + bad);
  bool end = false;
  EXPECT_EQ(Received(&end), "first");
  EXPECT_TRUE(end);
  size_t sent = 0;
  EXPECT_EQ(transport_->Send("x", &sent), Transport::Flush::kFailed);
}

TEST_F(TransportTest, GoodByes) {
  Open(Made().Options());
  Client client(&Made().client);
  ASSERT_EQ(Shake(client), Transport::Step::kReady);
  SSL_shutdown(client.ssl());
  Give(client.Encrypt("") + client.Out());
  bool end = false;
  EXPECT_EQ(Received(&end), "");
  EXPECT_TRUE(end);
  transport_.reset();
  client.Take(Sent());
  client.Decrypted();
  EXPECT_NE(SSL_get_shutdown(client.ssl()) & SSL_RECEIVED_SHUTDOWN, 0) << "the server's own";
}

TEST_F(TransportTest, PlainBesideTls) {
  Open(Made().Options(TlsMode::kAllow));
  Give("plain");
  EXPECT_EQ(transport_->Greet(), Transport::Step::kReady);
  EXPECT_FALSE(transport_->encrypted());
  EXPECT_EQ(Received(), "plain");
  Give(" and simple");
  EXPECT_EQ(Received(), " and simple");

  TearDown();
  Open(Made().Options(TlsMode::kPrefer));
  Client client(&Made().client);
  EXPECT_EQ(Shake(client), Transport::Step::kReady);
}

TEST_F(TransportTest, TheWrongOneOfBothIsClosedAtOnce) {
  Open(Made().Options(TlsMode::kRequire));
  Give("plain");
  EXPECT_EQ(transport_->Greet(), Transport::Step::kClose);
  EXPECT_THAT(transport_->problem(), HasSubstr("only allow SSL"));

  TearDown();
  tls_.reset();
  Open({});
  Client client;
  Give(client.Shake());
  EXPECT_EQ(transport_->Greet(), Transport::Step::kClose);
  EXPECT_THAT(transport_->problem(), HasSubstr("not enabled"));
}

TEST_F(TransportTest, LeavingEarlyIsNoProblem) {
  Open(Made().Options());
  EXPECT_EQ(transport_->Greet(), Transport::Step::kReadable);
  close(std::exchange(fds_[1], -1));
  EXPECT_EQ(transport_->Greet(), Transport::Step::kClose);
  EXPECT_EQ(transport_->problem(), "");
}

// How a handshake with some certificate ends.
struct Meeting {
  const char* what;
  const TestCertificate* certificate;
  void (*change)(TlsOptions* options);
  bool welcome;
  std::string subject;  // afterwards
  int newest = TLS1_3_VERSION;
};

TEST_F(TransportTest, WhoIsWelcome) {
  const Authority& made = Made();
  static std::string crl;
  crl = made.folder.File("crl.pem");
  TestCertificate lost(made.folder.File("lost.pem"), {.name = "lost", .issuer = &made.ca});
  made.ca.WriteRevoked(crl, lost);
  auto nothing = [](TlsOptions*) {};
  auto optional = [](TlsOptions* o) { o->allow_without_certificate = true; };
  auto lenient = [](TlsOptions* o) { o->allow_invalid_certificates = true; };
  auto with_crl = [](TlsOptions* o) { o->crl_file = crl; };
  const Meeting meetings[] = {
      {"good", &made.client, nothing, true, "CN=ann"},
      {"none", nullptr, nothing, false, ""},
      {"none, allowed", nullptr, optional, true, ""},
      {"good, none allowed", &made.client, optional, true, "CN=ann"},
      {"foreign", &made.foreign, nothing, false, ""},
      {"foreign, none allowed", &made.foreign, optional, false, ""},
      {"foreign, allowed", &made.foreign, lenient, true, ""},
      {"expired", &made.expired, nothing, false, ""},
      {"expired, allowed", &made.expired, lenient, true, ""},
      {"revoked", &lost, with_crl, false, ""},
      {"not revoked", &made.client, with_crl, true, "CN=ann"},
      {"revoked, list unknown", &lost, nothing, true, "CN=lost"},
      {"TLS 1.2", &made.client, nothing, true, "CN=ann", TLS1_2_VERSION},
      {"TLS 1.1", &made.client, nothing, false, "", TLS1_1_VERSION},
      {"TLS 1.2 off", &made.client, [](TlsOptions* o) { o->protocols.disabled = kTls12; }, false,
       "", TLS1_2_VERSION},
      {"TLS 1.3 off", &made.client, [](TlsOptions* o) { o->protocols.disabled = kTls13; }, true,
       "CN=ann"},
      {"cipher of neither", &made.client,
       [](TlsOptions* o) {
         o->protocols.ciphers = "ECDHE-ECDSA-AES256-GCM-SHA384";
         o->protocols.disabled = kTls13;
       },
       true, "CN=ann"},
  };
  for (const Meeting& meeting : meetings) {
    SCOPED_TRACE(meeting.what);
    TearDown();
    TlsOptions options = made.Options();
    meeting.change(&options);
    Open(options);
    Client client(meeting.certificate, meeting.newest);
    EXPECT_EQ(Shake(client) == Transport::Step::kReady, meeting.welcome) << transport_->problem();
    if (meeting.welcome && transport_->encrypted()) {
      EXPECT_EQ(transport_->Peer().subject, meeting.subject);
      EXPECT_EQ(transport_->Peer().invalid.empty(), !options.allow_invalid_certificates);
    }
  }
}

TEST(TlsFiles, Errors) {
  const Authority& made = Made();
  TestFolder folder;
  const std::string nothing = folder.File("nothing.pem");
  std::ofstream(nothing) << "nothing\n";
  TestCertificate secret(folder.File("secret.pem"), {.issuer = &made.ca, .password = "p4ss"});
  const std::string mixed = folder.File("mixed.pem");
  FILE* out = fopen(mixed.c_str(), "w");
  PEM_write_X509(out, made.server.x509());
  PEM_write_PrivateKey(out, made.client.key(), nullptr, nullptr, 0, nullptr, nullptr);
  fclose(out);
  struct Case {
    std::function<void(TlsOptions*)> change;
    int code;
    const char* text;
  };
  const Case cases[] = {
      {[](TlsOptions* o) { o->certificate_key_file = ""; }, kBadValue, "tlsCertificateKeyFile"},
      {[](TlsOptions* o) { o->ca_file = ""; }, kBadValue, "tlsCAFile"},
      {[](TlsOptions* o) {
         o->ca_file = "";
         o->system_ca = true;
         o->crl_file = "x";
       },
       kBadValue, "tlsCRLFile"},
      {[](TlsOptions* o) { o->certificate_key_file = "/nonexistent"; }, kInvalidSSLConfiguration,
       "cannot read the certificate"},
      {[&](TlsOptions* o) { o->certificate_key_file = nothing; }, kInvalidSSLConfiguration,
       "cannot read the certificate"},
      {[&](TlsOptions* o) { o->certificate_key_file = secret.file(); }, kInvalidSSLConfiguration,
       "cannot read the private key"},
      {[&](TlsOptions* o) {
         o->certificate_key_file = secret.file();
         o->key_password = "wrong";
       },
       kInvalidSSLConfiguration, "cannot read the private key"},
      {[&](TlsOptions* o) { o->certificate_key_file = mixed; }, kInvalidSSLConfiguration, "key"},
      {[&](TlsOptions* o) { o->certificate_key_file = made.expired.file(); },
       kInvalidSSLConfiguration, "expired"},
      {[&](TlsOptions* o) { o->ca_file = nothing; }, kInvalidSSLConfiguration, "authorities"},
      {[&](TlsOptions* o) { o->crl_file = nothing; }, kInvalidSSLConfiguration, "revoked"},
      {[](TlsOptions* o) { o->protocols.ciphers = "NO-SUCH-CIPHER"; }, kInvalidSSLConfiguration,
       "opensslCipherConfig"},
      {[](TlsOptions* o) { o->protocols.cipher_suites = "NO-SUCH"; }, kInvalidSSLConfiguration,
       "opensslCipherSuiteConfig"},
      {[](TlsOptions* o) { o->protocols.disabled |= kTls12 | kTls13; }, kBadValue, "every"},
  };
  for (const Case& c : cases) {
    TlsOptions options = made.Options();
    c.change(&options);
    auto tls = Tls::Load(options);
    ASSERT_FALSE(tls.ok()) << c.text;
    EXPECT_EQ(tls.status().code(), c.code) << tls.status().message();
    EXPECT_THAT(tls.status().message(), HasSubstr(c.text));
    EXPECT_THAT(tls.status().message(), ::testing::Not(HasSubstr("wrong")));
  }
  TlsOptions options = made.Options();
  options.certificate_key_file = secret.file();
  options.key_password = "p4ss";
  EXPECT_TRUE(Tls::Load(options).ok());
  options = made.Options();
  options.ca_file = "";
  options.system_ca = true;
  EXPECT_TRUE(Tls::Load(options).ok());
}

TEST(TlsFiles, RotateOrStay) {
  const Authority& made = Made();
  TestFolder folder;
  const std::string file = folder.File("server.pem");
  TestCertificate first(file, {.name = "first", .issuer = &made.ca});
  TlsOptions options = made.Options();
  options.certificate_key_file = file;
  auto tls = MustLoad(options);
  EXPECT_EQ(tls->facts().subject, "CN=first");
  EXPECT_TRUE(tls->facts().has_authority);
  EXPECT_GT(tls->facts().expires, int64_t{time(nullptr)} * 1000);
  auto before = tls->context();
  TestCertificate second(file, {.name = "second", .issuer = &made.ca});
  EXPECT_TRUE(tls->Rotate().ok());
  EXPECT_EQ(tls->facts().subject, "CN=second");
  EXPECT_NE(tls->context(), before);
  before = tls->context();
  std::ofstream(file) << "broken";
  EXPECT_EQ(tls->Rotate().code(), kInvalidSSLConfiguration);
  EXPECT_EQ(tls->facts().subject, "CN=second");
  EXPECT_EQ(tls->context(), before);
}

TEST(TlsNames, OfModes) {
  EXPECT_EQ(*ParseTlsMode("preferTLS"), TlsMode::kPrefer);
  EXPECT_FALSE(ParseTlsMode("requireSSL").ok());
}

TEST(Certificates, SubjectsAsUsersAreNamed) {
  TestFolder folder;
  struct Case {
    std::vector<std::pair<const char*, const char*>> parts;
    const char* subject;
  };
  const Case cases[] = {
      {{{"C", "DE"}, {"O", "Acme"}, {"OU", "Ops"}, {"CN", "ann"}}, "CN=ann,OU=Ops,O=Acme,C=DE"},
      {{{"CN", "a,b+c\"d\\e<f>;"}}, "CN=a\\,b\\+c\\\"d\\\\e\\<f\\>\\;"},
      {{{"CN", "#x "}}, "CN=\\#x\\ "},
      {{{"CN", "Zoë"}}, "CN=Zoë"},
      {{{"DC", "org"}, {"DC", "acme"}, {"UID", "7"}}, "UID=7,DC=acme,DC=org"},
      {{{"CN", "ann"}, {"emailAddress", "a@b.c"}}, "emailAddress=a@b.c,CN=ann"},
  };
  for (const Case& c : cases) {
    std::unique_ptr<X509, void (*)(X509*)> x509(X509_new(), X509_free);
    for (auto [field, value] : c.parts) {
      X509_NAME_add_entry_by_txt(X509_get_subject_name(x509.get()), field, MBSTRING_UTF8,
                                 reinterpret_cast<const unsigned char*>(value), -1, -1, 0);
    }
    EXPECT_EQ(SubjectOf(x509.get()), c.subject);
  }
  TestCertificate none(folder.File("a"), {.name = "a"});
  TestCertificate one(folder.File("b"), {.name = "b", .organisation = "Acme"});
  TestCertificate same(folder.File("c"), {.name = "c", .organisation = "Acme"});
  TestCertificate other(folder.File("d"), {.name = "d", .organisation = "Other"});
  EXPECT_TRUE(SameOrganisation(one.x509(), same.x509()));
  EXPECT_FALSE(SameOrganisation(one.x509(), other.x509()));
  EXPECT_FALSE(SameOrganisation(none.x509(), none.x509())) << "none at all";
}

// Answers every message with {ok: 1, subject, encrypted}.
class Telling : public request::Handler {
 public:
  request::Outcome Run(request::Client& client, const request::Request& /*request*/,
                       std::string* reply) override {
    bson::Builder b(reply);
    b.Append("subject", client.certificate_subject).Append("encrypted", client.encrypted);
    b.Append("ok", 1.0);
    b.Close();
    return {};
  }
  void Disconnected(request::Client& /*client*/) override { ++gone; }
  std::atomic<int> gone{0};
};

std::string Ping() {
  bson::Builder b;
  b.Append("ping", 1).Append("$db", "test");
  std::string bytes(21, '\0');
  bytes += b.Finish().bytes();
  int32_t fields[] = {static_cast<int32_t>(bytes.size()), 7, 0, 2013, 0};
  memcpy(bytes.data(), fields, sizeof fields);
  return bytes;
}

class TlsServerTest : public ::testing::Test {
 protected:
  void Start(TlsOptions tls) {
    Options options;
    options.limits = &limits_;
    options.port = 0;
    options.tls = tls_ = MustLoad(tls);
    auto started = Server::Start(options, &handler_);
    ASSERT_TRUE(started.ok()) << started.status().ToString();
    server_ = *std::move(started);
  }
  int Connect() const {
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(server_->port()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    return fd;
  }
  // The test's end of a connection.
  struct Connected {
    explicit Connected(int descriptor) : fd(descriptor) {}
    ~Connected() { close(fd); }
    void Send(const std::string& bytes) const {
      (void)send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    }
    bool Receive(Client& client) const {
      char data[65536];
      ssize_t n = recv(fd, data, sizeof data, 0);
      client.Take(std::string(data, static_cast<size_t>(std::max<ssize_t>(n, 0))));
      return n > 0;
    }
    bool Shake(Client& client) const {
      while (!client.done()) {
        Send(client.Shake());
        if (!client.done() && !Receive(client)) {
          return false;
        }
      }
      return true;
    }
    // The reply to a ping.
    std::string Ask(Client& client) const {
      Send(client.Encrypt(Ping()));
      std::string reply;
      while (reply.empty() && Receive(client)) {
        reply = client.Decrypted();
      }
      return reply;
    }
    int fd;
  };

  request::NetworkLimits limits_;
  std::shared_ptr<Tls> tls_;
  Telling handler_;
  std::unique_ptr<Server> server_;
};

bson::View BodyOf(const std::string& reply) { return bson::View(reply.data() + 21); }

TEST_F(TlsServerTest, ServesOverTlsAndCounts) {
  Start(Made().Options());
  int64_t before = request::Network().tls[3].load();
  Connected peer(Connect());
  Client client(&Made().client);
  ASSERT_TRUE(peer.Shake(client));
  for (int i = 0; i < 3; ++i) {
    std::string reply = peer.Ask(client);
    ASSERT_GT(reply.size(), 21U);
    EXPECT_EQ(BodyOf(reply)["subject"].AsString(), "CN=ann");
    EXPECT_TRUE(BodyOf(reply)["encrypted"].AsBool());
  }
  EXPECT_EQ(request::Network().tls[3].load(), before + 1);
}

TEST_F(TlsServerTest, PipelinedMessagesAreAllAnswered) {
  Start(Made().Options());
  Connected peer(Connect());
  Client client(&Made().client);
  ASSERT_TRUE(peer.Shake(client));
  std::string all;
  for (int i = 0; i < 1000; ++i) {
    all += Ping();
  }
  peer.Send(client.Encrypt(all));
  std::string replies;
  size_t one = 0;
  while (one == 0 || replies.size() < 1000 * one) {
    ASSERT_TRUE(peer.Receive(client));
    replies += client.Decrypted();
    if (one == 0 && replies.size() >= 4) {
      int32_t length;
      memcpy(&length, replies.data(), 4);
      one = static_cast<size_t>(length);
    }
  }
  EXPECT_EQ(replies.size(), 1000 * one);
}

TEST_F(TlsServerTest, SlowHandshakesHoldNoThreadAndEnd) {
  TlsOptions options = Made().Options();
  options.handshake_timeout = std::chrono::milliseconds(1);
  Start(options);
  std::vector<std::unique_ptr<Connected>> slow;
  Client hello(&Made().client);
  std::string bytes = hello.Shake();
  for (size_t size : {size_t{0}, size_t{1}, size_t{20}, bytes.size()}) {
    slow.push_back(std::make_unique<Connected>(Connect()));
    slow.back()->Send(bytes.substr(0, size));
  }
  for (auto& peer : slow) {
    char data[65536];
    while (recv(peer->fd, data, sizeof data, 0) > 0) {
    }
  }
}

TEST_F(TlsServerTest, ConnectionsOutliveTheTimeOfTheHandshake) {
  TlsOptions options = Made().Options();
  options.handshake_timeout = std::chrono::milliseconds(200);
  Start(options);
  Connected good(Connect());
  Client client(&Made().client);
  const bool in_time = good.Shake(client) && !good.Ask(client).empty();
  Connected slow(Connect());
  char data;
  EXPECT_EQ(recv(slow.fd, &data, 1, 0), 0) << "this one is closed, after the one before it";
  if (in_time) {
    EXPECT_FALSE(good.Ask(client).empty());
  }
}

TEST_F(TlsServerTest, ARecordThatStallsIsClosedAndIdlenessIsNot) {
  Start(Made().Options());
  Connected idle(Connect());
  Client calm(&Made().client);
  ASSERT_TRUE(idle.Shake(calm));
  ASSERT_FALSE(idle.Ask(calm).empty());
  Connected stalled(Connect());
  Client client(&Made().client);
  ASSERT_TRUE(stalled.Shake(client));
  ASSERT_FALSE(stalled.Ask(client).empty());
  limits_.message_stall_millis = 1;
  stalled.Send(client.Encrypt(Ping()).substr(0, 5));  // a header
  while (stalled.Receive(client)) {
  }
  EXPECT_FALSE(idle.Ask(calm).empty());
}

TEST_F(TlsServerTest, PlainIsClosedOnceTheServerRequiresTls) {
  Start(Made().Options(TlsMode::kPrefer));
  auto answers = [data = std::string(1024, ' ')](const Connected& peer) mutable {
    peer.Send(Ping());
    return recv(peer.fd, data.data(), data.size(), 0) > 0;
  };
  Connected open(Connect());
  EXPECT_TRUE(answers(open));
  tls_->SetMode(TlsMode::kRequire);
  EXPECT_FALSE(answers(Connected(Connect())));
  EXPECT_TRUE(answers(open));
}

TEST_F(TlsServerTest, StopsWithHandshakesUnderWay) {
  Start(Made().Options());
  Connected idle(Connect());
  Connected half(Connect());
  Client client(&Made().client);
  half.Send(client.Shake().substr(0, 50));
  Connected open(Connect());
  Client other(&Made().client);
  ASSERT_TRUE(open.Shake(other));
  EXPECT_FALSE(open.Ask(other).empty());
  server_->Stop();
  EXPECT_EQ(handler_.gone.load(), 3);
}

TEST_F(TlsServerTest, ManyAtOnce) {
  Start(Made().Options(TlsMode::kPrefer));
  std::vector<std::thread> threads;
  std::atomic<int> answered{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10; ++i) {
        Connected peer(Connect());
        Client client(&Made().client, i % 2 == 0 ? TLS1_3_VERSION : TLS1_2_VERSION);
        if (peer.Shake(client)) {
          for (int j = 0; j < 10; ++j) {
            answered += peer.Ask(client).empty() ? 0 : 1;
          }
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(answered.load(), 800);
}

}  // namespace
}  // namespace quire::server
