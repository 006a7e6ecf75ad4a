// SPDX-License-Identifier: Apache-2.0
//
// One thread's JavaScript engine and the realms (global objects) in it. Private to js.
#pragma once

#include <jsapi.h>

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "base/op_context.h"
#include "js/script.h"
#include "quire/status.h"

// The engine links its roots into a list on the stack, which gcc takes for dangling pointers.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wdangling-pointer"
#endif

namespace quire::js {

// The objects MongoDB adds to the language; each has a prototype in every realm.
enum class Kind : uint8_t {
  kObjectId,
  kNumberLong,
  kNumberInt,
  kNumberDecimal,
  kTimestamp,
  kBinData,
  kMinKey,
  kMaxKey,
  kCode,
  kDbPointer,
  kCount,
};

// A global object with what has been compiled in it.
struct Realm {
  explicit Realm(JSContext* cx) : global(cx) {
    for (auto& prototype : prototypes) {
      prototype.init(cx);
    }
  }

  std::weak_ptr<const Scope> scope;
  uint64_t scope_id = 0;
  uint64_t last_use = 0;
  JS::PersistentRootedObject global;
  JS::PersistentRootedObject prototypes[static_cast<size_t>(Kind::kCount)];
  struct Compiled {
    std::string source;
    std::unique_ptr<JS::PersistentRootedValue> function;
  };
  std::vector<Compiled> compiled;
};

class Runtime {
 public:
  // The engine of this thread, made when there is none or when a script had to be stopped in the
  // last one. Error: JSInterpreterFailure.
  static Result<Runtime*> Current();
  // Forgets the scope in this thread's engine, if it has one.
  static void Forget(uint64_t scope_id);
  static Runtime& Of(JSContext* cx);

  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  JSContext* cx() const { return cx_; }
  // The realm of the scope, made and filled on first use. Error: a stored function or a variable
  // that does not compile. REQUIRES: called between Begin and End.
  Result<Realm*> Enter(const Scope& scope);
  // The realm that runs.
  Realm& realm() { return *realm_; }
  void set_realm(Realm* realm) { realm_ = realm; }

  // Where emit() goes; null outside of a map function.
  const EmitFn* emit = nullptr;

  // Runs what the script has put off (promises).
  Status FinishJobs();
  // Stops the running script for good: returns false, for natives to return.
  bool Stop(Status why);
  // The error of the call that just failed; clears it.
  Status TakeError();
  // The source as the text of one function. Error: its SyntaxError.
  Result<std::string> FunctionText(const std::string& source);

  // Marks the time in which a script runs: the watchdog asks it to check its limits now and then.
  class Running {
   public:
    explicit Running(Runtime* runtime);
    ~Running();
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

   private:
    Runtime* runtime_;
  };
  bool running() const { return depth_.load() > 0; }
  // Called by the watchdog: makes the running script check its limits when its operation is to end,
  // or with `always`. Not oftener: a regular expression that is asked begins anew, and fails when
  // it is asked five times.
  void RequestCheck(bool always);

 private:
  explicit Runtime(JSContext* cx) : cx_(cx) {}
  static Result<std::unique_ptr<Runtime>> Make();
  static bool OnInterrupt(JSContext* cx);
  // In the collector's heap, and outside of it: the buffers of strings and arrays.
  double HeldBytes();
  Status CheckMemory();
  Status Fill(const Scope& scope);
  bool DefineGlobal(std::string_view name, const bson::Value& value);
  Status MakeParser();
  void Drop(uint64_t scope_id);
  void MakeRoom();

  JSContext* const cx_;
  uint32_t heap_bytes_ = 0;
  std::vector<std::unique_ptr<Realm>> realms_;
  std::unique_ptr<Realm> parser_;  // where sources are looked at; no script runs there
  std::unique_ptr<JS::PersistentRootedObject> memory_;  // of the parser's realm: what is in use
  Realm* realm_ = nullptr;
  Status stopped_;
  bool broken_ = false;  // a script was stopped: the engine is not used again
  std::atomic<int> depth_{0};
  Mutex op_mutex_;
  const OpContext* op_ QUIRE_GUARDED_BY(op_mutex_) = nullptr;  // of the script that runs
  uint64_t uses_ = 0;
};

// A new global object with MongoDB's types and functions. Null: an exception is pending.
std::unique_ptr<Realm> MakeRealm(JSContext* cx);

// Defines constructors and prototypes of MongoDB's types.
bool DefineTypes(JSContext* cx, Realm* realm);
// print, sleep, hex_md5... and emit.
bool DefineNatives(JSContext* cx, JS::HandleObject global);
// Puts searches that can be ended in the place of the language's own.
bool DefineTextSearch(JSContext* cx, JS::HandleObject global);
// The helpers that are written in JavaScript.
extern const std::string_view kPrelude;

// The value of the text run as a program in the current realm.
bool Evaluate(JSContext* cx, std::string_view text, JS::MutableHandleValue result);

// Appends the characters to `out`; false: an exception is pending.
bool AppendText(JSContext* cx, JS::HandleString string, std::string* out);
JSString* NewText(JSContext* cx, std::string_view utf8);

// Throws a JavaScript Error; returns false, for natives to return.
bool Throw(JSContext* cx, const std::string& message);

}  // namespace quire::js
