// SPDX-License-Identifier: Apache-2.0
#include <js/Class.h>
#include <js/MemoryFunctions.h>
#include <js/Object.h>
#include <js/PropertyAndElement.h>

#include <algorithm>

#include "js/document_internal.h"
#include "js/runtime_internal.h"

namespace quire::js {

namespace {

bool IsRemoved(const DocumentState& state, std::string_view name) {
  return std::find(state.removed.begin(), state.removed.end(), name) != state.removed.end();
}

bool OnResolve(JSContext* cx, JS::HandleObject object, JS::HandleId id, bool* resolved) {
  *resolved = false;
  std::string name;
  DocumentState* state = StateOf(object);
  if (state == nullptr || !IdToName(cx, id, &name)) {
    return true;
  }
  bson::Element element = state->document.Find(name);
  if (!element.present() || IsRemoved(*state, name)) {
    return true;
  }
  state->touched = true;
  JS::RootedValue value(cx);
  if (!ToJsShared(cx, element.value(), state->owner, &value) ||
      !JS_DefinePropertyById(cx, object, id, value, JSPROP_ENUMERATE | JSPROP_RESOLVING)) {
    return false;
  }
  *resolved = true;
  return true;
}

// Fields keep the order they have in the document; what a script adds comes after them.
bool OnEnumerate(JSContext* cx, JS::HandleObject object, JS::MutableHandleIdVector ids, bool) {
  DocumentState* state = StateOf(object);
  if (state == nullptr) {
    return true;
  }
  JS::RootedId id(cx);
  for (const bson::Element& element : state->document) {
    if (IsRemoved(*state, element.name())) {
      continue;
    }
    if (!NameToId(cx, element.name(), &id) || !ids.append(id)) {
      return false;
    }
  }
  return true;
}

bool OnAdd(JSContext*, JS::HandleObject object, JS::HandleId, JS::HandleValue) {
  if (DocumentState* state = StateOf(object)) {
    state->touched = true;
  }
  return true;
}

bool OnDelete(JSContext* cx, JS::HandleObject object, JS::HandleId id, JS::ObjectOpResult& result) {
  std::string name;
  DocumentState* state = StateOf(object);
  if (state != nullptr && IdToName(cx, id, &name)) {
    state->touched = true;
    if (!IsRemoved(*state, name)) {
      state->removed.push_back(std::move(name));
    }
  }
  return result.succeed();
}

void OnFinalize(JS::GCContext*, JSObject* object) {
  if (DocumentState* state = StateOf(object)) {
    JS::RemoveAssociatedMemory(object, state->document.size(), JS::MemoryUse::Embedding1);
    delete state;
  }
}

constexpr JSClassOps kOps = {
    OnAdd,   OnDelete,   nullptr, OnEnumerate, OnResolve,
    nullptr, OnFinalize, nullptr, nullptr,     nullptr,
};
constexpr JSClass kDocumentClass = {
    "Object", JSCLASS_HAS_RESERVED_SLOTS(1) | JSCLASS_FOREGROUND_FINALIZE, &kOps, nullptr, nullptr,
    nullptr};

}  // namespace

JSObject* NewDocument(JSContext* cx, bson::View document,
                      std::shared_ptr<const std::string> owner) {
  JSObject* object = JS_NewObject(cx, &kDocumentClass);
  if (object == nullptr) {
    return nullptr;
  }
  auto* state = new DocumentState{std::move(owner), document, false, {}};
  JS::SetReservedSlot(object, 0, JS::PrivateValue(state));
  JS::AddAssociatedMemory(object, document.size(), JS::MemoryUse::Embedding1);
  return object;
}

DocumentState* StateOf(JSObject* object) {
  if (JS::GetClass(object) != &kDocumentClass) {
    return nullptr;
  }
  return JS::GetMaybePtrFromReservedSlot<DocumentState>(object, 0);
}

bool NameToId(JSContext* cx, std::string_view name, JS::MutableHandleId id) {
  JS::RootedString text(cx, NewText(cx, name));
  return text != nullptr && JS_StringToId(cx, text, id);
}

bool IdToName(JSContext* cx, JS::HandleId id, std::string* name) {
  if (id.isInt()) {
    *name = std::to_string(id.toInt());
    return true;
  }
  if (!id.isString()) {
    return false;
  }
  char buffer[256];
  auto written = JS_EncodeStringToUTF8BufferPartial(cx, id.toString(), buffer);
  JSLinearString* linear = id.toLinearString();
  size_t size = JS::GetDeflatedUTF8StringLength(linear);
  if (written && size <= sizeof buffer) {
    name->assign(buffer, size);
    return true;
  }
  JS::RootedString text(cx, id.toString());
  return AppendText(cx, text, name);
}

}  // namespace quire::js
