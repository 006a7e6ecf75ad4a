// SPDX-License-Identifier: Apache-2.0
//
// Reads the recorded cases: plain JSON in which only the type wrappers of extended JSON
// ({"$oid": ...}, {"$numberLong": ...}...) are special and every other $key stays a key.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "quire/bson.h"
#include "quire/status.h"

namespace quire::conformance {

struct Member;

// One JSON value; `raw` borrows the text it was read from.
struct Json {
  enum class Kind { kNull, kBool, kNumber, kString, kArray, kObject };
  Kind kind = Kind::kNull;
  std::string_view raw;
  std::string text;             // of a string, decoded
  std::vector<Member> members;  // of an object; of an array, without names

  // The member of that name, or null.
  const Json* Find(std::string_view name) const;
  // The text of the member `name`, or `otherwise`.
  std::string TextOf(std::string_view name, std::string_view otherwise = "") const;
};

struct Member {
  std::string name;
  Json value;
};

// The value `text` consists of. Error: FailedToParse.
Result<Json> ParseJson(std::string_view text);

// The object (or array) as BSON. Error: FailedToParse.
Result<bson::Document> ToBson(const Json& json);

}  // namespace quire::conformance
