// SPDX-License-Identifier: Apache-2.0
//
// Answers requests by a server at the other end of a plain socket: the bytes of the command as they
// are, without a driver that would keep sessions or retry by itself.
#pragma once

#include <memory>
#include <string>

#include "quire/status.h"
#include "request/request.h"

namespace quire::conformance {

// `address`: "mongodb://127.0.0.1:PORT/...". Error: HostUnreachable.
Result<std::unique_ptr<request::Handler>> ConnectSocket(const std::string& address);

}  // namespace quire::conformance
