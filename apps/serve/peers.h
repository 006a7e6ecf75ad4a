// SPDX-License-Identifier: Apache-2.0
//
// Whom a process of a cluster talks to, by its settings.
#pragma once

#include <memory>

#include "command/command.h"
#include "coord/coord.h"
#include "peer/pool.h"
#include "quire/status.h"
#include "serve/settings.h"
#include "tls/protocols.h"

namespace quire::apps {

Result<std::unique_ptr<coord::Store>> OpenCoordination(const Settings& settings);
// Which protocols it agrees to, with clients and with the others. Error: BadValue.
Result<tls::Protocols> TlsProtocols(const Settings& settings, command::Commands& commands);
// How it calls the others: encrypted where they prefer that, and as one of the cluster.
Result<peer::PoolOptions> PeerOptions(const Settings& settings, command::Commands& commands);

}  // namespace quire::apps
