// SPDX-License-Identifier: Apache-2.0
//
// Values as MongoDB's messages and plans show them: { a: "x", t: new Date(7) }.
#pragma once

#include <cstdint>
#include <string>

#include "quire/bson.h"

namespace quire::bson {

enum class Lengths : uint8_t { kWhole, kShortened };  // of long strings and binary data

std::string ValueText(const Value& value, Lengths lengths = Lengths::kWhole);
std::string DocumentText(View document, Lengths lengths = Lengths::kWhole);

}  // namespace quire::bson
