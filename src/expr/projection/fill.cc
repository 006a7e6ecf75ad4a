// SPDX-License-Identifier: Apache-2.0
#include "expr/projection/fill.h"

#include "base/error_codes.h"
#include "base/try.h"
#include "expr/projection/add_fields.h"
#include "expr/wrong_type.h"

namespace quire::expr {

namespace {

struct FillSpec {
  bson::Value partition_by;
  bson::Value partition_fields;
  bson::Value sort_by;
  bson::Value output;
};

Result<FillSpec> ReadFill(const bson::Value& spec) {
  if (!spec.is_document()) {
    return Status(kFailedToParse, "The argument to $fill must be an object, but was type: " +
                                      std::string(bson::TypeName(spec.type())));
  }
  FillSpec read;
  for (const bson::Element& field : spec.AsDocument()) {
    bson::Value value = field.value();
    if (field.name() == "partitionBy") {
      if (!value.is_document() && !value.is_string()) {
        return WrongType("$fill.partitionBy", value, "object");
      }
      read.partition_by = value;
    } else if (field.name() == "partitionByFields") {
      if (!value.is_array()) {
        return WrongType("$fill.partitionByFields", value, "array");
      }
      read.partition_fields = value;
    } else if (field.name() == "sortBy") {
      if (!value.is_document()) {
        return WrongType("$fill.sortBy", value, "object");
      }
      read.sort_by = value;
    } else if (field.name() == "output") {
      if (!value.is_document()) {
        return WrongType("$fill.output", value, "object");
      }
      read.output = value;
    } else {
      return Status(40415,
                    "BSON field '$fill." + std::string(field.name()) + "' is an unknown field.");
    }
  }
  if (read.output.missing()) {
    return Status(40414, "BSON field '$fill.output' is missing but a required field");
  }
  if (read.output.AsDocument().empty()) {
    return Status(6050203, "The $fill stage must specify at least one output field");
  }
  if (!read.partition_by.missing() && !read.partition_fields.missing()) {
    return Status(
        6050204, "Maximum one of 'partitionBy' and 'partitionByFields can be specified in '$fill'");
  }
  return read;
}

Status AppendPartition(const FillSpec& read, bson::Builder* out) {
  out->Append("partitionBy", read.partition_by);
  if (read.partition_fields.missing()) {
    return Status::Ok();
  }
  out->BeginDocument("partitionBy");
  for (const bson::Element& field : read.partition_fields.AsArray()) {
    if (field.type() != bson::Type::kString) {
      return WrongType("$fill.partitionByFields", field.value(), "string");
    }
    std::string path(field.value().AsString());
    if (!path.empty() && path[0] == '$') {
      return Status(6050201, "Field path in 'partitionByFields' must not be prefixed with $");
    }
    RETURN_IF_ERROR(CheckFieldPath(path));
    std::string key = path;
    for (char& c : key) {
      c = c == '.' ? '_' : c;
    }
    out->Append(key, "$" + path);
  }
  out->End();
  return Status::Ok();
}

// One output: adds it to the methods or the values.
Status AppendOutput(const bson::Element& field, const FillSpec& read, bson::Builder* methods,
                    bson::Builder* values) {
  std::string path(field.name());
  bson::View how =
      field.type() == bson::Type::kDocument ? field.value().AsDocument() : bson::View();
  if (how.Count() != 1 || (!how.Has("value") && !how.Has("method"))) {
    return Status(6050200,
                  "Each $fill output must be an object with exactly one of 'value' and "
                  "'method', at '" +
                      path + "'");
  }
  if (how.Has("value")) {
    values->BeginDocument(path).BeginArray("$ifNull").Push("$" + path).Push(how["value"]);
    values->End().End();
    return Status::Ok();
  }
  bson::Value method = how["method"];
  if (!method.is_string() || (method.AsString() != "linear" && method.AsString() != "locf")) {
    return Status(6050202, "Method must be either locf or linear");
  }
  bool linear = method.AsString() == "linear";
  if (linear && read.sort_by.missing()) {
    return Status(605001, "$fill with the method linear requires a sortBy");
  }
  methods->BeginDocument(path).Append(linear ? "$linearFill" : "$locf", "$" + path).End();
  return Status::Ok();
}

}  // namespace

Result<bson::Document> StagesOfFill(const bson::Value& spec) {
  ASSIGN_OR_RETURN(FillSpec read, ReadFill(spec));
  bson::Builder methods;
  bson::Builder values;
  for (const bson::Element& field : read.output.AsDocument()) {
    RETURN_IF_ERROR(CheckFieldPath(field.name()));
    RETURN_IF_ERROR(AppendOutput(field, read, &methods, &values));
  }
  bson::Document method_fields = methods.Finish();
  bson::Document value_fields = values.Finish();
  bson::Builder stages;
  if (!method_fields.empty()) {
    stages.PushDocument().BeginDocument("$setWindowFields");
    RETURN_IF_ERROR(AppendPartition(read, &stages));
    stages.Append("sortBy", read.sort_by).Append("output", method_fields).End().End();
  } else if (!read.sort_by.missing()) {
    stages.PushDocument().Append("$sort", read.sort_by).End();
  }
  if (!value_fields.empty()) {
    stages.PushDocument().Append("$addFields", value_fields).End();
  }
  return stages.Finish();
}

}  // namespace quire::expr
