// SPDX-License-Identifier: Apache-2.0
//
// The language's searches of a text within a text take the product of both lengths, and nothing
// ends one that has begun. Where that product is large, these take their place.
#include <js/Array.h>
#include <js/CallArgs.h>
#include <js/String.h>
#include <string.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "base/current_op.h"
#include "base/try.h"
#include "js/runtime_internal.h"

namespace quire::js {
namespace {

// The bytes of two strings' characters, of one width.
class Characters {
 public:
  // False: an exception is pending. Valid as long as the collector does not run.
  bool Read(JSContext* cx, JS::HandleString text, JS::HandleString pattern) {
    JSLinearString* texts = JS_EnsureLinearString(cx, text);
    JSLinearString* patterns = texts != nullptr ? JS_EnsureLinearString(cx, pattern) : nullptr;
    if (patterns == nullptr) {
      return false;
    }
    bool narrow = JS::LinearStringHasLatin1Chars(texts) && JS::LinearStringHasLatin1Chars(patterns);
    width_ = narrow ? 1 : 2;
    text_ = Bytes(texts, &text_copy_);
    pattern_ = Bytes(patterns, &pattern_copy_);
    return true;
  }
  std::string_view text() const { return text_; }
  std::string_view pattern() const { return pattern_; }
  size_t width() const { return width_; }

 private:
  std::string_view Bytes(JSLinearString* string, std::u16string* copy) const {
    JS::AutoCheckCannotGC stays;
    const size_t length = JS::GetLinearStringLength(string);
    if (!JS::LinearStringHasLatin1Chars(string)) {
      const char16_t* wide = JS::GetTwoByteLinearStringChars(stays, string);
      return {reinterpret_cast<const char*>(wide), 2 * length};
    }
    const JS::Latin1Char* narrow = JS::GetLatin1LinearStringChars(stays, string);
    if (width_ == 1) {
      return {reinterpret_cast<const char*>(narrow), length};
    }
    copy->assign(narrow, narrow + length);
    return {reinterpret_cast<const char*>(copy->data()), 2 * length};
  }

