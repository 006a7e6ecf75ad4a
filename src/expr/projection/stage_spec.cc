// SPDX-License-Identifier: Apache-2.0
#include "expr/projection/stage_spec.h"

#include "base/error_codes.h"
#include "base/try.h"
#include "expr/projection/add_fields.h"

namespace quire::expr {

Result<bson::Document> UnsetSpec(const bson::Value& argument) {
  std::vector<bson::Value> paths;
  if (argument.is_string()) {
    paths.push_back(argument);
  } else if (argument.is_array()) {
    if (argument.AsArray().empty()) {
      return Status(31119,
                    "$unset specification must be a string or an array with at least one "
                    "field");
    }
    for (const bson::Element& element : argument.AsArray()) {
      if (element.type() != bson::Type::kString) {
        return Status(31120,
                      "$unset specification must be a string or an array containing only "
                      "string values");
      }
      paths.push_back(element.value());
    }
  } else {
    return Status(31002, "$unset specification must be a string or an array");
  }
  bson::Builder spec;
  for (const bson::Value& path : paths) {
    if (path.AsString().find('\0') != std::string_view::npos) {
      return Status(9527900, "$unset field names may not contain null bytes");
    }
  }
  for (const bson::Value& path : paths) {
    RETURN_IF_ERROR(CheckFieldPath(path.AsString()));
    spec.Append(path.AsString(), int32_t{0});
  }
  return spec.Finish();
}

Result<bson::Value> NewRoot(const bson::Value& argument) {
  if (!argument.is_document()) {
    return Status(40229, "expected an object as specification for $replaceRoot stage, got " +
                             std::string(bson::TypeName(argument.type())));
  }
  bson::Value root;
  for (const bson::Element& field : argument.AsDocument()) {
    if (field.name() != "newRoot") {
      return Status(40415, "BSON field '$replaceRoot." + std::string(field.name()) +
                               "' is an unknown field.");
    }
    root = field.value();
  }
  if (root.missing()) {
    return Status(40414, "BSON field '$replaceRoot.newRoot' is missing but a required field");
  }
  return root;
}

Status CheckNewRoot(const bson::Value& value, bson::View input) {
  if (value.is_document()) {
    return Status::Ok();
  }
  return Status(40228,
                "'newRoot' expression must evaluate to an object, but resulting value was: " +
                    (value.missing() ? std::string("MISSING") : bson::ToJson(value)) +
                    ". Type of resulting value: '" + std::string(bson::TypeName(value.type())) +
                    "'. Input document: " + bson::ToJson(input));
}

}  // namespace quire::expr
