// SPDX-License-Identifier: Apache-2.0
//
// One update operator bound to its argument ({$inc: {a: 1}}: the modifier `$inc 1`), and the table
// of all operators.
#pragma once

#include <memory>
#include <string_view>

#include "base/arena.h"
#include "expr/context.h"
#include "quire/bson.h"
#include "quire/status.h"

namespace quire::expr::update {

enum class Effect { kNone, kSet, kRemove };

// Where a modifier is applied.
struct Site {
  const Context* context = nullptr;
  bson::View document;    // the whole document before the update
  std::string_view path;  // dotted, array positions resolved
  bson::Value old;        // missing when the path does not exist
  Arena* arena = nullptr;
};

// Immutable; its argument's bytes outlive it.
class Modifier {
 public:
  virtual ~Modifier() = default;
  // kSet: `*result` is the new value (valid while the site's arena and the argument are).
  virtual Result<Effect> Apply(const Site& site, bson::Value* result) const = 0;
};

struct ModifierRow {
  std::string_view name;
  Result<std::unique_ptr<Modifier>> (*parse)(const bson::Element& argument, const Context* context);
  bool creates;       // makes the path when it does not exist
  bool lenient_path;  // a path through a scalar is nothing to do, not an error
  bool insert_only;   // applies to the document of an upsert alone
};

// Null when there is no such operator. $rename, which has two paths, is not among them.
const ModifierRow* FindModifier(std::string_view name);

using ParseModifier = Result<std::unique_ptr<Modifier>>(const bson::Element& argument,
                                                        const Context* context);
ParseModifier ParseSet, ParseUnset, ParseMin, ParseMax, ParseCurrentDate;  // modifier_field.cc
ParseModifier ParseInc, ParseMul, ParseBit;                                // modifier_number.cc
ParseModifier ParsePush;                                                   // modifier_push.cc
ParseModifier ParseAddToSet, ParsePop;                                     // modifier_array.cc
ParseModifier ParsePull, ParsePullAll;                                     // modifier_pull.cc

// A number with an integer's value (1, 1.0, NumberLong(1)). Error `code` otherwise; `what` names it
// in the message.
Result<int64_t> ParseInteger(const bson::Value& value, int code, std::string_view what);

// "{ _id: 1 }" of the document, for messages.
std::string DescribeId(bson::View document);
// MongoDB's order with the context's collation.
int CompareValues(const bson::Value& a, const bson::Value& b, const Context* context);

}  // namespace quire::expr::update