  std::string_view text_;
  std::string_view pattern_;
  std::u16string text_copy_;
  std::u16string pattern_copy_;
  size_t width_ = 1;
};

// Bytes that are searched between two looks at the operation.
size_t Step(std::string_view pattern) { return std::max(size_t{1} << 20, 4 * pattern.size()); }

// Where the pattern begins first at byte `from` or later, before byte `end`; npos: nowhere.
Result<size_t> Find(const Characters& in, size_t from, size_t end) {
  std::string_view text = in.text();
  std::string_view pattern = in.pattern();
  while (from < end && from + pattern.size() <= text.size()) {
    RETURN_IF_ERROR(CheckCurrentOpNow());
    size_t size = std::min({Step(pattern), end - from + pattern.size() - 1, text.size() - from});
    const void* found = memmem(text.data() + from, size, pattern.data(), pattern.size());
    if (found == nullptr) {
      from += size - pattern.size() + 1;
      continue;
    }
    auto at = static_cast<size_t>(static_cast<const char*>(found) - text.data());
    if (at % in.width() == 0) {
      return at;
    }
    from = at + 1;  // between two characters
  }
  return std::string::npos;
}

// The last one that begins before byte `end`.
Result<size_t> FindLast(const Characters& in, size_t end) {
  while (end > 0) {
    size_t from = end > Step(in.pattern()) ? end - Step(in.pattern()) : 0;
    size_t last = std::string::npos;
    ASSIGN_OR_RETURN(size_t at, Find(in, from, end));
    while (at != std::string::npos) {
      last = at;
      ASSIGN_OR_RETURN(at, Find(in, at + in.width(), end));
    }
    if (last != std::string::npos) {
      return last;
    }
    end = from;
  }
  return std::string::npos;
}

// find(text, pattern, from, last): the place of the first one from there on, or of the last one up
// to there; -1 without one.
bool FindText(JSContext* cx, unsigned argc, JS::Value* vp) {
  JS::CallArgs args = JS::CallArgsFromVp(argc, vp);
  JS::RootedString text(cx, args[0].toString());
  JS::RootedString pattern(cx, args[1].toString());
  Characters in;
  if (!in.Read(cx, text, pattern)) {
    return false;
  }
  size_t from = static_cast<size_t>(args[2].toNumber()) * in.width();
  Result<size_t> found =
      args[3].toBoolean() ? FindLast(in, from + in.width()) : Find(in, from, in.text().size());
  if (!found.ok()) {
    return Runtime::Of(cx).Stop(found.status());
  }
  bool none = *found == std::string::npos;
  args.rval().setNumber(none ? -1.0 : static_cast<double>(*found / in.width()));
  return true;
}

// findAll(text, pattern, most): the places of the first `most` that do not overlap.
bool FindAllTexts(JSContext* cx, unsigned argc, JS::Value* vp) {
  JS::CallArgs args = JS::CallArgsFromVp(argc, vp);
  JS::RootedString text(cx, args[0].toString());
  JS::RootedString pattern(cx, args[1].toString());
  const double most = args[2].toNumber();
  std::vector<size_t> places;
  Characters in;
  if (!in.Read(cx, text, pattern)) {
    return false;
  }
  for (size_t from = 0; static_cast<double>(places.size()) < most;) {
    Result<size_t> found = Find(in, from, in.text().size());
    if (!found.ok()) {
      return Runtime::Of(cx).Stop(found.status());
    }
    if (*found == std::string::npos) {
      break;
    }
    places.push_back(*found / in.width());
    from = *found + in.pattern().size();
  }
  JS::RootedObject out(cx, JS::NewArrayObject(cx, places.size()));
  for (size_t i = 0; out != nullptr && i < places.size(); ++i) {
    if (!JS_SetElement(cx, out, static_cast<uint32_t>(i), static_cast<double>(places[i]))) {
      return false;
    }
  }
  args.rval().setObjectOrNull(out);
  return out != nullptr;
}

constexpr std::string_view kMethods = R"js((function(findText, findAll) {
'use strict';
const call = Function.prototype.call.bind(Function.prototype.call);
const {indexOf, lastIndexOf, includes, split, replace, replaceAll, slice} = String.prototype;
const {push, join} = Array.prototype;
const {exec} = RegExp.prototype;
const {min, max, trunc} = Math;
const {match: isRegExp, split: splits, replace: replaces} = Symbol;
const isNaNumber = Number.isNaN;
const getterOf = (name) => Object.getOwnPropertyDescriptor(RegExp.prototype, name).get;
const sourceOf = getterOf('source');
const flagsOf = getterOf('flags');
const costly = (text, pattern) => pattern.length > 1 && text.length * pattern.length > 1 << 24;
const whole = (n, otherwise) => isNaNumber(n) ? otherwise : trunc(n);
const has = (x, method) => x !== null && x !== undefined && typeof x === 'object' && x[method] !== undefined;
const find = (text, pattern, from) => findText(text, pattern, from, false);
const substituted = (text, pattern, at, by) => {
  if (typeof by === 'function') return `${by(pattern, at, text)}`;
  const parts = {'$$': '$', '$&': pattern, '$`': call(slice, text, 0, at), "$'": call(slice, text, at + pattern.length)};
  return call(replace, by, /\$[$&`']/g, name => parts[name]);
};
const replaced = (text, pattern, by, most) => {
  if (typeof by !== 'function') by = `${by}`;
  const parts = [];
  let end = 0;
  const places = findAll(text, pattern, most);
  for (let i = 0; i < places.length; ++i) {
    const at = places[i];
    call(push, parts, call(slice, text, end, at), substituted(text, pattern, at, by));
    end = at + pattern.length;
  }
  call(push, parts, call(slice, text, end));
  return call(join, parts, '');
};
const methods = {
  indexOf(pattern, from) {
    if (this === null || this === undefined) return call(indexOf, this, pattern, from);
    const text = `${this}`;
    pattern = `${pattern}`;
    from = +from;
    return costly(text, pattern) ? find(text, pattern, min(max(whole(from, 0), 0), text.length))
                                 : call(indexOf, text, pattern, from);
  },
  lastIndexOf(pattern, from) {
    if (this === null || this === undefined) return call(lastIndexOf, this, pattern, from);
    const text = `${this}`;
    pattern = `${pattern}`;
    from = +from;
    if (!costly(text, pattern)) return call(lastIndexOf, text, pattern, from);
    if (pattern.length > text.length) return -1;
    return findText(text, pattern, min(max(whole(from, Infinity), 0), text.length - pattern.length), true);
  },
  includes(pattern, from) {
    if (this === null || this === undefined || has(pattern, isRegExp)) return call(includes, this, pattern, from);
    return call(methods.indexOf, this, pattern, from) >= 0;
  },
  split(by, limit) {
    if (this === null || this === undefined || by === undefined || has(by, splits)) return call(split, this, by, limit);
    const text = `${this}`;
    by = `${by}`;
    if (!costly(text, by)) return call(split, text, by, limit);
    const most = limit === undefined ? 4294967295 : limit >>> 0;
    const parts = [];
    let end = 0;
    const places = findAll(text, by, most);
    for (let i = 0; i < places.length; ++i) {
      call(push, parts, call(slice, text, end, places[i]));
      end = places[i] + by.length;
    }
    if (parts.length < most) call(push, parts, call(slice, text, end));
    return parts;
  },
  replace(pattern, by) {
    if (this === null || this === undefined || has(pattern, replaces)) return call(replace, this, pattern, by);
    const text = `${this}`;
    pattern = `${pattern}`;
    return costly(text, pattern) ? replaced(text, pattern, by, 1) : call(replace, text, pattern, by);
  },
  replaceAll(pattern, by) {
    if (this === null || this === undefined || has(pattern, replaces)) return call(replaceAll, this, pattern, by);
    const text = `${this}`;
    pattern = `${pattern}`;
    return costly(text, pattern) ? replaced(text, pattern, by, Infinity) : call(replaceAll, text, pattern, by);
  },
};
// A regular expression without operators is searched for as a text, too.
const escaped = {'\\/': '/', '\\n': '\n', '\\r': '\r', '\\u2028': '\u2028', '\\u2029': '\u2029'};
const patterns = {
  exec(text) {
    text = `${text}`;
    const source = call(sourceOf, this);
    const flags = call(flagsOf, this);
    if (!costly(text, source) || call(exec, /[iy]/, flags) !== null) return call(exec, this, text);
    const pattern = call(replace, source, /\\(?:[/nr]|u202[89])/g, name => escaped[name]);
    if (call(exec, /[\\^$.*+?()[\]{}|]/, pattern) !== null) return call(exec, this, text);
    const global = call(exec, /g/, flags) !== null;
    const from = global ? min(max(whole(+this.lastIndex, 0), 0), Infinity) : 0;
    const at = from > text.length ? -1 : find(text, pattern, from);
    if (global) this.lastIndex = at < 0 ? 0 : at + pattern.length;
    if (at < 0) return null;
    const found = [pattern];
    found.index = at;
    found.input = text;
    found.groups = undefined;
    return found;
  },
};
for (const [object, members] of [[String.prototype, methods], [RegExp.prototype, patterns]]) {
  for (const name of Object.keys(members)) {
    Object.defineProperty(object, name, {value: members[name], writable: true, configurable: true});
  }
}
}))js";

}  // namespace

bool DefineTextSearch(JSContext* cx, JS::HandleObject global) {
  JS::RootedValue define(cx);
  JSFunction* find = JS_NewFunction(cx, FindText, 4, 0, "find");
  if (find == nullptr) {
    return false;
  }
  JS::RootedValueArray<2> natives(cx);
  natives[0].setObject(*JS_GetFunctionObject(find));
  JSFunction* find_all = JS_NewFunction(cx, FindAllTexts, 3, 0, "findAll");
  if (find_all == nullptr) {
    return false;
  }
  natives[1].setObject(*JS_GetFunctionObject(find_all));
  JS::RootedValue unused(cx);
  return Evaluate(cx, kMethods, &define) &&
         JS_CallFunctionValue(cx, global, define, natives, &unused);
}

}  // namespace quire::js
