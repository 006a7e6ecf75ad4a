// SPDX-License-Identifier: Apache-2.0
#include "peer/pool.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <future>
#include <map>
#include <mutex>
#include <thread>

#include "auth/scram.h"
#include "base/error_codes.h"
#include "peer/frame_internal.h"
#include "peer/resolver_internal.h"
#include "quire/doc.h"
#include "request/reply.h"
#include "server/server.h"
#include "server/testing/certificates.h"

namespace quire::peer {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
constexpr const char* kKey = "the key of the set";

Deadline In(milliseconds time) { return std::chrono::steady_clock::now() + time; }

// echo, hang (no reply for a long time), late (some time), big (a large reply), and logins of
// __system by kKey.
class EchoHandler final : public request::Handler {
 public:
  request::Outcome Run(request::Client& client, const request::Request& request,
                       std::string* reply) override {
    request::Outcome outcome;
    const std::string_view name = request.body.front().name();
    bson::Builder b(reply);
    if (name == "hang") {
      outcome.delay = std::chrono::minutes(5);
    } else if (name == "late") {
      outcome.delay = milliseconds(20);
    } else if (name == "big") {
      b.Append("data", std::string(static_cast<size_t>(request.body["big"].AsInt64()), 'x'));
    } else if (name == "hello") {
      ++hellos;
      application =
          request.body["client"].AsDocument()["application"].AsDocument()["name"].AsString();
    } else if (name == "saslStart" || name == "saslContinue") {
      Login(client, request, &b);
      b.Close();
      return outcome;
    } else if (name == "authenticate") {
      if (client.certificate_subject.empty()) {
        request::AppendError({kAuthenticationFailed, "No certificate"}, &b);
        b.Close();
        return outcome;
      }
      subject = client.certificate_subject;
    } else {
      b.Append("n", request.body["echo"]);
    }
    b.Append("ok", 1.0);
    b.Close();
    return outcome;
  }
  void Disconnected(request::Client&) override {}

  std::atomic<int> hellos{0};
  std::atomic<int> logins{0};
  std::string application;
  std::string subject;

 private:
  struct Conversation : request::Attachment {
    auth::ScramServer scram{auth::Mechanism::kScramSha256};
  };

  void Login(request::Client& client, const request::Request& request, bson::Builder* b) {
    const std::string_view payload = request.body["payload"].AsBinary();
    if (request.body.front().name() == "saslStart") {
      auto conversation = std::make_shared<Conversation>();
      client.login_under_way = conversation;
      EXPECT_TRUE(conversation->scram.ReadFirst(payload).ok());
      EXPECT_EQ(conversation->scram.user(), "__system");
      EXPECT_EQ(request.database, "local");
      const std::string challenge = conversation->scram.Challenge(
          *auth::MakeCredential(auth::Mechanism::kScramSha256, "__system", kKey, false));
      b->Append("conversationId", 1)
          .Append("done", false)
          .Append("payload", bson::Value::Binary(challenge, 0))
          .Append("ok", 1.0);
      return;
    }
    auto& scram = static_cast<Conversation&>(*client.login_under_way).scram;
    auto signature = scram.Verify(payload);
    if (!signature.ok()) {
      request::AppendError(signature.status(), b);
      return;
    }
    ++logins;
    b->Append("conversationId", 1)
        .Append("done", true)
        .Append("payload", bson::Value::Binary(*signature, 0))
        .Append("ok", 1.0);
  }
};

class PoolTest : public ::testing::Test {
 protected:
  void StartServer(std::shared_ptr<server::Tls> tls = nullptr, int port = 0) {
    server::Options options;
    options.port = port;
    options.tls = std::move(tls);
    options.grace = milliseconds(0);
    auto started = server::Server::Start(options, &handler_);
    ASSERT_TRUE(started.ok()) << started.status().ToString();
    server_ = *std::move(started);
  }
  std::string Host(const char* name = "127.0.0.1") const {
    return std::string(name) + ":" + std::to_string(server_->port());
  }
  std::unique_ptr<Pool> MakePool(PoolOptions options = {}) {
    options.on_link = [this](const std::string&, LinkEvent event) {
      std::lock_guard lock(mutex_);
      ++events_[event];
      changed_.notify_all();
    };
    auto started = Pool::Start(std::move(options));
    EXPECT_TRUE(started.ok()) << started.status().ToString();
    return *std::move(started);
  }
  static std::future<Result<bson::Document>> Ask(Pool& pool, const std::string& host,
                                                 const bson::Document& command,
                                                 milliseconds time = seconds(30),
                                                 const std::string& lane = "a") {
    auto promise = std::make_shared<std::promise<Result<bson::Document>>>();
    auto future = promise->get_future();
    pool.Send(host, lane, command, In(time),
              [promise](Result<bson::Document> reply) { promise->set_value(std::move(reply)); });
    return future;
  }
  // Asks and stays until then; whether the reply came meanwhile, on this thread.
  static bool AskAndStay(Pool& pool, const std::string& host, const bson::Document& command,
                         Deadline until, std::future<Result<bson::Document>>* answer) {
    auto promise = std::make_shared<std::promise<Result<bson::Document>>>();
    auto here = std::make_shared<std::atomic<bool>>(false);
    *answer = promise->get_future();
    const auto self = std::this_thread::get_id();
    const RequestId id = pool.SendToStay(host, "a", command, In(seconds(30)),
                                         [promise, here, self](Result<bson::Document> reply) {
                                           *here = std::this_thread::get_id() == self;
                                           promise->set_value(std::move(reply));
                                         });
    pool.Stay({id}, until);
    return *here;
  }
  static bson::Document Echo(int n) { return Doc("echo", n, "$db", "admin"); }
  void AwaitEvent(LinkEvent event) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, seconds(30), [&] { return events_[event] > 0; }));
  }

  EchoHandler handler_;
  std::unique_ptr<server::Server> server_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<LinkEvent, int> events_;
};

