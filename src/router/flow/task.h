// SPDX-License-Identifier: Apache-2.0
//
// Coroutines: what a router does for a request is written from top to bottom, and no thread waits
// where it waits for shards.
//
// A Task begins when it is awaited. Its references must outlive it: callers await what they call,
// with arguments that live as long as they do.
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

#include "quire/status.h"

namespace quire::router {

template <typename T>
class [[nodiscard]] Task {
 public:
  struct promise_type {  // NOLINT(readability-identifier-naming): the language's name
    std::optional<T> value;
    std::exception_ptr exception;
    std::coroutine_handle<> caller;

    Task get_return_object() {
      return Task(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_always initial_suspend() noexcept { return {}; }
    struct Final {
      bool await_ready() noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> own) noexcept {
        const std::coroutine_handle<> next = own.promise().caller;
        return next ? next : std::noop_coroutine();
      }
      void await_resume() noexcept {}
    };
    Final final_suspend() noexcept { return {}; }
    template <typename V>
    void return_value(V&& given) {
      value.emplace(std::forward<V>(given));
    }
    void unhandled_exception() { exception = std::current_exception(); }
  };

  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Task() {
    if (handle_) {
      handle_.destroy();
    }
  }

  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> caller) noexcept {
    handle_.promise().caller = caller;
    return handle_;
  }
  T await_resume() { return Take(); }

  // For whoever is no coroutine: begins it, until it waits or ends.
  void Begin() { handle_.resume(); }
  bool done() const { return handle_.done(); }
  // The task's value. REQUIRES: done(), and called once.
  T Take() {
    if (handle_.promise().exception) {
      std::rethrow_exception(handle_.promise().exception);
    }
    return *std::move(handle_.promise().value);
  }

 private:
  explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  std::coroutine_handle<promise_type> handle_;
};

}  // namespace quire::router

// base/try.h's macros in a coroutine.
#define CO_RETURN_IF_ERROR(expr)                                                \
  do {                                                                          \
    if (::quire::Status try_status_ = (expr); !try_status_.ok()) [[unlikely]] { \
      co_return try_status_;                                                    \
    }                                                                           \
  } while (false)
#define CO_ASSIGN_OR_RETURN(lhs, expr) \
  CO_ASSIGN_OR_RETURN_INNER(QUIRE_CONCAT(try_result_, __LINE__), lhs, expr)
#define CO_ASSIGN_OR_RETURN_INNER(result, lhs, expr) \
  auto result = (expr);                              \
  if (!result.ok()) [[unlikely]] {                   \
    co_return std::move(result).status();            \
  }                                                  \
  lhs = *std::move(result)
