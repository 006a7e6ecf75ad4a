// SPDX-License-Identifier: Apache-2.0
//
// What an update changed, in the form the change log keeps and oplog entries show (`$v: 2`):
//   of a document  {d: {name: false}, u: {name: value}, i: {name: value}, s<name>: <diff>}
//   of an array    {a: true, l: <new length>, u<index>: value, s<index>: <diff>}
// d are removed fields, u changed ones, i new ones, s changes inside; absent when there are none.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "quire/bson.h"

namespace quire::expr::update {

// The smallest difference: fields that stay are compared, documents and arrays are entered.
bson::Document Diff(bson::View before, bson::View after);

// The difference at the paths an update touched. A touched path is shown whole; an array that only
// grew is shown as its new elements.
bson::Document DiffAt(bson::View before, bson::View after, const std::set<std::string>& paths);

// Appends the fields of an event's updateDescription: updatedFields, removedFields,
// truncatedArrays and, when asked, disambiguatedPaths (the components of each path that could be
// read in more than one way).
void AppendUpdateDescription(bson::View diff, bool disambiguate, bson::Builder* out);

}  // namespace quire::expr::update
