// SPDX-License-Identifier: Apache-2.0
//
// A connection before its first message: plain or TLS, the handshake, and what it tells.
#include "base/log.h"
#include "request/network_stats.h"
#include "server/connection_internal.h"

namespace quire::server {

std::optional<Connection::Wait> Connection::Greet() {
  if (shared_->stopping.load(std::memory_order_relaxed)) {
    return Wait::kClose;
  }
  switch (transport_.Greet()) {
    case Transport::Step::kReadable:
      return Wait::kReadable;
    case Transport::Step::kWritable:
      return Wait::kWritable;
    case Transport::Step::kClose:
      if (!transport_.problem().empty()) {
        log::Info("NETWORK", "Connection refused before its first message",
                  {{"remote", client_.remote()},
                   {"connectionId", client_.id()},
                   {"error", transport_.problem()}});
      }
      return Wait::kClose;
    case Transport::Step::kReady:
      break;
  }
  if (transport_.encrypted()) {
    NotePeer();
  }
  return std::nullopt;
}

void Connection::NotePeer() {
  TlsPeer peer = transport_.Peer();
  client_.encrypted = true;
  client_.certificate_subject = std::move(peer.subject);
  client_.member_certificate = peer.of_server_organisation;
  request::CountTls(peer.version);
  if (!peer.invalid.empty()) {
    log::Warning("NETWORK", "The client's certificate is not valid, which is allowed",
                 {{"remote", client_.remote()}, {"error", peer.invalid}});
  }
  log::Debug(1, "NETWORK", "TLS connection established",
             {{"remote", client_.remote()},
              {"connectionId", client_.id()},
              {"version", peer.version},
              {"cipher", peer.cipher},
              {"subject", client_.certificate_subject}});
}

}  // namespace quire::server
