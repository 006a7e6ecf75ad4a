// SPDX-License-Identifier: Apache-2.0
//
// A few documents of the systems in which people meet: ads, social network, inbox, game,
// monitoring.
#pragma once

#include <string>

#include "quire/quire.h"

// Into DATABASE; every design of the inbox into a database of its own, DATABASE_inboxN.
quire::Status FillLiveSystems(const quire::Client& client, const std::string& database);
