// SPDX-License-Identifier: Apache-2.0
//
// Global objects: what a script finds when it starts, and what makes a function of a source.
#include <js/CompilationAndEvaluation.h>
#include <js/ErrorReport.h>
#include <js/GCAPI.h>
#include <js/SourceText.h>
#include <js/String.h>

#include "base/try.h"
#include "js/runtime_internal.h"

namespace quire::js {

namespace {

constexpr JSClass kGlobalClass = {
    "global", JSCLASS_GLOBAL_FLAGS, &JS::DefaultGlobalClassOps, nullptr, nullptr, nullptr};

JSObject* NewGlobal(JSContext* cx) {
  JS::RealmOptions options;
  options.creationOptions().setSharedMemoryAndAtomicsEnabled(false);
  return JS_NewGlobalObject(cx, &kGlobalClass, nullptr, JS::FireOnNewGlobalHook, options);
}

// Makes the text of a function of a source that may be a function, an expression or statements. A
// source that ends in an expression returns its value.
constexpr std::string_view kParser = R"js(
(function(text) {
  var whole = 'function() { ' + text + '\n}';
  var tree;
  try {
    tree = Reflect.parse(text, {loc: true});
  } catch (e) {
    if (e.message === 'function statement requires a name') return text;
    if (e.message === 'return not in function') return whole;
    throw e;
  }
  var last = tree.body[tree.body.length - 1];
  if (!last) return whole;
  if (last.type === 'FunctionDeclaration' && tree.body.length === 1) return text;
  if (last.type !== 'ExpressionStatement') return whole;
  if (tree.body.length === 1) return 'function() { return (' + text + '\n); }';
  var at = 0;
  for (var line = 1; line < last.loc.start.line; ++line) at = text.indexOf('\n', at) + 1;
  at += last.loc.start.column;
  // Where an expression begins its parentheses do not count.
  for (var i = at - 1; i >= 0 && /[\s(]/.test(text[i]); --i) {
    if (text[i] === '(') at = i;
  }
  return 'function() { ' + text.slice(0, at) + 'return ' + text.slice(at) + '\n}';
})
)js";

std::string_view TrimEnd(std::string_view text) {
  size_t end = text.find_last_not_of("; \t\r\n");
  return text.substr(0, end == std::string_view::npos ? 0 : end + 1);
}

}  // namespace

std::unique_ptr<Realm> MakeRealm(JSContext* cx) {
  auto realm = std::make_unique<Realm>(cx);
  realm->global = NewGlobal(cx);
  if (realm->global == nullptr) {
    return nullptr;
  }
  JSAutoRealm in(cx, realm->global);
  JS::RootedValue unused(cx);
  JS::RootedObject global(cx, realm->global);
  if (!DefineTypes(cx, realm.get()) || !DefineNatives(cx, global) ||
      !DefineTextSearch(cx, global) || !Evaluate(cx, kPrelude, &unused)) {
    return nullptr;
  }
  return realm;
}

Status Runtime::MakeParser() {
  auto realm = std::make_unique<Realm>(cx_);
  realm->global = NewGlobal(cx_);
  if (realm->global == nullptr) {
    return TakeError();
  }
  JSAutoRealm in(cx_, realm->global);
  JS::RootedObject global(cx_, realm->global);
  JS::RootedValue parser(cx_);
  JS::RootedObject memory(cx_, ::js::gc::NewMemoryInfoObject(cx_));
  if (memory == nullptr || !JS_InitReflectParse(cx_, global) || !Evaluate(cx_, kParser, &parser)) {
    return TakeError();
  }
  memory_ = std::make_unique<JS::PersistentRootedObject>(cx_, memory);
  realm->compiled.push_back({"", std::make_unique<JS::PersistentRootedValue>(cx_, parser)});
  parser_ = std::move(realm);
  return Status::Ok();
}

Result<std::string> Runtime::FunctionText(const std::string& source) {
  JSAutoRealm in(cx_, parser_->global);
  JS::RootedString text(cx_, NewText(cx_, TrimEnd(source)));
  if (text == nullptr) {
    return TakeError();
  }
  JS::RootedValue argument(cx_, JS::StringValue(text));
  JS::RootedValue parser(cx_, *parser_->compiled[0].function);
  JS::RootedValue result(cx_);
  JS::RootedObject global(cx_, parser_->global);
  std::string out;
  if (!JS_CallFunctionValue(cx_, global, parser, JS::HandleValueArray(argument), &result)) {
    return TakeError();
  }
  JS::RootedString function(cx_, result.toString());
  if (!AppendText(cx_, function, &out)) {
    return TakeError();
  }
  return out;
}

bool Evaluate(JSContext* cx, std::string_view text, JS::MutableHandleValue result) {
  JS::CompileOptions options(cx);
  options.setFileAndLine("", 1);
  JS::SourceText<mozilla::Utf8Unit> source;
  return source.init(cx, text.data(), text.size(), JS::SourceOwnership::Borrowed) &&
         JS::Evaluate(cx, options, source, result);
}

bool AppendText(JSContext* cx, JS::HandleString string, std::string* out) {
  JS::UniqueChars chars = JS_EncodeStringToUTF8(cx, string);
  if (chars == nullptr) {
    return false;
  }
  // The text may hold zeros: its length is the string's.
  JSLinearString* linear = JS_EnsureLinearString(cx, string);
  if (linear == nullptr) {
    return false;
  }
  out->append(chars.get(), JS::GetDeflatedUTF8StringLength(linear));
  return true;
}

JSString* NewText(JSContext* cx, std::string_view utf8) {
  return JS_NewStringCopyUTF8N(cx, JS::UTF8Chars(utf8.data(), utf8.size()));
}

bool Throw(JSContext* cx, const std::string& message) {
  JS_ReportErrorUTF8(cx, "%s", message.c_str());
  return false;
}

}  // namespace quire::js
