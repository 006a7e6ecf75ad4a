// SPDX-License-Identifier: Apache-2.0
#include "request/map_reduce.h"

#include "base/error_codes.h"
#include "base/try.h"
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

struct OutputRow {
  std::string_view name;
  MapReduceOutput::Kind kind;
};
constexpr OutputRow kOutputs[] = {
    {"inline", MapReduceOutput::Kind::kInline},  {"replace", MapReduceOutput::Kind::kReplace},
    {"normal", MapReduceOutput::Kind::kReplace}, {"merge", MapReduceOutput::Kind::kMerge},
    {"reduce", MapReduceOutput::Kind::kReduce},
};

const OutputRow* FindOutput(std::string_view name) {
  for (const OutputRow& row : kOutputs) {
    if (row.name == name) {
      return &row;
    }
  }
  return nullptr;
}

Status ReadTarget(const bson::Element& field, MapReduceOutput* out) {
  if (out->kind == MapReduceOutput::Kind::kInline) {
    return Status::Ok();
  }
  if (field.type() != bson::Type::kString) {
    return {kBadValue, "'" + std::string(field.name()) + "' must be a string"};
  }
  out->collection = field.value().AsString();
  return Status::Ok();
}

Status ReadOption(const bson::Element& field, MapReduceOutput* out, bool* non_atomic) {
  std::string name(field.name());
  if (name == "db") {
    if (field.type() != bson::Type::kString) {
      return {kBadValue, "'db' must be a string"};
    }
    out->database = field.value().AsString();
    return Status::Ok();
  }
  if (name != "sharded" && name != "nonAtomic") {
    return {kBadValue, "unrecognized field '" + name + "' in the 'out' option of mapReduce"};
  }
  if (field.type() != bson::Type::kBool) {
    return {kBadValue, "'" + name + "' must be a boolean"};
  }
  if (name == "nonAtomic") {
    *non_atomic = true;
    if (!field.value().AsBool()) {
      return {15895, "nonAtomic:false is not allowed in mapReduce"};
    }
  }
  return Status::Ok();
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
  const OutputRow* mode = nullptr;
  bool non_atomic = false;
  for (const bson::Element& field : value.AsDocument()) {
    const OutputRow* row = FindOutput(field.name());
    if (row == nullptr) {
      RETURN_IF_ERROR(ReadOption(field, &out, &non_atomic));
      continue;
    }
    if (mode != nullptr) {
      return Status(kBadValue, "'out' has more than one of 'inline', 'replace', 'merge', 'reduce'");
    }
    mode = row;
    out.kind = row->kind;
    RETURN_IF_ERROR(ReadTarget(field, &out));
  }
  if (mode == nullptr) {
    return Status(kBadValue, "'out' needs one of 'inline', 'replace', 'merge', 'reduce'");
  }
  if (non_atomic && (mode->kind == MapReduceOutput::Kind::kInline ||
                     mode->kind == MapReduceOutput::Kind::kReplace)) {
    return Status(15895, "nonAtomic option cannot be used with this output type");
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
