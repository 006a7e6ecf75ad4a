// SPDX-License-Identifier: Apache-2.0
#include <js/ArrayBuffer.h>
#include <js/BuildId.h>
#include <js/ContextOptions.h>
#include <js/ErrorReport.h>
#include <js/Exception.h>
#include <js/GCAPI.h>
#include <js/Initialization.h>
#include <js/Interrupt.h>
#include <js/Stack.h>
#include <jsfriendapi.h>
#include <pthread.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>

#include "base/current_op.h"
#include "base/error_codes.h"
#include "base/log.h"
#include "base/try.h"
#include "js/convert_internal.h"
#include "js/document_internal.h"
#include "js/runtime_internal.h"
#include "js/watchdog_internal.h"

namespace quire::js {

namespace {

std::atomic<bool> enabled{true};
std::atomic<int64_t> heap_limit{kDefaultHeapLimit};

// Realms one thread keeps: more than one operation's only while cursors are open.
constexpr size_t kMaxRealms = 8;
// Bytes one thread keeps between operations.
constexpr double kKeptBytes = 8 << 20;
// Megabytes allocated before the collector looks at a realm: its heap, and what is outside of it.
constexpr uint32_t kHeapThreshold = 10;
constexpr uint32_t kOutsideThreshold = 16;
// Of an error's stack.
constexpr size_t kMaxStackText = 1000;

thread_local std::unique_ptr<Runtime> current;

// The engine's own library, compiled by the first runtime and read by the others.
std::string& LibraryCode() {
  static auto* const code = new std::string();
  return *code;
}

// Names the build that made such code; it never leaves the process.
bool BuildId(JS::BuildIdCharVector* id) { return id->append("quire", 5); }

std::atomic<int> live{0};  // engines

// Before the library's own end, which does not wait for its helper threads.
void ShutDown() {
  if (live == 0) {
    JS_ShutDown();
  }
}

bool Start() {
  JS::SetProcessBuildIdOp(BuildId);
  return JS_Init() && std::atexit(ShutDown) == 0;
}

bool KeepLibraryCode(JSContext*, JS::SelfHostedCache cache) {
  LibraryCode().assign(reinterpret_cast<const char*>(cache.data()), cache.size());
  return true;
}

bool InitLibrary(JSContext* cx) {
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  const std::string& code = LibraryCode();
  if (code.empty()) {
    return JS::InitSelfHostedCode(cx, nullptr, KeepLibraryCode);
  }
  return JS::InitSelfHostedCode(
      cx, JS::SelfHostedCache(reinterpret_cast<const uint8_t*>(code.data()), code.size()));
}

// Half of the thread's stack, for scripts may be called deep inside of ours.
size_t StackQuota() {
  constexpr size_t kMost = size_t{2} << 20;
  pthread_attr_t attributes;
  void* base = nullptr;
  size_t size = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    pthread_attr_getstack(&attributes, &base, &size);
    pthread_attr_destroy(&attributes);
  }
  return size == 0 ? kMost / 4 : std::min(kMost, size / 2);
}

uint32_t HeapBytes() {
  return static_cast<uint32_t>(std::clamp<int64_t>(heap_limit, 10, 4095)) << 20;
}

Status EngineFailed() {
  return {kJSInterpreterFailure, "The JavaScript engine could not be started"};
}

}  // namespace

bool Enabled() { return enabled; }
void SetEnabled(bool on) { enabled = on; }
int64_t HeapLimit() { return heap_limit; }
void SetHeapLimit(int64_t megabytes) { heap_limit = megabytes; }