TEST_F(PoolTest, GreetsOnceAndAnswersEachRequest) {
  StartServer();
  PoolOptions options;
  options.application = "tester";
  auto pool = MakePool(options);
  for (int i = 0; i < 3; ++i) {
    auto reply = Ask(*pool, Host(), Echo(i)).get();
    ASSERT_TRUE(reply.ok()) << reply.status().ToString();
    EXPECT_EQ((*reply)["n"].AsInt32(), i);
  }
  EXPECT_EQ(handler_.hellos, 1);
  EXPECT_EQ(handler_.application, "tester");
  ASSERT_TRUE(Ask(*pool, Host(), Echo(1), seconds(30), "another lane").get().ok());
  EXPECT_EQ(handler_.hellos, 2);
}

TEST_F(PoolTest, WhoeverStaysTakesTheReplyItself) {
  StartServer();
  auto pool = MakePool();
  std::future<Result<bson::Document>> answer;
  // The connection is not open yet: the pool's thread does it all.
  EXPECT_FALSE(AskAndStay(*pool, Host(), Echo(0), In(seconds(30)), &answer));
  ASSERT_TRUE(answer.get().ok());
  for (int i = 1; i < 4; ++i) {
    EXPECT_TRUE(AskAndStay(*pool, Host(), Echo(i), In(seconds(30)), &answer));
    const auto reply = answer.get();
    ASSERT_TRUE(reply.ok());
    EXPECT_EQ((*reply)["n"].AsInt32(), i);
  }
  auto reply = Ask(*pool, Host(), Echo(4)).get();  // and others are answered as before
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(handler_.hellos, 1);
}

TEST_F(PoolTest, WhoeverStaysTooShortIsAnsweredLater) {
  StartServer();
  auto pool = MakePool();
  ASSERT_TRUE(Ask(*pool, Host(), Echo(0)).get().ok());
  std::future<Result<bson::Document>> answer;
  const bson::Document late = Doc("late", 1, "$db", "admin");
  EXPECT_FALSE(AskAndStay(*pool, Host(), late, In(milliseconds(0)), &answer));
  EXPECT_TRUE(answer.get().ok());
  EXPECT_TRUE(AskAndStay(*pool, Host(), Echo(1), In(seconds(30)), &answer));
}

