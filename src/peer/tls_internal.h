// SPDX-License-Identifier: Apache-2.0
//
// The bytes of a connection, in the clear or through TLS.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "peer/pool.h"
#include "quire/status.h"

using SSL = struct ssl_st;
using SSL_CTX = struct ssl_ctx_st;

namespace quire::peer {

// Null when TLS is off. Error: InvalidSSLConfiguration, BadValue.
Result<std::shared_ptr<SSL_CTX>> MakeClientContext(const TlsOptions& options);

// What a step on a socket that does not block came to.
enum class Progress : unsigned char { kDone, kWantsRead, kWantsWrite, kEnd };

// Over a connected socket that it does not own.
class Stream {
 public:
  // `context` is null for bytes in the clear. `host` is the name that the certificate has to have.
  Stream(int fd, SSL_CTX* context, const TlsOptions& options, const std::string& host);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // kDone: open. After kEnd problem() tells why.
  Progress Handshake();
  // Appends what is there to *in, or a part of it.
  Progress Read(std::string* in);
  // Whether there may be more than the last Read took: else the socket tells when there is.
  bool MayHaveMore() const { return may_have_more_; }
  // Sends from *at on, and moves it.
  Progress Write(const std::string& bytes, size_t* at);
  const std::string& problem() const { return problem_; }

 private:
  struct Free {
    void operator()(SSL* ssl) const;
  };
  Progress Explain(int result, const char* doing);

  const int fd_;
  std::unique_ptr<SSL, Free> ssl_;
  bool open_ = false;
  bool may_have_more_ = false;
  std::string problem_;
};

}  // namespace quire::peer
