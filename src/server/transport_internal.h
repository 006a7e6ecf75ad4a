// SPDX-License-Identifier: Apache-2.0
//
// The bytes of a connection: from the socket as they are, or through TLS. Which of the two the
// first bytes of the peer decide. Used by the thread that holds the connection; nothing here
// blocks for the peer, except where asked to wait.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "server/tls.h"

using SSL = struct ssl_st;
using BIO = struct bio_st;

namespace quire::server {

// What the first bytes of a peer are: the beginning of a TLS handshake, or of a message. A TLS
// hello has the byte 3 where the message header's responseTo is, which is 0 in every request.
enum class Opening : unsigned char { kUndecided, kTls, kPlain };
constexpr size_t kOpeningSize = 11;
Opening Classify(std::string_view bytes);

// What TLS found out about the peer.
struct TlsPeer {
  std::string version;  // "TLSv1.3"
  std::string cipher;
  std::string subject;  // of a certificate that was verified; empty without one
  bool of_server_organisation = false;
  std::string invalid;  // why its certificate was not, where that is allowed
};

class Transport {
 public:
  // `fd` is an open stream socket and outlives the transport, as does `tls`; null: no TLS.
  Transport(int fd, const Tls* tls);
  ~Transport();
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  enum class Step { kReady, kReadable, kWritable, kClose };
  // Goes on until messages can be received, as far as what has arrived allows; after kClose
  // problem() says why, or nothing when the peer just left.
  Step Greet();
  bool ready() const { return state_ == State::kPlain || state_ == State::kOpen; }
  bool encrypted() const { return state_ == State::kOpen; }
  const std::string& problem() const { return problem_; }
  // REQUIRES: encrypted().
  TlsPeer Peer() const;

  enum class Read { kData, kNothing, kEnd };
  // Receives at most `room` bytes, *size of them. With `wait` blocks for at most the socket's
  // receive time-out. *more: more may be here already, of which the socket does not tell.
  // REQUIRES: ready().
  Read Receive(char* data, size_t room, bool wait, size_t* size, bool* more);
  // After kNothing: what is waited for is that the socket takes bytes.
  bool wants_write() const { return wants_write_; }

  // Bytes that have arrived and not been handed on: of a handshake, of a record that is not
  // complete.
  size_t pending() const {
    return state_ == State::kOpen ? raw_ : raw_ + opening_size_ - opening_used_;
  }

  enum class Flush { kDone, kBlocked, kFailed };
  // Sends bytes[*sent..]; *sent grows. After kBlocked the same bytes have to be sent next.
  Flush Send(std::string_view bytes, size_t* sent);

 private:
  enum class State : unsigned char { kOpening, kPlain, kHandshake, kOpen, kFailed };
  friend struct SocketBio;

  Step ReadOpening();
  Step BeginTls();
  Step Handshake();
  Step Fail(std::string problem);
  Read ReceiveTls(char* data, size_t room, bool wait, size_t* size, bool* more);
  Flush SendTls(std::string_view bytes, size_t* sent);
  // OpenSSL's view of the socket.
  int BioRead(char* out, int size);
  int BioWrite(const char* data, int size) const;

  struct SslFree {
    void operator()(SSL* ssl) const;
  };

  const int fd_;
  const Tls* const tls_;
  State state_ = State::kOpening;
  bool wait_ = false;  // of the next read of the socket
  bool wants_write_ = false;
  unsigned char opening_size_ = 0;  // bytes of opening_
  unsigned char opening_used_ = 0;  // handed on of them
  char opening_[kOpeningSize] = {};
  std::unique_ptr<SSL, SslFree> ssl_;
  size_t raw_ = 0;  // received by OpenSSL since it had nothing left
  std::string problem_;
  std::string invalid_certificate_;  // the first problem of the peer's
};

}  // namespace quire::server
