// SPDX-License-Identifier: Apache-2.0
//
// HTTP POSTs to one of several equal servers, by libcurl.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "coord/coord.h"
#include "quire/status.h"

namespace quire::coord::etcd {

struct HttpOptions {
  std::vector<std::string> servers;  // "http://host:port" or "https://..."
  // PEM files; empty: the system's authorities, and no certificate of our own.
  std::string ca_file;
  std::string certificate_file;
  std::string key_file;  // empty: in certificate_file
};

struct HttpReply {
  long status = 0;
  std::string body;
};

// Safe for concurrent use.
class Http {
 public:
  explicit Http(HttpOptions options);
  ~Http();
  Http(const Http&) = delete;
  Http& operator=(const Http&) = delete;

  // Any HTTP status is a reply. A server that cannot be connected to is passed over; once a request
  // was sent it is not sent to another. `authorization`: the header's value, or empty. Errors:
  // HostUnreachable, NetworkTimeout.
  Result<HttpReply> Post(const std::string& path, const std::string& body,
                         const std::string& authorization, Deadline deadline);

  // Gives each line of the answer to `line` until it ends, breaks, or *stop is set (Stop wakes it).
  class Stream {
   public:
    Stream();
    ~Stream();
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    void Stop();  // from any thread; Run returns soon and every later one at once
    bool stopped() const { return stopped_.load(); }
    // Sleeps, or returns early when stopped.
    void Pause(std::chrono::milliseconds time);

   private:
    friend class Http;
    void* multi_;
    std::atomic<bool> stopped_{false};
  };
  Status Run(Stream* stream, const std::string& path, const std::string& body,
             const std::string& authorization, const std::function<void(std::string_view)>& line);

 private:
  class Handle;
  std::unique_ptr<Handle> Take();
  void GiveBack(std::unique_ptr<Handle> handle);
  void Prepare(Handle* handle, const std::string& url, const std::string& body,
               const std::string& authorization) const;

  const HttpOptions options_;
  std::atomic<size_t> preferred_{0};  // the server that answered last
  Mutex mutex_;
  std::vector<std::unique_ptr<Handle>> idle_ QUIRE_GUARDED_BY(mutex_);
};

}  // namespace quire::coord::etcd
