// SPDX-License-Identifier: Apache-2.0
#include "request/map_reduce.h"

#include <utility>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/number.h"
#include "request/crud.h"
#include "request/fields.h"

namespace quire::request {

namespace {

// A function: text or code, without a scope of its own.
Status ReadScript(std::string_view command, const bson::Element& e, bson::Value* out) {
  if (e.type() != bson::Type::kString && e.type() != bson::Type::kCode) {
    return {kBadValue, "'" + std::string(command) + "." + std::string(e.name()) +
                           "' must be of string or code type"};
  }
  *out = e.value();
  return Status::Ok();
}

struct Fields {
  bson::Value map;
  bson::Value reduce;
  bson::Value finalize;
  bson::Value out;
  bson::View query;
  bson::View sort;
  bson::View scope;
  bson::View collation;
  int64_t limit = 0;
  bool js_mode = false;
  bool verbose = false;
  bool bypass_validation = false;
};
using F = Fields;

// jsMode and verbose change nothing in MongoDB either, but their types are checked.
constexpr FieldRow<F> kRows[] = {
    FieldBy<&F::map, ReadScript>("map", Need::kRequired),
    FieldBy<&F::reduce, ReadScript>("reduce", Need::kRequired),
    FieldBy<&F::finalize, ReadScript>("finalize"),
    Field<&F::out>("out", Need::kRequired),
    Field<&F::query>("query"),
    Field<&F::sort>("sort"),
    Field<&F::scope>("scope"),
    Field<&F::collation>("collation"),
    Field<&F::limit>("limit"),
    Field<&F::js_mode>("jsMode"),
    Field<&F::verbose>("verbose"),
    Field<&F::bypass_validation>("bypassDocumentValidation"),
};

// `out` when it is {inline: 1}.
Result<MapReduceOutput> ReadInline(bson::View out) {
  if (out.Count() != 1) {
    return Status(kInvalidOptions, "'inline' must stand alone in the 'out' option of mapReduce");
  }
  const bson::Value one = out["inline"];
  if (!one.is_number() || bson::ToDouble(one) != 1) {
    return Status(kBadValue, "'inline' must be 1");
  }
  return MapReduceOutput();
}

// Where results go: {replace | merge | reduce: <collection>}.
Status ReadTarget(bson::View fields, MapReduceOutput* out) {
  constexpr std::pair<std::string_view, MapReduceOutput::Kind> kModes[] = {
      {"replace", MapReduceOutput::Kind::kReplace},
      {"merge", MapReduceOutput::Kind::kMerge},
      {"reduce", MapReduceOutput::Kind::kReduce},
  };
  for (const auto& [name, kind] : kModes) {
    const bson::Value target = fields[name];
    if (target.missing()) {
      continue;
    }
    if (!target.is_string()) {
      return {kBadValue, "'" + std::string(name) + "' must be a string"};
    }
    out->kind = kind;
    out->collection = target.AsString();
    return Status::Ok();
  }
  return {kBadValue, "'out' needs one of 'replace', 'merge', 'reduce'"};
}

Status ReadDatabase(const bson::Value& database, MapReduceOutput* out) {
  if (!database.is_string()) {
    return {kBadValue, "'db' must be a string"};
  }
  out->database = database.AsString();
  if (out->database == "admin" || out->database == "config" || out->database == "local") {
    return {kCommandNotSupported, "mapReduce cannot write into an internal database"};
  }
  return Status::Ok();
}

// An option of former versions that may only be true.
Status CheckTrue(std::string_view name, const bson::Value& value) {
  return value.type() == bson::Type::kBool && value.AsBool()
             ? Status::Ok()
             : Status(kBadValue, "'" + std::string(name) + "' must be true when it is given");
}

Result<MapReduceOutput> ReadOutput(const bson::Value& value) {
  MapReduceOutput out;
  if (value.is_string()) {
    out.kind = MapReduceOutput::Kind::kReplace;
    out.collection = value.AsString();
    return out;
  }
  if (!value.is_document()) {
    return Status(kBadValue, "'out' must be either a string or an object");
  }
  const bson::View fields = value.AsDocument();
  if (fields.Has("inline")) {
    return ReadInline(fields);
  }
  size_t known = 1;
  const bson::Value sharded = fields["sharded"];
  if (!sharded.missing()) {
    RETURN_IF_ERROR(CheckTrue("sharded", sharded));
    ++known;
  }
  RETURN_IF_ERROR(ReadTarget(fields, &out));
  if (const bson::Value database = fields["db"]; !database.missing()) {
    RETURN_IF_ERROR(ReadDatabase(database, &out));
    ++known;
  }
  if (const bson::Value non_atomic = fields["nonAtomic"]; !non_atomic.missing()) {
    RETURN_IF_ERROR(CheckTrue("nonAtomic", non_atomic));
    ++known;
  }
  if (fields.Count() != known) {
    return Status(kBadValue,
                  "'out' takes a collection, 'db', 'sharded' and 'nonAtomic', and nothing else");
  }
  if (!sharded.missing()) {
    return Status(kInvalidOptions, "mapReduce cannot make or replace a sharded collection");
  }
  return out;
}

}  // namespace

Result<MapReduceRequest> MapReduceRequest::Parse(bson::View body) {
  MapReduceRequest r;
  ASSIGN_OR_RETURN(r.collection, CollectionName("mapReduce", body));
  Fields fields;
  RETURN_IF_ERROR(ReadFields<F>("mapReduce", body, true, kRows, &fields));
  ASSIGN_OR_RETURN(r.out, ReadOutput(fields.out));
  if (fields.limit < 0) {
    return Status(kBadValue, "limit must be greater than or equal to 0");
  }
  r.map = fields.map;
  r.reduce = fields.reduce;
  r.finalize = fields.finalize;
  r.query = fields.query;
  r.sort = fields.sort;
  r.scope = fields.scope;
  r.collation = fields.collation;
  r.limit = fields.limit;
  r.bypass_validation = fields.bypass_validation;
  return r;
}

}  // namespace quire::request
