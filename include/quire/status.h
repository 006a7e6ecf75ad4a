// SPDX-License-Identifier: Apache-2.0
//
// Status and Result: the one error value of Quire. No function of the library throws; whatever can
// fail returns one of these, and ignoring it is a compiler warning.
#pragma once

#include <cassert>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace quire {

// Success, or an error with MongoDB's number and name. Copying an error shares its (immutable)
// text; a success is one null pointer, and what an error needs is kept out of the way of the code
// that meets none.
class [[nodiscard]] Status {
 public:
  Status() = default;
  // `code` is one of MongoDB's error numbers (quire/error.h has the named ones).
  // REQUIRES: code != 0.
  [[gnu::cold]] Status(int code, std::string message);
  Status(const Status& other) : rep_(other.rep_) {
    if (rep_ != nullptr) [[unlikely]] {
      Share();
    }
  }
  Status(Status&& other) noexcept : rep_(std::exchange(other.rep_, nullptr)) {}
  Status& operator=(const Status& other) {
    Status copy(other);
    std::swap(rep_, copy.rep_);
    return *this;
  }
  Status& operator=(Status&& other) noexcept {
    std::swap(rep_, other.rep_);
    return *this;
  }
  ~Status() {
    if (rep_ != nullptr) [[unlikely]] {
      Drop();
    }
  }

  static Status Ok() { return {}; }

  bool ok() const { return rep_ == nullptr; }
  // 0 when ok().
  int code() const;
  // "OK", the name of a known code, or "Location<code>".
  std::string code_name() const;
  // Empty when ok().
  const std::string& message() const;

  // BSON document bytes with further fields of the error reply (keyPattern, errInfo,
  // errorLabels...); empty when there are none.
  std::string_view extra() const;
  // The same error carrying `bson_document` as extra(). REQUIRES: !ok().
  Status WithExtra(std::string bson_document) const;
  // The same error with `prefix` before its message; an ok status stays ok.
  Status WithPrefix(std::string_view prefix) const;

  // "OK" or "<code_name>: <message>", for logs and tests.
  std::string ToString() const;

 private:
  struct Rep;

  Status(int code, std::string message, std::string extra);
  [[gnu::cold]] void Share() const;
  [[gnu::cold]] void Drop() const;

  const Rep* rep_ = nullptr;
};

// A value or the error that prevented it.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}  // NOLINT(google-explicit-constructor)
  // REQUIRES: !status.ok().
  // NOLINTNEXTLINE(google-explicit-constructor)
  [[gnu::cold]] Result(Status status) : status_(std::move(status)) { assert(!status_.ok()); }

  bool ok() const { return status_.ok(); }
  const Status& status() const& { return status_; }
  Status&& status() && { return std::move(status_); }

  // REQUIRES: ok().
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  // By value, so that a loop over what a call returns is safe: for (auto& doc : *people.Find()).
  T operator*() && { return *std::move(value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  Status status_;
  std::optional<T> value_;
};

}  // namespace quire
