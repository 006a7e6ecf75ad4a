// SPDX-License-Identifier: Apache-2.0
//
// What find, distinct and aggregate commands have in common that differ only in constants: the
// shape that setQuerySettings speaks of and explain shows the hash of.
#pragma once

#include <string>
#include <string_view>

#include "quire/bson.h"

namespace quire::engine {

// A command with "?number", "?string", "?array<?number>"... in the places of its constants. Names,
// field paths, sort patterns and the order of clauses stay.
// REQUIRES: `command` is a find, distinct or aggregate on the database; its parts may be malformed.
bson::Document ShapeOfCommand(bson::View command, std::string_view database);

// 64 hexadecimal digits.
std::string HashOfShape(bson::View shape);

}  // namespace quire::engine
