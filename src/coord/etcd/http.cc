// SPDX-License-Identifier: Apache-2.0
#include "coord/etcd/http.h"

#include <curl/curl.h>

#include <algorithm>

#include "base/error_codes.h"
#include "base/try.h"

namespace quire::coord::etcd {

namespace {

constexpr auto kConnectTime = std::chrono::milliseconds(2000);
// A stream without a byte for so long is asked by the system whether the other side lives.
constexpr long kKeepAliveSeconds = 10;

void InitialiseOnce() {
  static const CURLcode kDone = curl_global_init(CURL_GLOBAL_DEFAULT);
  (void)kDone;
}

size_t Collect(char* data, size_t, size_t size, void* body) {
  static_cast<std::string*>(body)->append(data, size);
  return size;
}

// Cuts what arrives into lines.
struct Lines {
  std::string rest;
  const std::function<void(std::string_view)>* line;
};

size_t CollectLines(char* data, size_t, size_t size, void* argument) {
  auto* lines = static_cast<Lines*>(argument);
  lines->rest.append(data, size);
  size_t begin = 0;
  for (size_t end; (end = lines->rest.find('\n', begin)) != std::string::npos; begin = end + 1) {
    (*lines->line)(std::string_view(lines->rest).substr(begin, end - begin));
  }
  lines->rest.erase(0, begin);
  return size;
}

Status TransferError(CURLcode code, const std::string& server) {
  const std::string text = "The coordination store at " + server + ": " + curl_easy_strerror(code);
  return {code == CURLE_OPERATION_TIMEDOUT ? kNetworkTimeout : kHostUnreachable, text};
}

// Whether the request certainly did not reach the server.
bool NotSent(CURLcode code, CURL* curl) {
  double connected = 0;
  curl_easy_getinfo(curl, CURLINFO_PRETRANSFER_TIME, &connected);
  return code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST ||
         (code == CURLE_OPERATION_TIMEDOUT && connected == 0);
}

}  // namespace

class Http::Handle {
 public:
  Handle() : curl(curl_easy_init()) {}
  ~Handle() {
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  CURL* const curl;
  curl_slist* headers = nullptr;
};

Http::Http(HttpOptions options) : options_(std::move(options)) { InitialiseOnce(); }

Http::~Http() = default;

std::unique_ptr<Http::Handle> Http::Take() {
  MutexLock lock(mutex_);
  if (idle_.empty()) {
    return std::make_unique<Handle>();
  }
  std::unique_ptr<Handle> handle = std::move(idle_.back());
  idle_.pop_back();
  return handle;
}

void Http::GiveBack(std::unique_ptr<Handle> handle) {
  MutexLock lock(mutex_);
  idle_.push_back(std::move(handle));
}

void Http::Prepare(Handle* handle, const std::string& url, const std::string& body,
                   const std::string& authorization) const {
  CURL* curl = handle->curl;
  curl_easy_reset(curl);
  curl_slist_free_all(std::exchange(handle->headers, nullptr));
  handle->headers = curl_slist_append(nullptr, "Content-Type: application/json");
  handle->headers = curl_slist_append(handle->headers, "Expect:");  // no round trip before the body
  if (!authorization.empty()) {
    handle->headers =
        curl_slist_append(handle->headers, ("Authorization: " + authorization).c_str());
  }
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, handle->headers);
  curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, static_cast<long>(body.size()));
  curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body.data());
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
  curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(curl, CURLOPT_TCP_KEEPIDLE, kKeepAliveSeconds);
  curl_easy_setopt(curl, CURLOPT_TCP_KEEPINTVL, kKeepAliveSeconds);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(kConnectTime.count()));
  if (!options_.ca_file.empty()) {
    curl_easy_setopt(curl, CURLOPT_CAINFO, options_.ca_file.c_str());
  }
  if (!options_.certificate_file.empty()) {
    curl_easy_setopt(curl, CURLOPT_SSLCERT, options_.certificate_file.c_str());
    curl_easy_setopt(
        curl, CURLOPT_SSLKEY,
        (options_.key_file.empty() ? options_.certificate_file : options_.key_file).c_str());
  }
}

Result<HttpReply> Http::Post(const std::string& path, const std::string& body,
                             const std::string& authorization, Deadline deadline) {
  std::unique_ptr<Handle> handle = Take();
  Status failed(kHostUnreachable, "No server of the coordination store is known");
  const size_t first = preferred_.load(std::memory_order_relaxed);
  for (size_t i = 0; i < options_.servers.size(); ++i) {
    const size_t server = (first + i) % options_.servers.size();
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) {
      failed = Status(kNetworkTimeout, "The coordination store did not answer in time");
      break;
    }
    Prepare(handle.get(), options_.servers[server] + path, body, authorization);
    HttpReply reply;
    curl_easy_setopt(handle->curl, CURLOPT_WRITEFUNCTION, Collect);
    curl_easy_setopt(handle->curl, CURLOPT_WRITEDATA, &reply.body);
    curl_easy_setopt(handle->curl, CURLOPT_TIMEOUT_MS, static_cast<long>(left.count()));
    const CURLcode code = curl_easy_perform(handle->curl);
    if (code == CURLE_OK) {
      curl_easy_getinfo(handle->curl, CURLINFO_RESPONSE_CODE, &reply.status);
      preferred_.store(server, std::memory_order_relaxed);
      GiveBack(std::move(handle));
      return reply;
    }
    failed = TransferError(code, options_.servers[server]);
    if (!NotSent(code, handle->curl)) {
      break;
    }
  }
  GiveBack(std::move(handle));
  return failed;
}

Http::Stream::Stream() : multi_(curl_multi_init()) { InitialiseOnce(); }

Http::Stream::~Stream() { curl_multi_cleanup(static_cast<CURLM*>(multi_)); }

void Http::Stream::Stop() {
  stopped_.store(true);
  curl_multi_wakeup(static_cast<CURLM*>(multi_));
}

void Http::Stream::Pause(std::chrono::milliseconds time) {
  if (!stopped()) {
    curl_multi_poll(static_cast<CURLM*>(multi_), nullptr, 0, static_cast<int>(time.count()),
                    nullptr);
  }
}

Status Http::Run(Stream* stream, const std::string& path, const std::string& body,
                 const std::string& authorization,
                 const std::function<void(std::string_view)>& line) {
  std::unique_ptr<Handle> handle = Take();
  auto* multi = static_cast<CURLM*>(stream->multi_);
  const size_t server = preferred_.load(std::memory_order_relaxed);
  Prepare(handle.get(), options_.servers[server] + path, body, authorization);
  Lines lines{{}, &line};
  curl_easy_setopt(handle->curl, CURLOPT_WRITEFUNCTION, CollectLines);
  curl_easy_setopt(handle->curl, CURLOPT_WRITEDATA, &lines);
  curl_multi_add_handle(multi, handle->curl);
  int running = 1;
  CURLcode code = CURLE_OK;
  while (running > 0 && !stream->stopped()) {
    curl_multi_perform(multi, &running);
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi, &left)) {
      code = message->data.result;
    }
    if (running > 0) {
      curl_multi_poll(multi, nullptr, 0, 1000, nullptr);
    }
  }
  curl_multi_remove_handle(multi, handle->curl);
  GiveBack(std::move(handle));
  if (code != CURLE_OK) {
    preferred_.store((server + 1) % options_.servers.size(), std::memory_order_relaxed);
    return TransferError(code, options_.servers[server]);
  }
  return Status::Ok();
}

}  // namespace quire::coord::etcd
