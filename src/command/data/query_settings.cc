// SPDX-License-Identifier: Apache-2.0
//
// setQuerySettings and removeQuerySettings, and what they mean for a query.
#include "engine/query_settings.h"

#include <algorithm>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/number.h"
#include "command/command.h"
#include "command/own_documents.h"
#include "engine/read/query_shape.h"
#include "request/crud.h"

namespace quire::command {

namespace {

using request::Field;
using request::FieldRow;

constexpr size_t kHashLength = 64;

struct NamespaceFields {
  std::optional<std::string_view> database;
  std::optional<std::string_view> collection;
};
constexpr FieldRow<NamespaceFields> kNamespaceRows[] = {
    Field<&NamespaceFields::database>("db"),
    Field<&NamespaceFields::collection>("coll"),
};

struct HintFields {
  bson::View ns;
  request::ArrayArgument allowed;
};
constexpr FieldRow<HintFields> kHintRows[] = {
    Field<&HintFields::ns>("ns", request::Need::kRequired),
    Field<&HintFields::allowed>("allowedIndexes", request::Need::kRequired),
};

struct SettingsFields {
  bson::Value hints;
  std::optional<std::string_view> framework;
  bool reject = false;
  bson::Value comment;
};
constexpr FieldRow<SettingsFields> kSettingsRows[] = {
    Field<&SettingsFields::hints>("indexHints"),
    Field<&SettingsFields::framework>("queryFramework"),
    request::StrictBool<&SettingsFields::reject>("reject"),
    Field<&SettingsFields::comment>("comment"),
};

// The shape a command names: a query of it, or its hash.
struct Target {
  std::string hash;
  bson::View query;
};

Result<std::string> ReadHash(std::string_view text, bool check_length) {
  if (text.empty() || (check_length && text.size() != kHashLength)) {
    return Status(kInvalidLength, "query shape hash has the wrong length");
  }
  std::string hash(text);
  bool hex =
      std::all_of(hash.begin(), hash.end(), [](unsigned char c) { return std::isxdigit(c) != 0; });
  if (!hex || hash.size() != kHashLength) {
    return Status(kBadValue, "query shape hash is not 64 hexadecimal digits");
  }
  std::transform(hash.begin(), hash.end(), hash.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return hash;
}

Status CheckQuery(bson::View query, std::string_view command) {
  std::string_view name = query.empty() ? "" : query.front().name();
  if (name != "find" && name != "distinct" && name != "aggregate") {
    return {7746402, "QuerySettings can be set only for find, distinct or aggregate queries"};
  }
  bson::Value database = query["$db"];
  if (database.missing() || database.nullish()) {
    return request::MissingField(command, "$db");
  }
  if (!database.is_string()) {
    return {kTypeMismatch, "BSON field '$db' must be a string"};
  }
  return request::CheckDatabaseName(database.AsString());
}

Result<Target> ReadTarget(std::string_view command, const bson::Element& e, bool check_length) {
  Target target;
  if (e.value().is_string()) {
    ASSIGN_OR_RETURN(target.hash, ReadHash(e.value().AsString(), check_length));
    return target;
  }
  if (!e.value().is_document()) {
    return request::WrongType(command, e, "[string, object]");
  }
  target.query = e.value().AsDocument();
  RETURN_IF_ERROR(CheckQuery(target.query, command));
  target.hash = QueryShapeHash(target.query, target.query["$db"].AsString());
  return target;
}

// Queries that settings may not touch.
Status CheckShapeAllowed(bson::View query) {
  std::string_view database = query["$db"].AsString();
  bson::Value collection = query.front().value();
  bool system = collection.is_string() && collection.AsString().starts_with("system.");
  if (database == "local" || database == "admin" || database == "config" || system) {
    return {8584900, "Can not set query settings on internal databases or system collections"};
  }
  bson::Value filter = query["filter"];
  bool by_id = query.front().name() == "find" && filter.is_document() &&
               filter.AsDocument().Count() == 1 && filter.AsDocument().front().name() == "_id" &&
               !filter.AsDocument().front().value().is_document();
  if (by_id) {
    return {7746606, "setQuerySettings command cannot be used on find queries by _id"};
  }
  return Status::Ok();
}

Status CheckHint(const bson::Value& hint, bool* any) {
  if (!hint.is_document()) {
    return {kTypeMismatch, "BSON field 'indexHints' must hold objects"};
  }
  HintFields f;
  RETURN_IF_ERROR(
      request::ReadFields<HintFields>("indexHints", hint.AsDocument(), false, kHintRows, &f));
  NamespaceFields ns;
  RETURN_IF_ERROR(
      request::ReadFields<NamespaceFields>("indexHints.ns", f.ns, false, kNamespaceRows, &ns));
  if (!ns.database) {
    return {8727500, "invalid index hint: 'ns.db' field is missing"};
  }
  if (!ns.collection) {
    return {8727501, "invalid index hint: 'ns.coll' field is missing"};
  }
  for (const bson::Element& index : f.allowed.view) {
    if (!index.value().is_string() && !index.value().is_document()) {
      return {kFailedToParse, "an index hint must be a string or an object"};
    }
    *any = true;
  }
  return Status::Ok();
}

// indexHints is one document or an array of them.
Status CheckSettings(bson::View settings) {
  if (settings.empty()) {
    return {8727502, "settings field in setQuerySettings command cannot be empty"};
  }
  if (bson::Element reject = settings.Find("reject");
      reject.present() && reject.type() != bson::Type::kBool) {
    return request::WrongType("settings", reject, "bool");
  }
  SettingsFields f;
  RETURN_IF_ERROR(
      request::ReadFields<SettingsFields>("settings", settings, false, kSettingsRows, &f));
  bool any_index = false;
  if (f.hints.is_array()) {
    for (const bson::Element& e : f.hints.AsArray()) {
      RETURN_IF_ERROR(CheckHint(e.value(), &any_index));
    }
  } else if (!f.hints.missing()) {
    RETURN_IF_ERROR(CheckHint(f.hints, &any_index));
  }
  if (f.framework && *f.framework != "classic" && *f.framework != "sbe") {
    return {kBadValue, "Enumeration value '" + std::string(*f.framework) +
                           "' for field 'queryFramework' is not a valid value."};
  }
  if (!any_index && !f.framework && !f.reject) {
    return {7746604, "the resulting settings cannot be empty or contain only default values"};
  }
  return Status::Ok();
}

struct SetFields {
  std::optional<bson::View> settings;
};
constexpr FieldRow<SetFields> kSetRows[] = {
    Field<&SetFields::settings>("settings", request::Need::kRequired),
};

Status RunSet(Invocation& i) {
  bson::Element first = i.body().front();
  ASSIGN_OR_RETURN(Target target, ReadTarget("setQuerySettings", first, false));
  SetFields f;
  RETURN_IF_ERROR(request::ReadFields<SetFields>("setQuerySettings", i.body(), true, kSetRows, &f));
  RETURN_IF_ERROR(CheckSettings(*f.settings));
  if (!target.query.empty()) {
    RETURN_IF_ERROR(CheckShapeAllowed(target.query));
  }
  engine::QuerySetting made =
      i.engine.query_settings.Merged(target.hash, target.query, *f.settings);
  bson::Builder stored;
  stored.Append("_id", made.hash).Append("query", made.query).Append("settings", made.settings);
  bson::Document document = stored.Finish();
  RETURN_IF_ERROR(SaveOwn(i.engine, kQuerySettings, document.view()));
  i.engine.query_settings.Put(made);
  i.reply().Append("queryShapeHash", made.hash);
  if (!made.query.empty()) {
    i.reply().Append("representativeQuery", made.query);
  }
  i.reply().Append("settings", made.settings);
  return Status::Ok();
}

struct RemoveFields {};

Status RunRemove(Invocation& i) {
  ASSIGN_OR_RETURN(Target target, ReadTarget("removeQuerySettings", i.body().front(), true));
  RemoveFields f;
  RETURN_IF_ERROR(request::ReadFields<RemoveFields>("removeQuerySettings", i.body(), true, {}, &f));
  bson::Builder which;
  which.Append("_id", target.hash);
  bson::Document filter = which.Finish();
  RETURN_IF_ERROR(RemoveOwn(i.engine, kQuerySettings, filter.view()).status());
  i.engine.query_settings.Remove(target.hash);
  return Status::Ok();
}

}  // namespace

std::string QueryShapeHash(bson::View command, std::string_view database) {
  bson::Document shape = engine::ShapeOfCommand(command, database);
  return engine::HashOfShape(shape);
}

void LoadQuerySettings(engine::Engine& engine) {
  auto stored = LoadOwnAll(engine, kQuerySettings, {}, {});
  if (!stored.ok()) {
    return;
  }
  for (const engine::QuerySetting& old : engine.query_settings.All()) {
    const bool kept =
        std::any_of(stored->begin(), stored->end(), [&](const bson::Document& document) {
          const bson::Value id = document["_id"];
          return id.is_string() && id.AsString() == old.hash;
        });
    if (!kept) {
      engine.query_settings.Remove(old.hash);
    }
  }
  for (const bson::Document& document : *stored) {
    bson::View view = document.view();
    if (view["_id"].is_string() && view["query"].is_document() && view["settings"].is_document()) {
      engine.query_settings.Put({std::string(view["_id"].AsString()),
                                 bson::Document(view["query"].AsDocument()),
                                 bson::Document(view["settings"].AsDocument())});
    }
  }
}

Status ApplyQuerySettings(Invocation& i, bson::View command, bool explain) {
  if (i.engine.query_settings.empty()) {
    return Status::Ok();
  }
  auto found = i.engine.query_settings.Find(QueryShapeHash(command, i.database()));
  if (!found.has_value()) {
    return Status::Ok();
  }
  bson::View settings = found->settings;
  if (bson::Value reject = settings["reject"];
      !explain && reject.type() == bson::Type::kBool && reject.AsBool()) {
    return {kQueryRejectedBySettings, "Query rejected by admin query settings"};
  }
  i.operation.index_hints = bson::OwnedValue(settings["indexHints"]);
  return Status::Ok();
}

std::span<const Row> QuerySettingsRows() {
  using namespace request;  // NOLINT(google-build-using-namespace): the flags below
  static constexpr Row kRows[] = {
      {{"setQuerySettings", "", kAdminOnly | request::kOnPrimary,
        "says how queries of a shape are run"},
       RunSet,
       OnCluster(Action::querySettings)},
      {{"removeQuerySettings", "", kAdminOnly | request::kOnPrimary,
        "forgets what was said about a shape"},
       RunRemove,
       OnCluster(Action::querySettings)},
  };
  return kRows;
}

}  // namespace quire::command
