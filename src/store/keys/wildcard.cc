// SPDX-License-Identifier: Apache-2.0
#include "store/keys/wildcard.h"

#include <algorithm>
#include <unordered_set>

#include "base/current_op.h"
#include "base/error_codes.h"
#include "base/keyed_hash.h"
#include "base/try.h"
#include "bson/number.h"
#include "expr/context.h"
#include "expr/projection/projection.h"

namespace quire::store {

namespace {

constexpr std::string_view kStars = "$**";

bool IsFlag(const bson::Value& value) {
  return value.is_number() || value.type() == bson::Type::kBool;
}

bool IsOn(const bson::Value& value) {
  return value.type() == bson::Type::kBool ? value.AsBool() : bson::ToDouble(value) != 0;
}

struct Flag {
  std::string path;
  bool on = false;
};

// The fields of a projection, nested documents written as dotted paths.
Status Flatten(bson::View spec, const std::string& prefix, std::vector<Flag>* out) {
  for (const bson::Element& e : spec) {
    std::string path = prefix + std::string(e.name());
    bson::Value value = e.value();
    if (value.is_document() && !e.name().starts_with('$')) {
      RETURN_IF_ERROR(Flatten(value.AsDocument(), path + ".", out));
    } else if (IsFlag(value) && !e.name().starts_with('$')) {
      out->push_back({std::move(path), IsOn(value)});
    } else {
      return {51271,
              "Bad projection specification, cannot use computed fields when parsing a "
              "wildcardProjection: " +
                  path};
    }
  }
  return Status::Ok();
}

// Calls `visit` with every path above `path`; true when one of the calls gave true.
template <typename F>
bool AnyAbove(std::string_view path, F visit) {
  for (size_t dot = path.find('.'); dot != std::string_view::npos; dot = path.find('.', dot + 1)) {
    if (visit(path.substr(0, dot))) {
      return true;
    }
  }
  return false;
}

Status CheckCollisions(const std::vector<Flag>& flags) {
  using Paths = std::unordered_set<std::string_view, KeyedStringHash>;
  Paths seen;
  Paths above_seen;
  for (const Flag& flag : flags) {
    RETURN_IF_ERROR(CheckCurrentOp());
    if (seen.contains(flag.path) ||
        AnyAbove(flag.path, [&](std::string_view above) { return seen.contains(above); })) {
      return {31249, "Path collision at " + flag.path};
    }
    if (above_seen.contains(flag.path)) {
      return {31250, "Path collision at " + flag.path};
    }
    seen.insert(flag.path);
    AnyAbove(flag.path, [&](std::string_view above) {
      above_seen.insert(above);
      return false;
    });
  }
  return Status::Ok();
}

}  // namespace

bool IsWildcardField(std::string_view field) {
  return field == kStars || (field.ends_with(kStars) && field.size() > kStars.size() &&
                             field[field.size() - kStars.size() - 1] == '.');
}

bool IsAtOrBelow(std::string_view path, std::string_view above) {
  return path.starts_with(above) && (path.size() == above.size() || path[above.size()] == '.');
}

WildcardPaths::WildcardPaths(std::string_view field)
    : base_(field == kStars ? "" : field.substr(0, field.size() - kStars.size() - 1)) {}

Result<WildcardPaths> WildcardPaths::Parse(std::string_view field, bson::View projection) {
  if (projection.empty()) {
    return Status(kFailedToParse, "The 'wildcardProjection' field can't be an empty object");
  }
  std::vector<Flag> flags;
  RETURN_IF_ERROR(Flatten(projection, "", &flags));
  RETURN_IF_ERROR(CheckCollisions(flags));
  expr::Context context;
  RETURN_IF_ERROR(
      expr::Projection::Parse(projection, expr::Projection::Policy::kAggregate, &context).status());
  WildcardPaths paths(field);
  for (const Flag& flag : flags) {
    if (flag.path == "_id") {
      paths.with_id_ = flag.on;
    } else {
      paths.mode_ = flag.on ? Mode::kInclude : Mode::kExclude;
      paths.paths_.push_back(flag.path);
    }
  }
  if (paths.paths_.empty() && paths.with_id_) {
    paths.mode_ = Mode::kInclude;  // {_id: 1}: nothing else
  }
  return paths;
}

std::shared_ptr<const WildcardPaths> WildcardPaths::Of(std::string_view field,
                                                       bson::View projection) {
  if (!projection.empty()) {
    if (auto parsed = Parse(field, projection); parsed.ok()) {
      return std::make_shared<const WildcardPaths>(*std::move(parsed));
    }
  }
  return std::make_shared<const WildcardPaths>(field);
}

bool WildcardPaths::Holds(std::string_view path) const {
  if (!base_.empty()) {
    return IsAtOrBelow(path, base_);
  }
  if (IsAtOrBelow(path, "_id")) {
    return with_id_;
  }
  bool listed = std::any_of(paths_.begin(), paths_.end(),
                            [&](const std::string& other) { return IsAtOrBelow(path, other); });
  return mode_ == Mode::kAll || listed == (mode_ == Mode::kInclude);
}

bool WildcardPaths::Meets(std::string_view path) const {
  auto meets = [&](const std::string& other) {
    return IsAtOrBelow(path, other) || IsAtOrBelow(other, path);
  };
  if (!base_.empty()) {
    return meets(base_);
  }
  if (mode_ == Mode::kInclude && !IsAtOrBelow(path, "_id")) {
    return std::any_of(paths_.begin(), paths_.end(), meets);
  }
  return Holds(path);
}

}  // namespace quire::store