TEST_F(PoolTest, TheEndOfAQuietConnectionIsSeen) {
  StartServer();
  auto pool = MakePool();
  ASSERT_TRUE(Ask(*pool, Host(), Echo(0)).get().ok());
  std::future<Result<bson::Document>> answer;
  ASSERT_TRUE(AskAndStay(*pool, Host(), Echo(1), In(seconds(30)), &answer));
  server_->Stop();
  AwaitEvent(LinkEvent::kClosed);
}

TEST_F(PoolTest, FindsHostsByName) {
  StartServer();
  auto pool = MakePool();
  EXPECT_TRUE(Ask(*pool, Host("localhost"), Echo(1)).get().ok());
  EXPECT_EQ(Ask(*pool, "no-such-host.invalid:1", Echo(1)).get().status().code(), kHostNotFound);
  EXPECT_EQ(Ask(*pool, "host:port", Echo(1)).get().status().code(), kBadValue);
}

TEST_F(PoolTest, AThousandRequestsShareAConnectionInOrder) {
  StartServer();
  auto pool = MakePool();
  std::vector<int> order;
  std::promise<void> all;
  for (int i = 0; i < 1000; ++i) {
    pool->Send(Host(), "a", Echo(i), In(seconds(60)), [&, i](Result<bson::Document> reply) {
      ASSERT_TRUE(reply.ok()) << reply.status().ToString();
      EXPECT_EQ((*reply)["n"].AsInt32(), i);
      EXPECT_TRUE(pool->OnOwnThread());
      order.push_back(i);
      if (order.size() == 1000) all.set_value();
    });
  }
  all.get_future().wait();
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
  EXPECT_EQ(handler_.hellos, 1);
}

TEST_F(PoolTest, LargeRequestsAndRepliesPass) {
  StartServer();
  auto pool = MakePool();
  const std::string text(10 << 20, 'y');
  auto echoed = Ask(*pool, Host(), Doc("echo", text, "$db", "admin"));
  auto big = Ask(*pool, Host(), Doc("big", int64_t{12} << 20, "$db", "admin"));
  auto reply = echoed.get();
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ((*reply)["n"].AsString(), text);
  reply = big.get();
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ((*reply)["data"].AsString().size(), size_t{12} << 20);
}

