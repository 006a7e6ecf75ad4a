// SPDX-License-Identifier: Apache-2.0
//
// Between BSON and JavaScript. Private to js.
#pragma once

#include <jsapi.h>

#include <string>
#include <string_view>

#include "js/runtime_internal.h"
#include "quire/bson.h"

namespace quire::js {

// All of them return false (or null) with an exception pending or the script stopped.

// The value in the current realm; its bytes are copied. Documents are read field by field as
// scripts ask for them; what no script touched goes back as the bytes it was.
bool ToJs(JSContext* cx, const bson::Value& value, JS::MutableHandleValue out);

// Appends the value as field `name`. `original` is what the field was before the script: a whole
// number stays the int32 it was.
bool AppendField(JSContext* cx, std::string_view name, JS::HandleValue value,
                 const bson::Value& original, int depth, bson::Builder* out);

// An object of one of MongoDB's types that stands for the value.
JSObject* NewTyped(JSContext* cx, Kind kind, const bson::Value& value);
// The value that such an object stands for, read from its bytes, which are appended to `*bytes`;
// missing when the object is none.
bson::Value TypedValue(JSContext* cx, JSObject* object, std::string* bytes);
bool IsTyped(JSObject* object);

}  // namespace quire::js
