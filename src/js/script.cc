// SPDX-License-Identifier: Apache-2.0
#include "js/script.h"

#include <js/Conversions.h>
#include <js/ValueArray.h>

#include <atomic>
#include <optional>

#include "base/error_codes.h"
#include "base/try.h"
#include "js/convert_internal.h"
#include "js/runtime_internal.h"

namespace quire::js {

namespace {

std::atomic<uint64_t> next_id{1};

// Functions kept per scope.
constexpr size_t kMaxCompiled = 100;

// Compiles the function, or finds it compiled.
Result<JS::PersistentRootedValue*> Prepare(Runtime& runtime, Realm& realm,
                                           const std::string& source) {
  for (const Realm::Compiled& compiled : realm.compiled) {
    if (compiled.source == source) {
      return compiled.function.get();
    }
  }
  ASSIGN_OR_RETURN(std::string text, runtime.FunctionText(source));
  JSContext* cx = runtime.cx();
  JSAutoRealm in(cx, realm.global);
  JS::RootedValue function(cx);
  if (!Evaluate(cx, "(" + text + "\n)", &function)) {
    return runtime.TakeError();
  }
  if (!function.isObject() || !JS::IsCallable(&function.toObject())) {
    return Status(kJSInterpreterFailure, "not a function: " + source);
  }
  if (realm.compiled.size() >= kMaxCompiled) {
    realm.compiled.clear();
  }
  realm.compiled.push_back({source, std::make_unique<JS::PersistentRootedValue>(cx, function)});
  return realm.compiled.back().function.get();
}

Status Disabled() {
  return {31264, "Cannot run server-side javascript without the javascript engine enabled"};
}

// One call, from the preparation to its result. Lives on the stack of the thread that calls.
class Invocation {
 public:
  explicit Invocation(Runtime* runtime)
      : runtime_(*runtime), cx_(runtime->cx()), running_(runtime), function_(cx_), result_(cx_) {}

  Status Prepare(const Scope& scope, const std::string& source) {
    ASSIGN_OR_RETURN(Realm * realm, runtime_.Enter(scope));
    runtime_.set_realm(realm);
    ASSIGN_OR_RETURN(auto* function, js::Prepare(runtime_, *realm, source));
    function_ = *function;
    in_.emplace(cx_, realm->global);
    return Status::Ok();
  }

  Status Run(const bson::Value& self, std::span<const bson::Value> arguments) {
    JS::RootedValueVector values(cx_);
    JS::RootedValue value(cx_);
    for (const bson::Value& argument : arguments) {
      if (!ToJs(cx_, argument, &value) || !values.append(value)) {
        return runtime_.TakeError();
      }
    }
    JS::RootedValue self_value(cx_);
    if (!self.missing() && !ToJs(cx_, self, &self_value)) {
      return runtime_.TakeError();
    }
    return Apply(self_value, values);
  }

  Status Apply(JS::HandleValue self, const JS::HandleValueArray& arguments) {
    JS::RootedObject object(cx_, runtime_.realm().global);
    if (self.isObject()) {
      object = &self.toObject();
    }
    if (!JS_CallFunctionValue(cx_, object, function_, arguments, &result_)) {
      return runtime_.TakeError();
    }
    return runtime_.FinishJobs();
  }

  JSContext* cx() const { return cx_; }
  JS::HandleValue result() const { return result_; }

 private:
  Runtime& runtime_;
  JSContext* cx_;
  Runtime::Running running_;
  std::optional<JSAutoRealm> in_;
  JS::RootedValue function_;
  JS::RootedValue result_;
};

Result<Runtime*> EngineOf() {
  if (!Enabled()) {
    return Disabled();
  }
  return Runtime::Current();
}

}  // namespace

Scope::Scope(bson::Document variables, const StoredFunctions* stored)
    : id_(next_id++), variables_(std::move(variables)), stored_(stored) {}

Scope::~Scope() { Runtime::Forget(id_); }

ScopePtr Scope::Make(bson::Document variables, const StoredFunctions* stored) {
  return ScopePtr(new Scope(std::move(variables), stored));
}

Function::Function(ScopePtr scope, std::string source)
    : scope_(std::move(scope)), source_(std::move(source)) {}

Status Function::Compile() const {
  ASSIGN_OR_RETURN(Runtime * runtime, EngineOf());
  return Invocation(runtime).Prepare(*scope_, source_);
}

Result<bson::Value> Function::Call(const bson::Value& self, std::span<const bson::Value> arguments,
                                   Arena* arena) const {
  ASSIGN_OR_RETURN(Runtime * runtime, EngineOf());
  Invocation call(runtime);
  RETURN_IF_ERROR(call.Prepare(*scope_, source_));
  RETURN_IF_ERROR(call.Run(self, arguments));
  std::string bytes;
  bson::Builder out(&bytes);
  if (!AppendField(call.cx(), "", call.result(), bson::Value(), 0, &out)) {
    return runtime->TakeError();
  }
  out.Close();
  return bson::View(arena->Adopt(std::move(bytes)).data()).front().value();
}

Result<bool> Function::Test(bson::View document) const {
  ASSIGN_OR_RETURN(Runtime * runtime, EngineOf());
  Invocation call(runtime);
  RETURN_IF_ERROR(call.Prepare(*scope_, source_));
  JSContext* cx = call.cx();
  JS::RootedValue self(cx);
  JS::RootedObject global(cx, runtime->realm().global);
  if (!ToJs(cx, bson::Value(document), &self) || !JS_SetProperty(cx, global, "obj", self)) {
    return runtime->TakeError();
  }
  RETURN_IF_ERROR(call.Apply(self, JS::HandleValueArray::empty()));
  return JS::ToBoolean(call.result());
}

Status Function::Emit(bson::View document, const EmitFn& emit) const {
  ASSIGN_OR_RETURN(Runtime * runtime, EngineOf());
  Invocation call(runtime);
  RETURN_IF_ERROR(call.Prepare(*scope_, source_));
  runtime->emit = &emit;
  Status status = call.Run(bson::Value(document), {});
  runtime->emit = nullptr;
  return status;
}

}  // namespace quire::js