TEST_F(PoolTest, RepliesBeyondTheLimitEndTheConnection) {
  StartServer();
  PoolOptions options;
  options.max_reply_bytes = 100'000;
  auto pool = MakePool(options);
  EXPECT_EQ(Ask(*pool, Host(), Doc("big", int64_t{200'000}, "$db", "admin")).get().status().code(),
            kProtocolError);
  EXPECT_TRUE(Ask(*pool, Host(), Echo(1)).get().ok());
  EXPECT_EQ(handler_.hellos, 2);
}

TEST_F(PoolTest, ADeadlineEndsARequestAndTheConnectionThatHangs) {
  StartServer();
  auto pool = MakePool();
  ASSERT_TRUE(Ask(*pool, Host(), Echo(1)).get().ok());
  auto hangs = Ask(*pool, Host(), Doc("hang", 1, "$db", "admin"), milliseconds(100));
  auto behind = Ask(*pool, Host(), Echo(2));
  EXPECT_EQ(hangs.get().status().code(), kNetworkTimeout);
  EXPECT_EQ(behind.get().status().code(), kHostUnreachable);
  EXPECT_TRUE(Ask(*pool, Host(), Echo(3)).get().ok());
  EXPECT_EQ(handler_.hellos, 2);
}

TEST_F(PoolTest, ACancelledRequestEndsOnceAndLeavesTheConnection) {
  StartServer();
  auto pool = MakePool();
  std::atomic<int> called{0};
  std::promise<int> code;
  const RequestId id =
      pool->Send(Host(), "a", Echo(1), In(seconds(60)), [&](const Result<bson::Document>& reply) {
        if (++called == 1) code.set_value(reply.status().code());
      });
  pool->Cancel(id);
  pool->Cancel(id);
  const int given = code.get_future().get();
  EXPECT_TRUE(given == kCallbackCanceled || given == 0);
  EXPECT_TRUE(Ask(*pool, Host(), Echo(2)).get().ok());
  EXPECT_EQ(called, 1);
  EXPECT_EQ(handler_.hellos, 1);

  std::promise<int> parked;
  const RequestId waits = pool->Send(
      Host(), "b", Doc("hang", 1, "$db", "admin"), In(seconds(600)),
      [&](const Result<bson::Document>& reply) { parked.set_value(reply.status().code()); });
  pool->Cancel(waits);
  EXPECT_EQ(parked.get_future().get(), kCallbackCanceled);
}

TEST_F(PoolTest, TellsARefusingPortFromAClosedConnection) {
  StartServer();
  auto pool = MakePool();
  ASSERT_TRUE(Ask(*pool, Host(), Echo(1)).get().ok());
  auto waits = Ask(*pool, Host(), Doc("hang", 1, "$db", "admin"), seconds(600));
  const std::string host = Host();
  const int port = server_->port();
  server_.reset();
  AwaitEvent(LinkEvent::kClosed);
  EXPECT_EQ(waits.get().status().code(), kHostUnreachable);
  EXPECT_EQ(Ask(*pool, host, Echo(2)).get().status().code(), kHostUnreachable);
  AwaitEvent(LinkEvent::kRefused);
  StartServer(nullptr, port);
  EXPECT_TRUE(Ask(*pool, host, Echo(3)).get().ok());
}

TEST_F(PoolTest, AHostThatRefusedIsNotTriedAgainAtOnce) {
  StartServer();
  const std::string host = Host();
  PoolOptions options;
  options.spread = std::chrono::hours(10'000);
  auto pool = MakePool(options);
  server_.reset();
  EXPECT_EQ(Ask(*pool, host, Echo(1)).get().status().code(), kHostUnreachable);
  EXPECT_EQ(Ask(*pool, host, Echo(2), milliseconds(20)).get().status().code(), kNetworkTimeout);
  StartServer();  // another port
  EXPECT_TRUE(Ask(*pool, Host(), Echo(3)).get().ok());
  EXPECT_EQ(Ask(*pool, host, Echo(4), milliseconds(20)).get().status().code(), kNetworkTimeout);
}

TEST_F(PoolTest, AHostThatAnswersAgainIsLeftAlone) {
  StartServer();
  const std::string host = Host();
  const int port = server_->port();
  auto pool = MakePool();
  for (int i = 0; i < 3; ++i) {
    server_.reset();
    EXPECT_EQ(Ask(*pool, host, Echo(1)).get().status().code(), kHostUnreachable);
    StartServer(nullptr, port);
    EXPECT_TRUE(Ask(*pool, host, Echo(2)).get().ok());
  }
}

TEST_F(PoolTest, AServerThatNeverAnswersTimesOut) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(fd, 8), 0);
  ASSERT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
  PoolOptions options;
  options.connect_timeout = milliseconds(100);
  auto pool = MakePool(options);
  const std::string host = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  EXPECT_EQ(Ask(*pool, host, Echo(1)).get().status().code(), kNetworkTimeout);
  EXPECT_EQ(Ask(*pool, host, Echo(1), milliseconds(20)).get().status().code(), kNetworkTimeout);
  close(fd);
}

TEST_F(PoolTest, LogsInByKey) {
  StartServer();
  PoolOptions options;
  options.login.kind = Login::Kind::kKey;
  options.login.key = kKey;
  auto pool = MakePool(options);
  EXPECT_TRUE(Ask(*pool, Host(), Echo(1)).get().ok());
  EXPECT_TRUE(Ask(*pool, Host(), Echo(1), seconds(30), "b").get().ok());
  EXPECT_EQ(handler_.logins, 2);
  options.login.key = "another key";
  auto stranger = MakePool(options);
  EXPECT_EQ(Ask(*stranger, Host(), Echo(1)).get().status().code(), kAuthenticationFailed);
}

TEST_F(PoolTest, RequestsEndWithThePool) {
  StartServer();
  auto pool = MakePool();
  auto waits = Ask(*pool, Host(), Doc("hang", 1, "$db", "admin"), seconds(600));
  auto never = Ask(*pool, "127.0.0.1:1", Echo(1), seconds(600), "b");
  pool.reset();
  EXPECT_EQ(waits.get().status().code(), kShutdownInProgress);
  EXPECT_FALSE(never.get().ok());
}

class TlsTest : public PoolTest {
 protected:
  void StartTlsServer(server::TlsOptions options = {}) {
    options.mode = server::TlsMode::kRequire;
    options.certificate_key_file = server_cert_.file();
    options.ca_file = authority_.file();
    options.allow_without_certificate = true;
    auto tls = server::Tls::Load(options);
    ASSERT_TRUE(tls.ok()) << tls.status().ToString();
    StartServer(*std::move(tls));
  }
  PoolOptions Options() const {
    PoolOptions options;
    options.tls.enabled = true;
    options.tls.ca_file = authority_.file();
    return options;
  }
  static server::TestCertificate::Wish Authority() { return {.name = "CA", .authority = true}; }

  server::TestFolder folder_;
  server::TestCertificate authority_{folder_.File("ca.pem"), Authority()};
  server::TestCertificate server_cert_{folder_.File("server.pem"), {.issuer = &authority_}};
};

TEST_F(TlsTest, EncryptsAndChecksWhoAnswers) {
  StartTlsServer();
  auto pool = MakePool(Options());
  auto reply = Ask(*pool, Host("localhost"), Echo(7)).get();
  ASSERT_TRUE(reply.ok()) << reply.status().ToString();
  const std::string text(10 << 20, 'y');
  ASSERT_TRUE(Ask(*pool, Host("localhost"), Doc("echo", text, "$db", "admin")).get().ok());
  std::future<Result<bson::Document>> answer;
  EXPECT_TRUE(AskAndStay(*pool, Host("localhost"), Doc("echo", text, "$db", "admin"),
                         In(seconds(30)), &answer));
  reply = answer.get();
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ((*reply)["n"].AsString(), text);
  // The certificate is for localhost.
  EXPECT_EQ(Ask(*pool, Host(), Echo(1)).get().status().code(), kHostUnreachable);
  PoolOptions options = Options();
  options.tls.allow_invalid_host_names = true;
  auto tolerant = MakePool(options);
  EXPECT_TRUE(Ask(*tolerant, Host(), Echo(1)).get().ok());
}

TEST_F(TlsTest, AgreesToWhatItIsAllowedAlone) {
  server::TlsOptions newest;
  newest.protocols.disabled |= tls::kTls12;
  StartTlsServer(newest);
  struct Case {
    const char* what;
    tls::Protocols protocols;
    bool good;
  };
  const Case cases[] = {
      {"all", {}, true},
      {"no TLS 1.2", {.disabled = tls::kTls12}, true},
      {"no TLS 1.3", {.disabled = tls::kTls13}, false},
      {"a suite", {.cipher_suites = "TLS_AES_256_GCM_SHA384"}, true},
      {"a suite that the server lacks", {.cipher_suites = "TLS_AES_128_CCM_8_SHA256"}, false},
  };
  for (const Case& c : cases) {
    PoolOptions options = Options();
    options.tls.protocols = c.protocols;
    auto pool = MakePool(options);
    EXPECT_EQ(Ask(*pool, Host("localhost"), Echo(1)).get().ok(), c.good) << c.what;
  }
  PoolOptions options = Options();
  options.tls.protocols.ciphers = "NO-SUCH-CIPHER";
  EXPECT_EQ(Pool::Start(options).status().code(), kInvalidSSLConfiguration);
  options.tls.protocols = {.disabled = tls::kTls10 | tls::kTls11 | tls::kTls12 | tls::kTls13};
  EXPECT_EQ(Pool::Start(options).status().code(), kBadValue);
}

TEST_F(TlsTest, AgreesToItsCiphersAlone) {
  server::TlsOptions older;
  older.protocols.disabled |= tls::kTls13;
  older.protocols.ciphers = "ECDHE-ECDSA-AES256-GCM-SHA384";
  StartTlsServer(older);
  PoolOptions options = Options();
  EXPECT_TRUE(Ask(*MakePool(options), Host("localhost"), Echo(1)).get().ok());
  options.tls.protocols.ciphers = "ECDHE-ECDSA-AES128-GCM-SHA256";
  EXPECT_FALSE(Ask(*MakePool(options), Host("localhost"), Echo(1)).get().ok());
}

TEST_F(TlsTest, RefusesCertificatesOfStrangers) {
  StartTlsServer();
  const server::TestCertificate other(folder_.File("other.pem"), Authority());
  PoolOptions options = Options();
  options.tls.ca_file = other.file();
  auto pool = MakePool(options);
  EXPECT_EQ(Ask(*pool, Host("localhost"), Echo(1)).get().status().code(), kHostUnreachable);
  options.tls.ca_file.clear();
  EXPECT_EQ(Pool::Start(options).status().code(), kBadValue);
  options.tls.allow_invalid_certificates = true;
  auto tolerant = MakePool(options);
  EXPECT_TRUE(Ask(*tolerant, Host(), Echo(1)).get().ok());
  options.tls.ca_file = folder_.File("missing.pem");
  EXPECT_EQ(Pool::Start(options).status().code(), kInvalidSSLConfiguration);
}

TEST_F(TlsTest, LogsInByCertificate) {
  StartTlsServer();
  const server::TestCertificate mine(folder_.File("mine.pem"),
                                     {.name = "me", .organisation = "us", .issuer = &authority_});
  PoolOptions options = Options();
  options.login.kind = Login::Kind::kCertificate;
  auto without = MakePool(options);
  EXPECT_EQ(Ask(*without, Host("localhost"), Echo(1)).get().status().code(), kAuthenticationFailed);
  options.tls.certificate_key_file = mine.file();
  auto pool = MakePool(options);
  ASSERT_TRUE(Ask(*pool, Host("localhost"), Echo(1)).get().ok());
  EXPECT_EQ(handler_.subject, "CN=me,O=us");
}

TEST_F(TlsTest, APlainClientIsTurnedAway) {
  StartTlsServer();
  auto pool = MakePool();
  EXPECT_FALSE(Ask(*pool, Host(), Echo(1)).get().ok());
}

TEST(Frame, TakesOneMessageAfterTheOther) {
  std::string bytes;
  AppendFrame(1, Doc("a", 1), &bytes);
  AppendFrame(2, Doc("b", 2), &bytes);
  const std::string whole = bytes;
  for (size_t cut = 0; cut <= whole.size(); ++cut) {
    size_t at = 0;
    int taken = 0;
    while (true) {
      auto reply = TakeReply(whole.substr(0, cut), &at, 1000);
      ASSERT_TRUE(reply.ok());
      if (!reply->has_value()) break;
      ++taken;
    }
    EXPECT_EQ(taken, cut == whole.size() ? 2 : cut >= whole.size() / 2 ? 1 : 0);
  }
  for (size_t broken : {size_t{0}, size_t{12}, size_t{16}, size_t{20}, size_t{21}}) {
    std::string damaged = whole;
    damaged[broken] = static_cast<char>(damaged[broken] ^ 0x7f);
    size_t at = 0;
    auto reply = TakeReply(damaged, &at, 1000);
    EXPECT_TRUE(!reply.ok() || !reply->has_value()) << broken;
  }
}

TEST(SplitHost, KnowsNamesAndAddresses) {
  auto parts = [](const char* text) {
    auto split = SplitHost(text);
    return split.ok() ? split->host + "|" + split->port : "error";
  };
  EXPECT_EQ(parts("a.b:12"), "a.b|12");
  EXPECT_EQ(parts("a.b"), "a.b|27017");
  EXPECT_EQ(parts("[::1]:12"), "::1|12");
  EXPECT_EQ(parts("[::1]"), "::1|27017");
  EXPECT_EQ(parts(""), "error");
  EXPECT_EQ(parts(":12"), "error");
  EXPECT_EQ(parts("a:"), "error");
  EXPECT_EQ(parts("a:x"), "error");
}

}  // namespace
}  // namespace quire::peer
