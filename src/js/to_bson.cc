// SPDX-License-Identifier: Apache-2.0
#include <js/Array.h>
#include <js/CallAndConstruct.h>
#include <js/Conversions.h>
#include <js/Date.h>
#include <js/Object.h>
#include <js/RegExp.h>
#include <jsfriendapi.h>

#include <cmath>
#include <limits>

#include "js/convert_internal.h"
#include "js/document_internal.h"

namespace quire::js {

namespace {

using bson::Type;

constexpr int kMaxDepth = 150;
// A document of 16 MB and room for the command around it.
constexpr size_t kMaxSize = (size_t{16} << 20) + (16 << 10);

bool CheckName(JSContext* cx, std::string_view name) {
  if (name.find('\0') == std::string_view::npos) {
    return true;
  }
  return Runtime::Of(cx).Stop(
      {16985, "JavaScript property (name) contains a null char which is not allowed in BSON."});
}

bool CheckLimits(JSContext* cx, int depth, const bson::Builder& out) {
  if (depth >= kMaxDepth) {
    return Runtime::Of(cx).Stop(
        {17279, "Exceeded depth limit of " + std::to_string(kMaxDepth) +
                    " when converting js object to BSON. Do you have a cycle?"});
  }
  if (out.size() > kMaxSize) {
    return Runtime::Of(cx).Stop({17260, "Converting from JavaScript to BSON failed: Object size " +
                                            std::to_string(out.size()) + " exceeds limit of " +
                                            std::to_string(kMaxSize) + " bytes."});
  }
  return true;
}

bool AppendNumber(std::string_view name, double number, const bson::Value& original,
                  bson::Builder* out) {
  if (original.type() == Type::kInt32 && number == std::trunc(number) &&
      number >= std::numeric_limits<int32_t>::min() &&
      number <= std::numeric_limits<int32_t>::max()) {
    out->Append(name, static_cast<int32_t>(number));
  } else {
    out->Append(name, number);
  }
  return true;
}

bool AppendProperty(JSContext* cx, JS::HandleObject object, JS::HandleId id, std::string_view name,
                    const bson::Value& original, int depth, bson::Builder* out) {
  JS::RootedValue value(cx);
  return CheckName(cx, name) && JS_GetPropertyById(cx, object, id, &value) &&
         AppendField(cx, name, value, original, depth + 1, out);
}

// A document a script has touched: fields not read go back as they were.
bool AppendTouched(JSContext* cx, JS::HandleObject object, const DocumentState& state, int depth,
                   bson::Builder* out) {
  JS::RootedId id(cx);
  for (const bson::Element& element : state.document) {
    bool read = false;
    if (!NameToId(cx, element.name(), &id) ||
        !JS_AlreadyHasOwnPropertyById(cx, object, id, &read)) {
      return false;
    }
    if (read) {
      if (!AppendProperty(cx, object, id, element.name(), element.value(), depth, out)) {
        return false;
      }
    } else if (std::find(state.removed.begin(), state.removed.end(), element.name()) ==
               state.removed.end()) {
      out->Append(element);
    }
  }
  return true;
}

// The own enumerable properties, but those of the document behind the object.
bool AppendProperties(JSContext* cx, JS::HandleObject object, const DocumentState* state, int depth,
                      bson::Builder* out) {
  JS::Rooted<JS::IdVector> ids(cx, JS::IdVector(cx));
  if (!JS_Enumerate(cx, object, &ids)) {
    return false;
  }
  JS::RootedId id(cx);
  for (size_t i = 0; i < ids.length(); ++i) {
    id = ids[i];
    std::string name;
    if (!IdToName(cx, id, &name) || (state != nullptr && state->document.Has(name))) {
      continue;
    }
    if (!AppendProperty(cx, object, id, name, bson::Value(), depth, out)) {
      return false;
    }
  }
  return true;
}

bool AppendDocument(JSContext* cx, std::string_view name, JS::HandleObject object, int depth,
                    bson::Builder* out) {
  const DocumentState* state = StateOf(object);
  if (state != nullptr && !state->touched) {
    out->Append(name, state->document);
    return true;
  }
  out->BeginDocument(name);
  bool ok = (state == nullptr || AppendTouched(cx, object, *state, depth, out)) &&
            AppendProperties(cx, object, state, depth, out);
  out->End();
  return ok;
}

bool AppendArray(JSContext* cx, std::string_view name, JS::HandleObject array, int depth,
                 bson::Builder* out) {
  uint32_t length = 0;
  if (!JS::GetArrayLength(cx, array, &length)) {
    return false;
  }
  JS::RootedValue value(cx);
  out->BeginArray(name);
  bool ok = true;
  for (uint32_t i = 0; ok && i < length; ++i) {
    ok = JS_GetElement(cx, array, i, &value) &&
         AppendField(cx, std::to_string(i), value, bson::Value(), depth + 1, out);
  }
  out->End();
  return ok;
}

bool AppendRegex(JSContext* cx, std::string_view name, JS::HandleObject object,
                 bson::Builder* out) {
  JS::RootedString source(cx, JS::GetRegExpSource(cx, object));
  std::string pattern;
  if (source == nullptr || !AppendText(cx, source, &pattern) || !CheckName(cx, pattern)) {
    return false;
  }
  JS::RegExpFlags flags = JS::GetRegExpFlags(cx, object);
  std::string options;
  for (auto [set, letter] : {std::pair{flags.ignoreCase(), 'i'},
                             {flags.multiline(), 'm'},
                             {flags.dotAll(), 's'},
                             {flags.unicode(), 'u'}}) {
    if (set) {
      options.push_back(letter);
    }
  }
  out->AppendRegex(name, pattern, options);
  return true;
}

bool AppendString(JSContext* cx, std::string_view name, JS::HandleString string,
                  bson::Builder* out) {
  std::string text;
  if (!AppendText(cx, string, &text)) {
    return false;
  }
  out->Append(name, text);
  return CheckLimits(cx, 0, *out);
}

bool AppendFunction(JSContext* cx, std::string_view name, JS::HandleObject object,
                    bson::Builder* out) {
  Realm& realm = Runtime::Of(cx).realm();
  JS::RootedValue prototype(cx);
  if (!JS_GetProperty(cx, object, "prototype", &prototype)) {
    return false;
  }
  // MinKey and MaxKey stand for the values as well.
  for (auto [kind, value] :
       {std::pair{Kind::kMinKey, bson::Value::MinKey()}, {Kind::kMaxKey, bson::Value::MaxKey()}}) {
    if (prototype.isObject() &&
        &prototype.toObject() == realm.prototypes[static_cast<size_t>(kind)].get()) {
      out->Append(name, value);
      return true;
    }
  }
  JS::RootedValue value(cx, JS::ObjectValue(*object));
  JS::RootedString text(cx, JS::ToString(cx, value));
  std::string source;
  if (text == nullptr || !AppendText(cx, text, &source)) {
    return false;
  }
  out->Append(name, bson::Value::Code(source));
  return true;
}

// Dates, patterns and boxed values. `*done` tells whether the object was one.
bool AppendBuiltin(JSContext* cx, std::string_view name, JS::HandleObject object,
                   const bson::Value& original, int depth, bson::Builder* out, bool* done) {
  ::js::ESClass kind;
  if (!JS::GetBuiltinClass(cx, object, &kind)) {
    return false;
  }
  *done = true;
  JS::RootedValue value(cx);
  switch (kind) {
    case ::js::ESClass::Array:
      return AppendArray(cx, name, object, depth, out);
    case ::js::ESClass::RegExp:
      return AppendRegex(cx, name, object, out);
    case ::js::ESClass::Date: {
      double millis = 0;
      if (!::js::DateGetMsecSinceEpoch(cx, object, &millis)) {
        return false;
      }
      out->Append(name, bson::Date{std::isnan(millis) ? std::numeric_limits<int64_t>::min()
                                                      : static_cast<int64_t>(millis)});
      return true;
    }
    case ::js::ESClass::Number:
    case ::js::ESClass::Boolean: {
      double number = 0;
      value.setObject(*object);
      if (!JS::ToNumber(cx, value, &number)) {
        return false;
      }
      if (kind == ::js::ESClass::Boolean) {
        out->Append(name, number != 0);
        return true;
      }
      return AppendNumber(name, number, original, out);
    }
    case ::js::ESClass::String: {
      value.setObject(*object);
      JS::RootedString string(cx, JS::ToString(cx, value));
      return string != nullptr && AppendString(cx, name, string, out);
    }
    default:
      *done = false;
      return true;
  }
}

bool AppendObject(JSContext* cx, std::string_view name, JS::HandleObject object,
                  const bson::Value& original, int depth, bson::Builder* out) {
  if (IsTyped(object)) {
    std::string bytes;
    out->Append(name, TypedValue(cx, object, &bytes));
    return true;
  }
  if (StateOf(object) == nullptr) {
    bool done = false;
    if (!AppendBuiltin(cx, name, object, original, depth, out, &done)) {
      return false;
    }
    if (done) {
      return true;
    }
    if (JS::IsCallable(object)) {
      return AppendFunction(cx, name, object, out);
    }
  }
  return AppendDocument(cx, name, object, depth, out);
}

}  // namespace

bool AppendField(JSContext* cx, std::string_view name, JS::HandleValue value,
                 const bson::Value& original, int depth, bson::Builder* out) {
  if (!CheckLimits(cx, depth, *out)) {
    return false;
  }
  if (value.isNumber()) {
    return AppendNumber(name, value.toNumber(), original, out);
  }
  if (value.isString()) {
    JS::RootedString string(cx, value.toString());
    return AppendString(cx, name, string, out);
  }
  if (value.isObject()) {
    JS::RootedObject object(cx, &value.toObject());
    return AppendObject(cx, name, object, original, depth, out);
  }
  if (value.isBoolean()) {
    out->Append(name, value.toBoolean());
  } else if (value.isNull()) {
    out->AppendNull(name);
  } else if (value.isUndefined()) {
    out->Append(name, bson::Value::Undefined());
  } else {
    return Throw(cx, "unable to convert a symbol or a BigInt to BSON");
  }
  return true;
}

}  // namespace quire::js
