// SPDX-License-Identifier: Apache-2.0
//
// The arguments of the typed calls as fields of their commands.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "quire/collection.h"
#include "quire/options.h"

namespace quire::api {

// A field for what was given; none for an empty document, a missing value or an empty list.
void AppendGiven(bson::Builder* out, std::string_view name, const bson::Document& document);
void AppendGiven(bson::Builder* out, std::string_view name, const bson::OwnedValue& value);
void AppendGiven(bson::Builder* out, std::string_view name,
                 const std::vector<bson::Document>& documents);

// A field for a number above 0.
void AppendPositive(bson::Builder* out, std::string_view name, int64_t number);

// An array, also when it is empty.
void AppendDocuments(bson::Builder* out, std::string_view name,
                     const std::vector<bson::Document>& documents);

// The write concern; none inside a transaction, whose commit carries it.
void AppendDurability(bson::Builder* out, Durability durability, const Session* session);

// What of `extra` belongs to a single statement of an update or delete, and the rest.
void AppendStatementExtra(bson::Builder* out, const bson::Document& extra);
void AppendCommandExtra(bson::Builder* out, const bson::Document& extra);

// Everything of an aggregate command behind its collection.
void AppendAggregate(bson::Builder* out, const Pipeline& pipeline, const AggregateOptions& options);

// The aggregate command, behind its collection, that opens a change stream.
void AppendWatch(bson::Builder* out, const Pipeline& pipeline, const WatchOptions& options,
                 bool whole_node);

}  // namespace quire::api
