// SPDX-License-Identifier: Apache-2.0
//
// Walking over documents of one form, one after the other. Most documents of a collection have the
// same fields in the same order: where the n-th field has type and name of the n-th field of the
// document before, which one comparison of sixteen bytes tells, it is known where its value begins
// and how long it is, without looking for the end of its name. The processor need not wait for that
// comparison to look at the next field.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "bson/walk/field_walk.h"
#include "quire/bson.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace quire::bson {

// The fields of the document that was walked over last, as far as their names are short. Not safe
// for concurrent use.
class Form {
 private:
  friend class FieldIndex;
  friend class FormWalk;
  static constexpr size_t kStart = 16;
  static constexpr size_t kMostFields = 32;
  static constexpr uint32_t kNothing = 1U << kStart;  // a byte that no comparison has

  // What is known of a field by its type and name.
  struct Facts {
    uint64_t bit = 0;       // see FieldName::bit
    uint64_t key = 0;       // the name's first eight bytes, zeros after its end
    uint32_t value = 0;     // where the value begins, from the type on
    uint32_t fixed = 0;     // what the value takes at least
    bool has_size = false;  // and more: the number it begins with

    // Where the field after the one at `at` begins.
    const char* After(const char* at) const {
      const char* data = at + value;
      if (!has_size) {
        return data + fixed;
      }
      uint32_t more;
      memcpy(&more, data, sizeof more);
      return data + fixed + more;
    }
  };
  struct Field {
    alignas(kStart) char start[kStart] = {};  // type, name and its end
    uint32_t wanted = kNothing;               // a bit for each byte of start that counts
    Facts facts;
  };

  // What is known of the field at `at`, the document's `place`-th, when it is the one known; else
  // null. `end` is the document's. No byte past the document is read.
  const Facts* Known(const char* at, const char* end, size_t place) const {
#if defined(__SSE2__)
    if (end - at >= static_cast<std::ptrdiff_t>(kStart) && place < kMostFields) [[likely]] {
      const Field& last = fields_[place];
      const __m128i start = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
      const __m128i known = _mm_load_si128(reinterpret_cast<const __m128i*>(last.start));
      const auto same = static_cast<uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(start, known)));
      if ((same & last.wanted) == last.wanted) [[likely]] {
        return &last.facts;
      }
    }
#endif
    return nullptr;
  }
  // Looks at the field itself, and remembers it when its name is short.
  Facts Learn(const char* at, size_t place);

  Field fields_[kMostFields];
};

// The form of the documents that this thread walks over.
inline constinit thread_local Form thread_form;

// As FieldWalk.
class FormWalk {
 public:
  explicit FormWalk(View document, Form* form = &thread_form)
      : at_(document.data() + sizeof(int32_t)),
        end_(document.data() + document.size() - 1),
        form_(form) {
    Read();
  }

  bool valid() const { return at_ != end_; }
  // All below REQUIRE that it is at a field.
  void Next() {
    at_ = facts_.After(at_);
    ++place_;
    Read();
  }
  Type type() const { return static_cast<Type>(static_cast<uint8_t>(*at_)); }
  std::string_view name() const { return {at_ + 1, facts_.value - 2}; }
  uint64_t bit() const { return facts_.bit; }
  uint64_t key() const { return facts_.key; }
  const char* value_data() const { return at_ + facts_.value; }
  Value value() const { return Value::FromBytes(type(), value_data()); }

 private:
  void Read() {
    if (const Form::Facts* known = form_->Known(at_, end_, place_)) [[likely]] {
      facts_ = *known;  // a copy: who is shown a field may walk over others meanwhile
    } else if (valid()) {
      facts_ = form_->Learn(at_, place_);
    }
  }

  const char* at_;
  const char* const end_;
  Form* form_;
  size_t place_ = 0;
  Form::Facts facts_;
};

// As FindValue.
inline Value FindInForm(View document, const FieldName& name) {
  const uint64_t bit = name.bit();
  for (FormWalk field(document); field.valid(); field.Next()) {
    if (field.bit() == bit && field.name() == name.name()) {
      return field.value();
    }
  }
  return {};
}

}  // namespace quire::bson
