// SPDX-License-Identifier: Apache-2.0
//
// validateDBMetadata: which collections hold what the stable API does not know.
#include <array>

#include "base/error_codes.h"
#include "base/try.h"
#include "command/diagnostic.h"
#include "request/crud.h"
#include "request/fields.h"

namespace quire::command {
namespace {

struct ApiParameters {
  std::string_view version;
  bool strict = false;
  bool deprecation_errors = false;
  static constexpr auto kFields = std::to_array<request::FieldRow<ApiParameters>>(
      {request::Field<&ApiParameters::version>("version", request::Need::kRequired),
       request::StrictBool<&ApiParameters::strict>("strict"),
       request::StrictBool<&ApiParameters::deprecation_errors>("deprecationErrors")});
};

struct ValidateRequest {
  bson::View parameters;
  std::optional<std::string_view> database;
  std::optional<std::string_view> collection;
  static constexpr auto kFields = std::to_array<request::FieldRow<ValidateRequest>>(
      {request::Field<&ValidateRequest::parameters>("apiParameters", request::Need::kRequired),
       request::Field<&ValidateRequest::database>("db"),
       request::Field<&ValidateRequest::collection>("collection")});
};

// Text and sparse indexes are not part of version 1.
bool InVersion1(const store::IndexInfo& index) {
  for (const bson::Element& e : index.spec["key"].AsDocument()) {
    if (e.type() == bson::Type::kString && e.value().AsString() == "text") {
      return false;
    }
  }
  return !index.sparse;
}

// Names are asked for, not made: more of them pass than a collection may be in.
Status CheckAskedDatabase(std::string_view name) {
  if (name.empty()) {
    return {28539, "The name of a database cannot be empty"};
  }
  constexpr size_t kMostBytes = 63;
  if (name.size() > kMostBytes || name.find_first_of(std::string_view(".\0", 2)) != name.npos) {
    return {kInvalidNamespace, "Invalid database name: '" + std::string(name) + "'"};
  }
  if (name.find_first_of("/\\ \"") != name.npos) {
    return {13280, "Invalid database name: '" + std::string(name) + "'"};
  }
  return Status::Ok();
}

// validate on what is looked at: a collection, a database, or all of them.
Status StateValidateMetadata(Invocation& i, auth::Needs* needs) {
  ValidateRequest asked;
  RETURN_IF_ERROR(request::ReadFields<ValidateRequest>("validateDBMetadata", i.body(), true,
                                                       ValidateRequest::kFields, &asked));
  const std::string_view database = asked.database.value_or("");
  needs->Add(Action::validate, asked.collection ? auth::Collection(database, *asked.collection)
                                                : auth::Database(database));
  return Status::Ok();
}

Status RunValidateMetadata(Invocation& i) {
  ValidateRequest asked;
  RETURN_IF_ERROR(request::ReadFields<ValidateRequest>("validateDBMetadata", i.body(), true,
                                                       ValidateRequest::kFields, &asked));
  ApiParameters api;
  RETURN_IF_ERROR(request::ReadFields<ApiParameters>(
      "validateDBMetadata.apiParameters", asked.parameters, false, ApiParameters::kFields, &api));
  for (const bson::Element& e : asked.parameters) {
    if (e.name() != "version" && e.value().nullish()) {
      return request::WrongType("validateDBMetadata.apiParameters", e, "bool");
    }
  }
  if (asked.database) {
    RETURN_IF_ERROR(CheckAskedDatabase(*asked.database));
  }
  if (asked.collection && (asked.collection->empty() || asked.collection->front() == '.' ||
                           asked.collection->find('\0') != std::string_view::npos)) {
    return {kInvalidNamespace, "Invalid collection name: '" + std::string(*asked.collection) + "'"};
  }
  bool check = api.version == "1" && api.strict;
  i.reply().BeginArray("apiVersionErrors");
  for (const store::CollectionPtr& info : i.engine.catalog().snapshot()->All()) {
    if (!check || info->is_view() || (asked.database && *asked.database != info->database) ||
        (asked.collection && *asked.collection != info->name)) {
      continue;
    }
    for (const auto& index : info->indexes) {
      if (InVersion1(*index)) {
        continue;
      }
      i.reply()
          .PushDocument()
          .Append("ns", info->ns())
          .Append("code", kAPIStrictError)
          .Append("codeName", ErrorName(kAPIStrictError))
          .Append("errmsg",
                  "The index with name " + index->name + " is not allowed in API version 1.")
          .End();
    }
  }
  i.reply().End();
  return Status::Ok();
}

}  // namespace

std::span<const Row> StableApiRows() {
  static constexpr Row kRows[] = {
      {{"validateDBMetadata", "", request::kRead | request::kToPrimary,
        "what the stable API does not allow"},
       RunValidateMetadata,
       Stated(StateValidateMetadata)},
  };
  return kRows;
}

}  // namespace quire::command