Result<std::unique_ptr<Runtime>> Runtime::Make() {
  static const bool started = Start();
  if (!started) {
    return EngineFailed();
  }
  JSContext* cx = JS_NewContext(HeapBytes());
  if (cx == nullptr) {
    return EngineFailed();
  }
  ++live;
  auto runtime = std::unique_ptr<Runtime>(new Runtime(cx));
  JS_SetContextPrivate(cx, runtime.get());
  RETURN_IF_ERROR(Watchdog::Get().Add(runtime.get()));
  JS_SetNativeStackQuota(cx, StackQuota());
  JS_SetGCParameter(cx, JSGC_ALLOCATION_THRESHOLD, kHeapThreshold);
  JS_SetGCParameter(cx, JSGC_MALLOC_THRESHOLD_BASE, kOutsideThreshold);
  JS::ContextOptionsRef(cx).setWasm(false).setAsmJS(false);
  JS::SetLargeArrayBuffersEnabled(false);
  if (!::js::UseInternalJobQueues(cx) || !InitLibrary(cx) ||
      !JS_AddInterruptCallback(cx, OnInterrupt)) {
    return EngineFailed();
  }
  RETURN_IF_ERROR(runtime->MakeParser());
  return runtime;
}

Result<Runtime*> Runtime::Current() {
  if (current != nullptr && current->broken_ && !current->running()) {
    current.reset();
  }
  if (current == nullptr) {
    ASSIGN_OR_RETURN(current, Make());
  }
  if (uint32_t bytes = HeapBytes(); bytes != current->heap_bytes_) {
    JS_SetGCParameter(current->cx_, JSGC_MAX_BYTES, bytes);
    current->heap_bytes_ = bytes;
  }
  return current.get();
}

Runtime& Runtime::Of(JSContext* cx) { return *static_cast<Runtime*>(JS_GetContextPrivate(cx)); }

Runtime::~Runtime() {
  Watchdog::Get().Remove(this);
  realms_.clear();
  parser_.reset();
  memory_.reset();
  JS_DestroyContext(cx_);
  --live;
}

void Runtime::Forget(uint64_t scope_id) {
  if (current != nullptr && !current->running()) {
    current->Drop(scope_id);
  }
}

void Runtime::Drop(uint64_t scope_id) {
  if (std::erase_if(realms_, [&](const auto& realm) { return realm->scope_id == scope_id; }) == 0) {
    return;
  }
  // What the operation left behind is given back at once, unless it is little.
  if (HeldBytes() > kKeptBytes) {
    JS::PrepareForFullGC(cx_);
    JS::NonIncrementalGC(cx_, JS::GCOptions::Shrink, JS::GCReason::API);
  }
}

void Runtime::MakeRoom() {
  std::erase_if(realms_, [](const auto& realm) { return realm->scope.expired(); });
  while (realms_.size() >= kMaxRealms) {
    realms_.erase(
        std::min_element(realms_.begin(), realms_.end(),
                         [](const auto& a, const auto& b) { return a->last_use < b->last_use; }));
  }
}

Result<Realm*> Runtime::Enter(const Scope& scope) {
  for (const auto& realm : realms_) {
    if (realm->scope_id == scope.id()) {
      realm->last_use = ++uses_;
      return realm.get();
    }
  }
  MakeRoom();
  std::unique_ptr<Realm> realm = MakeRealm(cx_);
  if (realm == nullptr) {
    return TakeError();
  }
  realm->scope = scope.weak_from_this();
  realm->scope_id = scope.id();
  realm->last_use = ++uses_;
  realm_ = realm.get();
  RETURN_IF_ERROR(Fill(scope));
  realms_.push_back(std::move(realm));
  return realms_.back().get();
}

bool Runtime::DefineGlobal(std::string_view name, const bson::Value& value) {
  JS::RootedValue v(cx_);
  JS::RootedId id(cx_);
  JS::RootedObject global(cx_, realm_->global);
  return NameToId(cx_, name, &id) && ToJs(cx_, value, &v) && JS_SetPropertyById(cx_, global, id, v);
}

// Stored functions first, for the operation's own variables hide them. One that does not compile
// is left out, as by MongoDB.
Status Runtime::Fill(const Scope& scope) {
  std::vector<bson::Document> stored;
  if (scope.stored() != nullptr) {
    ASSIGN_OR_RETURN(stored, scope.stored()->Load());
  }
  JSAutoRealm in(cx_, realm_->global);
  for (const bson::Document& function : stored) {
    bson::Value name = function["_id"];
    if (name.is_string() && !DefineGlobal(name.AsString(), function["value"])) {
      Status status = TakeError();
      if (broken_) {
        return status;
      }
      log::Warning("QUERY", "Stored function left out",
                   {{"name", name.AsString()}, {"error", status.message()}});
    }
  }
  for (const bson::Element& variable : scope.variables()) {
    if (!DefineGlobal(variable.name(), variable.value())) {
      return TakeError();
    }
  }
  return Status::Ok();
}

