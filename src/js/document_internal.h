// SPDX-License-Identifier: Apache-2.0
//
// Documents inside scripts: objects whose fields are read when a script asks for them. Private to
// js.
#pragma once

#include <jsapi.h>

#include <memory>
#include <string>
#include <vector>

#include "quire/bson.h"

namespace quire::js {

// What stands behind such an object.
struct DocumentState {
  std::shared_ptr<const std::string> owner;  // holds the bytes of `document`
  bson::View document;
  bool touched = false;              // a script has read or changed a field
  std::vector<std::string> removed;  // fields that a script has deleted
};

// `owner` holds the document's bytes. Null: an exception is pending.
JSObject* NewDocument(JSContext* cx, bson::View document, std::shared_ptr<const std::string> owner);
// Null when the object is none.
DocumentState* StateOf(JSObject* object);

// As ToJs, for a value whose bytes `owner` holds.
bool ToJsShared(JSContext* cx, const bson::Value& value,
                const std::shared_ptr<const std::string>& owner, JS::MutableHandleValue out);

// The id of a property; false: an exception is pending.
bool NameToId(JSContext* cx, std::string_view name, JS::MutableHandleId id);
// The name of a property with a string or a number as its key; false for symbols.
bool IdToName(JSContext* cx, JS::HandleId id, std::string* name);

}  // namespace quire::js
