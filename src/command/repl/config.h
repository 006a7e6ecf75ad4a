// SPDX-License-Identifier: Apache-2.0
//
// Configurations of a replica set as administrators give them: read, checked, and put into the form
// that is kept (MongoDB's, every field there).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "quire/bson.h"
#include "quire/status.h"

namespace quire::command {

// What a configuration gets that its giver does not say.
struct ConfigDefaults {
  int64_t term = 1;
  bson::ObjectId set_id;  // settings.replicaSetId
};

// The form that is kept. Error: InvalidReplicaSetConfig, for what cannot be read.
Result<bson::Document> ReadConfig(bson::View given, const ConfigDefaults& defaults);

// Whether a configuration that could be read makes sense: why not, as a text.
Status CheckConfig(bson::View config);

// Whether `now` may follow `old`. Unless `force`, its version is greater and at most one voting
// member comes or goes. Error: NewReplicaSetConfigurationIncompatible.
Status CheckSuccession(bson::View old, bson::View now, bool force);

// {_id: name, version: 1, members: [{_id: 0, host}]}
bson::Document OnlyMember(std::string_view name, std::string_view host);

// The configuration with another version.
bson::Document WithVersion(bson::View config, int64_t version);

// "host:port" of a host that may lack its port. Error: FailedToParse.
Result<std::string> HostAndPort(std::string_view text);

}  // namespace quire::command
