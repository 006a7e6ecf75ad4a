// SPDX-License-Identifier: Apache-2.0
//
// The result of a query, read one document at a time.
#pragma once

#include <chrono>
#include <cstddef>
#include <iterator>
#include <memory>

#include "quire/bson.h"
#include "quire/status.h"

namespace quire {

namespace api {
struct Access;
}

// Movable; used by one thread at a time. Destroying it before its end frees what it holds inside
// the engine.
//
//   auto cursor = people.Find(Doc("age", Doc("$gt", 40)), {.sort = Doc("name", 1)});
//   if (!cursor.ok()) return cursor.status();
//   for (auto& doc : *cursor) {
//     std::cout << doc["name"].AsString() << "\n";
//   }
//   // Edsger
//   // Grace
//   if (!cursor->status().ok()) return cursor->status();  // the loop ended early
class Cursor {
 public:
  class Iterator;

  Cursor(Cursor&&) noexcept;
  Cursor& operator=(Cursor&&) noexcept;
  ~Cursor();

  // Moves to the next document. False at the end and after an error: status() tells which. On a
  // change stream it waits until there is one; the end comes after the invalidate event only.
  bool Next();

  // For change streams and other cursors that await data: as Next, but also false when nothing
  // came within `wait`. Then open() is still true.
  bool TryNext(std::chrono::milliseconds wait);
  // Whether there may be more to come.
  bool open() const;

  // Of a change stream: the token to resume after everything this cursor has shown.
  bson::Document resume_token() const;

  // The document last moved to. The view is valid until the next call of Next().
  // REQUIRES: the last Next() returned true.
  const bson::View& current() const;

  // Ok unless Next() stopped because of an error.
  const Status& status() const;

  // The documents from the next one on, once: a step of the loop is a Next().
  inline Iterator begin();
  std::default_sentinel_t end() const { return {}; }

 private:
  friend struct api::Access;
  class Impl;
  explicit Cursor(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// An input iterator. What it shows is valid until the next step.
class Cursor::Iterator {
 public:
  using value_type = bson::View;
  using difference_type = std::ptrdiff_t;

  const bson::View& operator*() const { return cursor_->current(); }
  const bson::View* operator->() const { return &cursor_->current(); }
  Iterator& operator++() {
    more_ = cursor_->Next();
    return *this;
  }
  void operator++(int) { ++*this; }
  bool operator==(std::default_sentinel_t) const { return !more_; }

 private:
  friend class Cursor;
  explicit Iterator(Cursor* cursor) : cursor_(cursor), more_(cursor->Next()) {}
  Cursor* cursor_;
  bool more_;
};

inline Cursor::Iterator Cursor::begin() { return Iterator(this); }

}  // namespace quire
