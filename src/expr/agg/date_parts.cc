// SPDX-License-Identifier: Apache-2.0
//
// Taking dates apart and putting them together: $year and its relatives, $dateToParts,
// $dateFromParts.
#include "base/try.h"
#include "expr/agg/convert_internal.h"
#include "expr/agg/date_internal.h"
#include "expr/agg/operators_internal.h"
#include "expr/agg/result_internal.h"
#include "expr/date/calendar.h"

namespace quire::expr::agg {

namespace {

int SundayWeek(const date::Fields& fields, int64_t days) {
  return (date::DayOfYear(fields) - 1 + 7 - date::DayOfWeek(days)) / 7;
}

struct PartRow {
  std::string_view name;
  Value (*read)(const date::Fields& fields, int64_t days);
};

constexpr PartRow kParts[] = {
    {"$year", [](const date::Fields& f, int64_t) { return Value(static_cast<int32_t>(f.year)); }},
    {"$month", [](const date::Fields& f, int64_t) { return Value(f.month); }},
    {"$dayOfMonth", [](const date::Fields& f, int64_t) { return Value(f.day); }},
    {"$hour", [](const date::Fields& f, int64_t) { return Value(f.hour); }},
    {"$minute", [](const date::Fields& f, int64_t) { return Value(f.minute); }},
    {"$second", [](const date::Fields& f, int64_t) { return Value(f.second); }},
    {"$millisecond", [](const date::Fields& f, int64_t) { return Value(f.millis); }},
    {"$dayOfYear", [](const date::Fields& f, int64_t) { return Value(date::DayOfYear(f)); }},
    {"$dayOfWeek", [](const date::Fields&, int64_t d) { return Value(date::DayOfWeek(d) + 1); }},
    {"$week", [](const date::Fields& f, int64_t d) { return Value(SundayWeek(f, d)); }},
    {"$isoWeek", [](const date::Fields&, int64_t d) { return Value(date::IsoWeek(d).week); }},
    {"$isoWeekYear", [](const date::Fields&, int64_t d) { return Value(date::IsoWeek(d).year); }},
    {"$isoDayOfWeek", [](const date::Fields&, int64_t d) { return Value(date::IsoWeek(d).day); }},
};

}  // namespace

Result<int64_t> CoerceToDate(const Value& value) {
  switch (value.type()) {
    case Type::kDate:
      return value.AsDate().millis;
    case Type::kTimestamp:
      return int64_t{value.AsTimestamp().seconds} * 1000;
    case Type::kObjectId:
      return ObjectIdSeconds(value.AsObjectId()) * 1000;
    default:
      return Status(16006, "can't convert from BSON type " + TypeText(value) + " to Date");
  }
}

bool IsDateLike(const Value& value) {
  return value.type() == Type::kDate || value.type() == Type::kTimestamp ||
         value.type() == Type::kObjectId;
}

Result<std::optional<date::TimeZone>> ReadTimeZone(const Call& call, size_t i, EvalContext& eval) {
  if (!call.has(i)) {
    return std::optional<date::TimeZone>(date::TimeZone());
  }
  ASSIGN_OR_RETURN(Value value, call.Get(i, eval));
  if (value.nullish()) {
    return std::optional<date::TimeZone>();
  }
  if (!value.is_string()) {
    return Status(40517, std::string(call.name()) +
                             " requires a string for the timezone argument, but was given a " +
                             TypeText(value) + " (" + Show(value) + ")");
  }
  ASSIGN_OR_RETURN(date::TimeZone zone, date::TimeZone::Parse(value.AsString()));
  return std::optional<date::TimeZone>(zone);
}

Result<Value> EvalDatePart(const Call& call, EvalContext& eval) {
  ASSIGN_OR_RETURN(Value date, call.Get(0, eval));
  if (date.nullish()) {
    return Value::Null();
  }
  ASSIGN_OR_RETURN(auto zone, ReadTimeZone(call, 1, eval));
  if (!zone) {
    return Value::Null();
  }
  ASSIGN_OR_RETURN(int64_t utc, CoerceToDate(date));
  int64_t local = zone->ToLocal(utc);
  date::Fields fields = date::SplitMillis(local);
  int64_t days = date::FloorDiv(local, date::kDay);
  for (const PartRow& row : kParts) {
    if (row.name == call.name()) {
      return row.read(fields, days);
    }
  }
  return Value::Null();
}

Result<ExpressionPtr> ParseDatePart(const OperatorRow& row, const Value& spec, ParseScope& scope) {
  std::string op(row.name);
  Operands operands(2);
  bool named = spec.is_document() &&
               (spec.AsDocument().empty() || !spec.AsDocument().front().name().starts_with('$'));
  if (spec.is_array()) {
    size_t count = spec.AsArray().Count();
    if (count != 1) {
      return Status(40536, op + " accepts exactly one argument if given an array, but was given " +
                               std::to_string(count));
    }
    ASSIGN_OR_RETURN(operands[0], ParseExpression(spec.AsArray().front().value(), scope));
  } else if (!named) {
    ASSIGN_OR_RETURN(operands[0], ParseExpression(spec, scope));
  } else {
    for (const bson::Element& element : spec.AsDocument()) {
      size_t i = element.name() == "date" ? 0 : 1;
      if (i == 1 && element.name() != "timezone") {
        return Status(40535,
                      "unrecognized option to " + op + ": \"" + std::string(element.name()) + "\"");
      }
      ASSIGN_OR_RETURN(operands[i], ParseExpression(element.value(), scope));
    }
    if (operands[0] == nullptr) {
      return Status(40539, "missing 'date' argument to " + op + ", provided: " + op + ": " +
                               bson::ToJson(spec));
    }
  }
  return MakeCall(row, std::move(operands), scope);
}

Result<Value> EvalDateToParts(const Call& call, EvalContext& eval) {
  ASSIGN_OR_RETURN(Value date, call.Get(0, eval));
  ASSIGN_OR_RETURN(auto zone, ReadTimeZone(call, 1, eval));
  if (!zone) {
    return Value::Null();
  }
  bool iso = false;
  if (call.has(2)) {
    ASSIGN_OR_RETURN(Value flag, call.Get(2, eval));
    if (flag.nullish()) {
      return Value::Null();
    }
    if (flag.type() != Type::kBool) {
      return Status(40521, "iso8601 must evaluate to a bool, found " + TypeText(flag));
    }
    iso = flag.AsBool();
  }
  if (date.nullish()) {
    return Value::Null();
  }
  ASSIGN_OR_RETURN(int64_t utc, CoerceToDate(date));
  int64_t local = zone->ToLocal(utc);
  date::Fields f = date::SplitMillis(local);
  DocumentResult result;
  bson::Builder& out = result.builder();
  if (iso) {
    date::IsoWeekDate week = date::IsoWeek(date::FloorDiv(local, date::kDay));
    out.Append("isoWeekYear", static_cast<int32_t>(week.year));
    out.Append("isoWeek", week.week).Append("isoDayOfWeek", week.day);
  } else {
    out.Append("year", static_cast<int32_t>(f.year)).Append("month", f.month).Append("day", f.day);
  }
  out.Append("hour", f.hour).Append("minute", f.minute).Append("second", f.second);
  out.Append("millisecond", f.millis);
  return result.Finish(eval);
}

namespace {

enum FromPartsArgument : size_t {
  kYear,
  kMonth,
  kDayOfMonth,
  kHour,
  kMinute,
  kSecond,
  kMillisecond,
  kIsoWeekYear,
  kIsoWeek,
  kIsoDayOfWeek,
  kTimezone,
};

// A field of $dateFromParts; nothing when it is null.
Result<std::optional<int64_t>> ReadPart(const Call& call, size_t i, EvalContext& eval,
                                        int64_t fallback) {
  if (!call.has(i)) {
    return std::optional<int64_t>(fallback);
  }
  ASSIGN_OR_RETURN(Value value, call.Get(i, eval));
  if (value.nullish()) {
    return std::optional<int64_t>();
  }
  std::string name(call.row().named->arguments[i].name);
  auto n = AsInt64Exact(value);
  if (!n) {
    return Status(40515, "'" + name + "' must evaluate to an integer, found " + TypeText(value) +
                             " with value " + Show(value));
  }
  bool year = i == kYear || i == kIsoWeekYear;
  if (year && (*n < 1 || *n > 9999)) {
    return Status(i == kYear ? 40523 : 31095,
                  "'" + name + "' must evaluate to an integer in the range 1 to 9999, found " +
                      std::to_string(*n));
  }
  if (!year && (*n < INT16_MIN || *n > INT16_MAX) && (i <= kDayOfMonth || i >= kIsoWeek)) {
    return Status(31034, "'" + name +
                             "' must evaluate to a value in the range [-32768, 32767]; "
                             "value " +
                             std::to_string(*n) + " is not in range");
  }
  return std::optional<int64_t>(n);
}

}  // namespace

Result<Value> EvalDateFromParts(const Call& call, EvalContext& eval) {
  bool iso = call.has(kIsoWeekYear);
  size_t first = iso ? kIsoWeekYear : kYear;
  int64_t days_part[3];
  for (size_t i = 0; i < 3; ++i) {
    ASSIGN_OR_RETURN(auto part, ReadPart(call, first + i, eval, 1));
    if (!part) {
      return Value::Null();
    }
    days_part[i] = *part;
  }
  static constexpr int64_t kScale[] = {date::kHour, date::kMinute, date::kSecond, 1};
  int64_t days = iso ? date::DaysFromIsoWeek(days_part[0], days_part[1], days_part[2])
                     : date::DaysFromCivil(days_part[0], days_part[1], days_part[2]);
  int64_t local = days * date::kDay;
  for (size_t i = 0; i < 4; ++i) {
    ASSIGN_OR_RETURN(auto part, ReadPart(call, kHour + i, eval, 0));
    if (!part) {
      return Value::Null();
    }
    int64_t millis = 0;
    if (__builtin_mul_overflow(*part, kScale[i], &millis) ||
        __builtin_add_overflow(local, millis, &local)) {
      return Status(40523, "the date is out of range");
    }
  }
  ASSIGN_OR_RETURN(auto zone, ReadTimeZone(call, kTimezone, eval));
  if (!zone) {
    return Value::Null();
  }
  return Value(bson::Date{zone->ToUtc(local)});
}

Result<ExpressionPtr> ParseDateFromParts(const OperatorRow& row, const Value& spec,
                                         ParseScope& scope) {
  if (spec.is_document()) {
    bson::View document = spec.AsDocument();
    bool calendar = document.Has("year") || document.Has("month") || document.Has("day");
    bool iso =
        document.Has("isoWeekYear") || document.Has("isoWeek") || document.Has("isoDayOfWeek");
    if (document.Has("year") && iso) {
      return Status(40489, "$dateFromParts does not allow mixing natural dates with ISO dates");
    }
    if (document.Has("isoWeekYear") && calendar) {
      return Status(40525, "$dateFromParts does not allow mixing ISO dates with natural dates");
    }
  }
  const NamedForm& form = *row.named;
  if (spec.is_document()) {
    for (const bson::Element& element : spec.AsDocument()) {
      bool known = false;
      for (const NamedArgument& argument : form.arguments) {
        known = known || argument.name == element.name();
      }
      if (!known) {
        return Status(form.unknown_code,
                      "Unrecognized argument to $dateFromParts: " + std::string(element.name()));
      }
    }
    if (!spec.AsDocument().Has("year") && !spec.AsDocument().Has("isoWeekYear")) {
      return Status(40516, "$dateFromParts requires either 'year' or 'isoWeekYear' to be present");
    }
  }
  return ParseNamed(row, spec, scope);
}

}  // namespace quire::expr::agg
