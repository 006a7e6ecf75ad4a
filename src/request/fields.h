// SPDX-License-Identifier: Apache-2.0
//
// Reading the fields of a command into a struct by a table of rows, with MongoDB's errors for
// unknown, mistyped, missing and repeated fields.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/try.h"
#include "quire/bson.h"
#include "quire/status.h"

namespace quire::request {

// Arguments every command takes ($db, lsid, maxTimeMS, comment...).
bool IsGenericField(std::string_view name);

Status UnknownField(std::string_view command, std::string_view field);
Status MissingField(std::string_view command, std::string_view field);
Status DuplicateField(std::string_view command, std::string_view field);
Status WrongType(std::string_view command, const bson::Element& field, std::string_view expected);

// One function per kind of member: checks the type and stores the value. Views and strings borrow
// from the command.
Status ReadField(std::string_view command, const bson::Element& e, bool* out);
Status ReadField(std::string_view command, const bson::Element& e, int32_t* out);
Status ReadField(std::string_view command, const bson::Element& e, int64_t* out);
Status ReadField(std::string_view command, const bson::Element& e, std::string_view* out);
Status ReadField(std::string_view command, const bson::Element& e, bson::View* out);
Status ReadField(std::string_view command, const bson::Element& e, bson::Value* out);

// An array argument, kept apart from View so that the type is checked.
struct ArrayArgument {
  bson::View view;
  bool present = false;
};
Status ReadField(std::string_view command, const bson::Element& e, ArrayArgument* out);

template <typename T>
Status ReadField(std::string_view command, const bson::Element& e, std::optional<T>* out) {
  T value{};
  RETURN_IF_ERROR(ReadField(command, e, &value));
  *out = value;
  return Status::Ok();
}

// A boolean that takes nothing else.
Status ReadStrictBool(std::string_view command, const bson::Element& e, bool* out);
// count's limit: BadValue for what is no number, FailedToParse for one that is no integer.
Status ReadCountLimit(std::string_view command, const bson::Element& e, int64_t* out);
// A hint: the name of an index or its key pattern, else FailedToParse. Directions that no index can
// have are BadValue.
Status ReadHint(std::string_view command, const bson::Element& e, bson::Value* out);

// A uuid: TypeMismatch for anything else, InvalidUUID for one of the wrong length.
Status ReadUuid(std::string_view command, const bson::Element& e, bson::Value* out);

enum class Need { kOptional, kRequired };

// One field of the command struct R. Make rows with Field<&R::member>("name").
template <typename R>
struct FieldRow {
  std::string_view name;
  Status (*read)(std::string_view command, const bson::Element& e, R* out);
  Need need = Need::kOptional;
  bool reads_null = false;  // null is a value like others, not the same as absent
};

// The row with a null read, and so mostly refused, as any other value.
template <typename R>
constexpr FieldRow<R> NotNull(FieldRow<R> row) {
  row.reads_null = true;
  return row;
}

template <auto Member>
struct MemberOf;
template <typename R, typename T, T R::*Member>
struct MemberOf<Member> {
  using Struct = R;
};

template <auto Member>
constexpr auto Field(std::string_view name, Need need = Need::kOptional) {
  using R = typename MemberOf<Member>::Struct;
  return FieldRow<R>{name,
                     [](std::string_view command, const bson::Element& e, R* out) {
                       return ReadField(command, e, &(out->*Member));
                     },
                     need};
}

// The same, read by a function of its own.
template <auto Member, auto Read>
constexpr auto FieldBy(std::string_view name, Need need = Need::kOptional) {
  using R = typename MemberOf<Member>::Struct;
  return FieldRow<R>{name,
                     [](std::string_view command, const bson::Element& e, R* out) {
                       return Read(command, e, &(out->*Member));
                     },
                     need};
}
template <auto Member>
constexpr auto StrictBool(std::string_view name) {
  return FieldBy<Member, ReadStrictBool>(name);
}

// A field that is accepted because it changes nothing here (a hint to a cluster, for example).
template <typename R>
constexpr FieldRow<R> Ignored(std::string_view name) {
  return {name, [](std::string_view, const bson::Element&, R*) { return Status::Ok(); }};
}

// Reads `body` into *out. `prefix` names the command in messages; the body's first field is the
// command's own and is skipped when `skip_first`. A null value counts as absent unless NotNull.
template <typename R>
Status ReadFields(std::string_view prefix, bson::View body, bool skip_first,
                  std::span<const FieldRow<R>> rows, R* out) {
  uint64_t seen = 0;
  uint64_t given = 0;
  bool first = skip_first;
  for (const bson::Element& e : body) {
    if (first) {
      first = false;
      continue;
    }
    size_t i = 0;
    while (i < rows.size() && rows[i].name != e.name()) {
      ++i;
    }
    if (i == rows.size()) {
      if (skip_first && IsGenericField(e.name())) {
        continue;
      }
      return UnknownField(prefix, e.name());
    }
    if ((seen >> i) & 1) {
      return DuplicateField(prefix, e.name());
    }
    seen |= uint64_t{1} << i;  // a null, too: what is read may not hang on who reads it
    bool null = e.type() == bson::Type::kNull || e.type() == bson::Type::kUndefined;
    if (null && !rows[i].reads_null) {
      continue;
    }
    RETURN_IF_ERROR(rows[i].read(prefix, e, out));
    given |= uint64_t{1} << i;
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].need == Need::kRequired && ((given >> i) & 1) == 0) {
      return MissingField(prefix, rows[i].name);
    }
  }
  return Status::Ok();
}

// MongoDB's reading of a value as a switch: anything but false, 0, null, undefined and missing.
bool Truthy(const bson::Value& value);

}  // namespace quire::request
