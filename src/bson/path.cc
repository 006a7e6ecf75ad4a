// SPDX-License-Identifier: Apache-2.0
#include "bson/path.h"

#include <algorithm>

#include "base/error_codes.h"
#include "base/try.h"

namespace quire::bson {

namespace {

class PathWalker {
 public:
  PathWalker(const FieldPath& path, const WalkOptions& options,
             const std::function<bool(const Value&)>& visit)
      : path_(path), options_(options), visit_(visit) {}

  // False: stop. Each level uses at least one part, so the recursion is at most kMaxParts deep.
  bool Document(View document, size_t next) {
    Value value = GetPathOrArray(document, path_, &next);
    if (value.missing()) {
      return true;
    }
    return Reached(value, next);
  }

 private:
  // `value` stands at the path up to `next`.
  bool Reached(const Value& value, size_t next) {
    if (next < path_.size()) {
      return value.is_array() ? Array(value.AsArray(), next)
                              : !value.is_document() || Document(value.AsDocument(), next);
    }
    if (!value.is_array() || !options_.expand_last) {
      return visit_(value);
    }
    for (const Element& e : value.AsArray()) {
      if (!visit_(e.value())) {
        return false;
      }
    }
    return true;
  }

  bool Array(View array, size_t next) {
    bool numeric = IsNumericPart(path_[next]);
    if (numeric) {
      Value element = array[path_[next]];
      if (!element.missing() && !Reached(element, next + 1)) {
        return false;
      }
    }
    if (numeric && !options_.numeric_names) {
      return true;
    }
    for (const Element& e : array) {
      if (e.type() == Type::kDocument && !Document(e.value().AsDocument(), next)) {
        return false;
      }
    }
    return true;
  }

  const FieldPath& path_;
  const WalkOptions& options_;
  const std::function<bool(const Value&)>& visit_;
};

}  // namespace

FieldPath::FieldPath(std::string_view text) : text_(text) {
  size_t start = 0;
  for (;;) {
    size_t dot = std::min(text.find('.', start), text.size());
    parts_.push_back({static_cast<uint32_t>(start), static_cast<uint32_t>(dot - start)});
    if (dot == text.size()) {
      return;
    }
    start = dot + 1;
  }
}

Result<FieldPath> FieldPath::Parse(std::string_view text) {
  if (static_cast<size_t>(std::count(text.begin(), text.end(), '.')) >= kMaxParts) {
    return Status(kOverflow, "FieldPath is too long");
  }
  return FieldPath(text);
}

Result<FieldPath> FieldPath::ParseStrict(std::string_view text) {
  if (text.empty()) {
    return Status(40352, "FieldPath cannot be constructed with empty string");
  }
  if (text.back() == '.') {
    return Status(40353, "FieldPath must not end with a '.'.");
  }
  ASSIGN_OR_RETURN(FieldPath path, Parse(text));
  for (size_t i = 0; i < path.size(); ++i) {
    std::string_view part = path[i];
    if (part.empty()) {
      return Status(15998, "FieldPath field names may not be empty strings.");
    }
    if (part.front() == '$' && part != "$id" && part != "$ref" && part != "$db") {
      return Status(16410,
                    "FieldPath field names may not start with '$'. Consider using $getField or "
                    "$setField.");
    }
    if (part.find('\0') != std::string_view::npos) {
      return Status(16411, "FieldPath field names may not contain '\\0'.");
    }
  }
  return path;
}

bool IsNumericPart(std::string_view part) {
  return !part.empty() &&
         std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
}

Value GetPath(View document, const FieldPath& path) {
  size_t next = 0;
  Value value = GetPathOrArray(document, path, &next);
  return next == path.size() ? value : Value();
}

Value GetPathOrArray(View document, const FieldPath& path, size_t* next) {
  for (;;) {
    Value value = document[path[(*next)++]];
    if (*next == path.size() || value.is_array()) {
      return value;
    }
    if (!value.is_document()) {
      return Value();
    }
    document = value.AsDocument();
  }
}

void ForEachValue(View document, const FieldPath& path, const WalkOptions& options,
                  const std::function<bool(const Value&)>& visit) {
  PathWalker(path, options, visit).Document(document, 0);
}

}  // namespace quire::bson