bool Runtime::Stop(Status why) {
  if (stopped_.ok()) {
    stopped_ = std::move(why);
  }
  JS_ClearPendingException(cx_);
  return false;
}

Status Runtime::TakeError() {
  if (!stopped_.ok()) {
    JS_ClearPendingException(cx_);
    return std::exchange(stopped_, Status::Ok());
  }
  JS::ExceptionStack thrown(cx_);
  JS::ErrorReportBuilder report(cx_);
  if (!JS_IsExceptionPending(cx_) || !JS::StealPendingExceptionStack(cx_, &thrown) ||
      !report.init(cx_, thrown, JS::ErrorReportBuilder::NoSideEffects)) {
    JS_ClearPendingException(cx_);
    broken_ = true;
    return {kJSInterpreterFailure, "out of memory"};
  }
  std::string message = report.toStringResult().c_str();
  if (!thrown.exception().isObject()) {
    // The engine throws this text when memory runs out.
    if (message.ends_with("out of memory")) {
      broken_ = true;
      return {kJSInterpreterFailure, "out of memory"};
    }
    return {kUnknownError, std::move(message)};
  }
  if (JS::RootedObject stack(cx_, thrown.stack()); stack != nullptr) {
    JS::RootedString text(cx_);
    std::string lines;
    if (!JS::BuildStackString(cx_, nullptr, stack, &text) || !AppendText(cx_, text, &lines)) {
      JS_ClearPendingException(cx_);
    }
    message += " :\n" + lines.substr(0, kMaxStackText);
  }
  return {kJSInterpreterFailure, std::move(message)};
}

bool Runtime::OnInterrupt(JSContext* cx) {
  Runtime& runtime = Of(cx);
  OpContext* op = CurrentOp();
  Status status = op != nullptr ? op->CheckInterruptNow() : Status::Ok();
  if (status.ok()) {
    status = runtime.CheckMemory();
  }
  if (status.ok()) {
    return true;
  }
  runtime.broken_ = true;
  ::js::StopDrainingJobQueue(cx);
  return runtime.Stop(std::move(status));
}

double Runtime::HeldBytes() {
  JSAutoRealm in(cx_, parser_->global);
  JS::RootedObject info(cx_, *memory_);
  JS::RootedValue value(cx_);
  double bytes = 0;
  for (const char* name : {"gcBytes", "mallocBytes"}) {
    if (JS_GetProperty(cx_, info, name, &value) && value.isNumber()) {
      bytes += value.toNumber();
    }
  }
  return bytes;
}

Status Runtime::CheckMemory() {
  if (HeldBytes() <= HeapBytes()) {
    return Status::Ok();
  }
  JS_GC(cx_);
  if (HeldBytes() <= HeapBytes()) {
    return Status::Ok();
  }
  return {kJSInterpreterFailure, "out of memory"};
}

Status Runtime::FinishJobs() {
  ::js::RunJobs(cx_);
  return stopped_.ok() ? Status::Ok() : TakeError();
}

void Runtime::RequestCheck(bool always) {
  MutexLock lock(op_mutex_);
  if (running() && (always || (op_ != nullptr && !op_->CheckInterruptNow().ok()))) {
    JS_RequestInterruptCallback(cx_);
  }
}

Runtime::Running::Running(Runtime* runtime) : runtime_(runtime) {
  if (++runtime_->depth_ == 1) {
    MutexLock lock(runtime_->op_mutex_);
    runtime_->op_ = CurrentOp();
  }
  Watchdog::Get().Notice();
}

Runtime::Running::~Running() {
  if (runtime_->depth_.load() == 1 && !runtime_->broken_) {
    ::js::RunJobs(runtime_->cx_);
  }
  if (--runtime_->depth_ == 0) {
    MutexLock lock(runtime_->op_mutex_);
    runtime_->op_ = nullptr;
  }
}

}  // namespace quire::js
