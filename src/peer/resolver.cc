// SPDX-License-Identifier: Apache-2.0
#include <netdb.h>

#include <cstring>
#include <utility>

#include "base/error_codes.h"
#include "base/thread.h"
#include "base/try.h"
#include "peer/resolver_internal.h"

namespace quire::peer {
namespace {

Result<std::vector<Address>> Ask(const HostAndPort& host, int flags) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int error = getaddrinfo(host.host.c_str(), host.port.c_str(), &hints, &list);
  if (error != 0) {
    return Status(kHostNotFound, "Could not find address for " + host.host + ":" + host.port +
                                     ": " + gai_strerror(error));
  }
  std::vector<Address> found;
  for (const addrinfo* one = list; one != nullptr; one = one->ai_next) {
    Address& address = found.emplace_back();
    memcpy(&address.bytes, one->ai_addr, one->ai_addrlen);
    address.size = one->ai_addrlen;
  }
  freeaddrinfo(list);
  return found;
}

}  // namespace

Result<HostAndPort> SplitHost(const std::string& text) {
  HostAndPort out{text, "27017"};
  const size_t bracket = text.find(']');
  const size_t colon = text.rfind(':');
  if (text.starts_with("[") && bracket != std::string::npos) {
    out.host = text.substr(1, bracket - 1);
    if (bracket + 1 < text.size()) {
      out.port = text.substr(bracket + 1);
      out.port.erase(0, out.port.starts_with(":") ? 1 : 0);
    }
  } else if (colon != std::string::npos) {
    out.host = text.substr(0, colon);
    out.port = text.substr(colon + 1);
  }
  const bool digits = out.port.find_first_not_of("0123456789") == std::string::npos;
  if (out.host.empty() || out.port.empty() || out.port.size() > 5 || !digits) {
    return Status(kBadValue, "'" + text + "' is no host and port");
  }
  return out;
}

Status Resolver::Start() {
  ASSIGN_OR_RETURN(thread_, StartThread([this] { Run(); }));
  return Status::Ok();
}

Resolver::~Resolver() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    asked_.clear();
  }
  wake_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
}

void Resolver::Resolve(const HostAndPort& host, Found found) {
  if (auto numeric = Ask(host, AI_NUMERICHOST); numeric.ok()) {
    found(std::move(numeric));
    return;
  }
  MutexLock lock(mutex_);
  asked_.emplace_back(host, std::move(found));
  wake_.notify_all();
}

void Resolver::Run() {
  MutexLock lock(mutex_);
  while (!stopping_) {
    if (asked_.empty()) {
      wake_.wait(lock.native());
      continue;
    }
    auto [host, found] = std::move(asked_.front());
    asked_.pop_front();
    lock.unlock();
    found(Ask(host, AI_ADDRCONFIG));
    lock.lock();
  }
}

}  // namespace quire::peer
