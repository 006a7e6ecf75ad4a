// SPDX-License-Identifier: Apache-2.0
//
// A set's configuration in MongoDB's form, and what the protocol needs of it.
//
// SetConfig::document holds the whole as BSON, with every default filled in.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "quire/bson.h"
#include "quire/status.h"
#include "repl/core/config.h"

namespace quire::repl {

inline constexpr int kMaxMembers = 50;

// Error: InvalidReplicaSetConfig for what has not the form of a configuration.
Result<SetConfig> ParseConfig(const bson::Argument& document);

// Whether the whole makes sense; else an error with this code.
Status CheckConfig(const SetConfig& config, int code);

// Whether a set that has `now` may come to have `next`. Errors:
// NewReplicaSetConfigurationIncompatible.
Status CheckReconfig(const SetConfig& now, const SetConfig& next, Epoch term, bool force);

// The document with the version and the members' votes as they are now. `shown`: to users, who are
// not told that a member is new.
bson::Document ConfigDocument(const SetConfig& config, Epoch term, bool shown);

std::string SetNameOf(const SetConfig& config);
std::map<MemberId, std::string> HostsOf(const SetConfig& config);
// `settings.electionTimeoutMillis`.
Millis ElectionTimeoutOf(const SetConfig& config);

// "{version: 2, term: 1}", as messages show it.
std::string VersionAndTerm(uint64_t version, Epoch term);

// The document with `settings.replicaSetId` as given.
bson::Document WithSetId(const bson::Argument& document, const bson::ObjectId& id);

}  // namespace quire::repl
