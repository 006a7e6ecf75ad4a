// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/compare.h"
#include "bson/number.h"
#include "command/authorise.h"
#include "command/command.h"
#include "command/parsed_row.h"
#include "engine/schema/schema.h"
#include "engine/schema/storage_options.h"
#include "request/crud.h"

namespace quire::command {

namespace {

using request::Field;
using request::FieldRow;
using request::Ignored;

struct CreateFields {
  std::optional<bool> capped;
  std::optional<int64_t> size;
  std::optional<int64_t> max;
  std::optional<bson::View> validator;
  std::optional<std::string_view> validation_level;
  std::optional<std::string_view> validation_action;
  std::optional<std::string_view> view_on;
  request::ArrayArgument pipeline;
  std::optional<bson::View> collation;
  std::optional<bson::View> change_images;
  std::optional<bson::View> index_defaults;
  std::optional<bson::View> storage_engine;
  bson::Value clustered_index;
  std::optional<bson::View> timeseries;
  std::optional<bson::View> encrypted_fields;
  bson::Value expire_after;
  std::optional<bson::View> id_index;
  std::optional<bool> auto_index_id;

  bool clustered() const { return clustered_index.is_document(); }
};
using C = CreateFields;
constexpr FieldRow<C> kCreateRows[] = {
    Field<&C::capped>("capped"),
    Field<&C::auto_index_id>("autoIndexId"),
    Field<&C::size>("size"),
    Field<&C::max>("max"),
    Field<&C::storage_engine>("storageEngine"),
    Field<&C::validator>("validator"),
    Field<&C::validation_level>("validationLevel"),
    Field<&C::validation_action>("validationAction"),
    Field<&C::index_defaults>("indexOptionDefaults"),
    Field<&C::view_on>("viewOn"),
    Field<&C::pipeline>("pipeline"),
    Field<&C::collation>("collation"),
    Field<&C::change_images>("changeStreamPreAndPostImages"),
    Field<&C::clustered_index>("clusteredIndex"),
    Field<&C::timeseries>("timeseries"),
    Field<&C::encrypted_fields>("encryptedFields"),
    Field<&C::expire_after>("expireAfterSeconds"),
    Field<&C::id_index>("idIndex"),
    Ignored<C>("flags"),
    Ignored<C>("temp"),
};

struct ClusteredFields {
  int64_t version = 2;
  bson::View key;
  std::string_view name = "_id_";
  bool unique = false;
};
constexpr FieldRow<ClusteredFields> kClusteredRows[] = {
    Field<&ClusteredFields::version>("v"),
    Field<&ClusteredFields::key>("key", request::Need::kRequired),
    Field<&ClusteredFields::name>("name"),
    Field<&ClusteredFields::unique>("unique", request::Need::kRequired),
};

bool IsIdPattern(bson::View key) {
  return key.Count() == 1 && key.front().name() == "_id" && key.front().value().is_number() &&
         bson::ToDouble(key.front().value()) == 1;
}

Status CheckClusteredSpec(bson::View spec, ClusteredFields* out) {
  RETURN_IF_ERROR(request::ReadFields<ClusteredFields>("create.clusteredIndex", spec, false,
                                                       kClusteredRows, out));
  if (!IsIdPattern(out->key)) {
    return {kInvalidIndexSpecificationOption,
            "The clusteredIndex option is only supported for key: {_id: 1}"};
  }
  if (out->version != 2) {
    return {5979704, "Only version 2 of the clusteredIndex option is supported"};
  }
  if (!out->unique) {
    return {5979700, "The clusteredIndex option requires unique: true to be specified"};
  }
  return Status::Ok();
}

Status CheckClustered(bson::View body, const CreateFields& f, ClusteredFields* out) {
  bson::Element given = body.Find("clusteredIndex");
  if (!given.present()) {
    return Status::Ok();
  }
  if (f.capped.value_or(false)) {
    return {6049200, "The 'clusteredIndex' option is not supported on a capped collection"};
  }
  if (given.value().is_document()) {
    RETURN_IF_ERROR(CheckClusteredSpec(given.value().AsDocument(), out));
  } else if (given.type() != bson::Type::kBool && !given.value().is_number()) {
    return request::WrongType("create", given, "[bool, object]");
  } else if (given.type() == bson::Type::kBool ? given.value().AsBool()
                                               : bson::ToDouble(given.value()) != 0) {
    return {5979703, "The clusteredIndex option must be a document"};
  } else {
    return Status::Ok();
  }
  if (f.view_on) {
    return {6026500, "The 'clusteredIndex' option is not supported for views"};
  }
  if (f.max) {
    return {6049204, "The 'max' option is not supported for clustered collections"};
  }
  if (f.id_index) {
    return {kInvalidOptions, "The 'idIndex' option is not supported for clustered collections"};
  }
  return Status::Ok();
}

// What is wrong by itself, whatever else is asked for.
Status CheckForms(bson::View body, const CreateFields& f) {
  if (f.collation && f.collation->empty()) {
    return request::MissingField("create.collation", "locale");
  }
  if (!f.expire_after.missing() && !f.expire_after.is_number()) {
    return request::WrongType("create", body.Find("expireAfterSeconds"),
                              "[long, int, decimal, double]");
  }
  return Status::Ok();
}

Status CheckExpireAfter(const CreateFields& f) {
  if (f.expire_after.missing()) {
    return Status::Ok();
  }
  if (!f.clustered()) {
    return {kInvalidOptions,
            "'expireAfterSeconds' is only supported on time-series collections or when the "
            "'clusteredIndex' option is specified"};
  }
  return engine::CheckExpireAfterSeconds(bson::ClampedInt64(f.expire_after));
}

// The spec of the _id index may be given as it is; it says nothing that could be chosen.
Status CheckIdIndex(const CreateFields& f) {
  if (!f.id_index) {
    return Status::Ok();
  }
  if (f.view_on) {
    return {kInvalidOptions, "'idIndex' is not allowed with 'viewOn'"};
  }
  bson::Element key = f.id_index->Find("key");
  bson::Element name = f.id_index->Find("name");
  if (!key.present() || !name.present()) {
    return {kFailedToParse, std::string("The '") + (key.present() ? "name" : "key") +
                                "' field is a required property of an index specification"};
  }
  ASSIGN_OR_RETURN(auto collator, f.collation ? expr::Collator::Parse(*f.collation)
                                              : Result<std::shared_ptr<const expr::Collator>>(
                                                    std::shared_ptr<const expr::Collator>()));
  for (const bson::Element& e : *f.id_index) {
    constexpr std::string_view kAllowed[] = {"key", "name", "v", "ns", "collation"};
    if (std::find(std::begin(kAllowed), std::end(kAllowed), e.name()) == std::end(kAllowed)) {
      return {kInvalidIndexSpecificationOption,
              "The field '" + std::string(e.name()) + "' is not valid for an _id index"};
    }
  }
  ASSIGN_OR_RETURN(bson::Document spec, engine::NormaliseIndexSpec(*f.id_index, collator.get()));
  if (!IsIdPattern(spec["key"].AsDocument())) {
    return {kBadValue, "The field 'key' for an _id index must be {_id: 1}, but got " +
                           bson::ToJson(spec["key"])};
  }
  bson::Value collation = spec["collation"];
  if (collation.is_document() != (collator != nullptr) ||
      (collator != nullptr &&
       bson::CompareDocuments(collation.AsDocument(), collator->spec()) != 0)) {
    return {kBadValue, "The _id index must have the same collation as the collection"};
  }
  return Status::Ok();
}

Status CheckCapped(const CreateFields& f) {
  if (f.capped.value_or(false) && !f.size) {
    return {kInvalidOptions, "the 'size' field is required when 'capped' is true"};
  }
  if (!f.capped.value_or(false) && (f.size || f.max)) {
    return {kInvalidOptions,
            "the 'capped' field needs to be true when either the 'size' or 'max' "
            "fields are present"};
  }
  if (f.size) {
    RETURN_IF_ERROR(engine::CheckCappedSize("size", *f.size));
  }
  if (f.max && *f.max > INT32_MAX) {
    return {kBadValue, "max in a capped collection has to be < 2^31 or not set"};
  }
  return Status::Ok();
}

Status CheckValidation(const CreateFields& f, std::string_view ns) {
  if (f.validation_level && *f.validation_level != "off" && *f.validation_level != "strict" &&
      *f.validation_level != "moderate") {
    return {kBadValue, "Enumeration value '" + std::string(*f.validation_level) +
                           "' for field 'create.validationLevel' is not a valid value."};
  }
  if (f.validation_action && *f.validation_action != "error" && *f.validation_action != "warn") {
    return {kBadValue, "Enumeration value '" + std::string(*f.validation_action) +
                           "' for field 'create.validationAction' is not a valid value."};
  }
  return f.validator ? engine::CheckValidatable(ns) : Status::Ok();
}

Status CheckView(const CreateFields& f, std::string_view database) {
  if (f.change_images) {
    RETURN_IF_ERROR(engine::CheckChangeImages(*f.change_images));
  }
  if (!f.view_on) {
    if (f.pipeline.present) {
      return {kInvalidOptions, "'pipeline' cannot be specified without 'viewOn'"};
    }
    return Status::Ok();
  }
  RETURN_IF_ERROR(engine::CheckViewOn(database, *f.view_on));
  if (f.change_images && (*f.change_images)["enabled"].AsBool()) {
    return {kInvalidOptions, "option not supported on a view: changeStreamPreAndPostImages"};
  }
  return Status::Ok();
}

Status CheckStorage(const CreateFields& f) {
  if (f.storage_engine) {
    RETURN_IF_ERROR(engine::CheckStorageEngine(*f.storage_engine));
  }
  return f.index_defaults ? engine::CheckIndexOptionDefaults(*f.index_defaults) : Status::Ok();
}

// Of a view: what else is given is for collections, and goes for nothing.
Result<bson::Document> ViewOptions(const CreateFields& f) {
  ASSIGN_OR_RETURN(bson::Document pipeline, engine::ViewPipeline(f.pipeline.view));
  bson::Builder out;
  out.Append("viewOn", *f.view_on).AppendArray("pipeline", pipeline);
  if (f.collation) {
    out.Append("collation", *f.collation);
  }
  return out.Finish();
}

bson::Document StoredOptions(const CreateFields& f, const ClusteredFields& clustered) {
  bson::Builder out;
  if (f.capped.value_or(false)) {
    out.Append("capped", true);
    int64_t size = *f.size;
    if (size <= INT32_MAX) {
      out.Append("size", static_cast<int32_t>(size));
    } else {
      out.Append("size", size);
    }
    if (f.max && *f.max > 0) {
      out.Append("max", static_cast<int32_t>(*f.max));
    }
  }
  if (f.auto_index_id) {
    out.Append("autoIndexId", *f.auto_index_id);
  }
  if (f.storage_engine && !f.storage_engine->empty()) {
    out.Append("storageEngine", *f.storage_engine);
  }
  if (f.index_defaults && !f.index_defaults->empty()) {
    out.Append("indexOptionDefaults", *f.index_defaults);
  }
  if (f.change_images && (*f.change_images)["enabled"].AsBool()) {
    out.Append("changeStreamPreAndPostImages", *f.change_images);
  }
  if (f.validator) {
    out.Append("validator", *f.validator);
  }
  if (f.validation_level) {
    out.Append("validationLevel", *f.validation_level);
  } else if (f.validator) {
    out.Append("validationLevel", "strict");
  }
  if (f.validation_action) {
    out.Append("validationAction", *f.validation_action);
  } else if (f.validator) {
    out.Append("validationAction", "error");
  }
  if (f.collation) {
    out.Append("collation", *f.collation);
  }
  if (!f.expire_after.missing()) {
    out.Append("expireAfterSeconds", bson::ClampedInt64(f.expire_after));
  }
  if (f.clustered()) {
    out.BeginDocument("clusteredIndex")
        .Append("v", 2)
        .BeginDocument("key")
        .Append("_id", 1)
        .End()
        .Append("name", clustered.name)
        .Append("unique", true)
        .End();
  }
  return out.Finish();
}

// Only what is not replicated may ask for no _id index (here it has one all the same).
Status CheckAutoIndexId(const CreateFields& f, std::string_view database) {
  if (f.auto_index_id.value_or(true) || database == "local") {
    return Status::Ok();
  }
  return {50001, "autoIndexId:false is not allowed for a collection of database '" +
                     std::string(database) + "', which can be replicated"};
}

struct CreateRequest {
  std::string_view name;
  CreateFields fields;
};

Result<CreateRequest> ParseCreate(Invocation& i) {
  CreateRequest request;
  ASSIGN_OR_RETURN(request.name, request::CollectionName("create", i.body()));
  RETURN_IF_ERROR(
      engine::CheckNewName(std::string(i.database()) + "." + std::string(request.name)));
  RETURN_IF_ERROR(request::ReadFields<C>("create", i.body(), true, kCreateRows, &request.fields));
  return request;
}

// Who may insert may make a plain collection, as the first insert would.
Status StateCreate(Invocation& i, const CreateRequest& request, auth::Needs* needs) {
  const auth::Resource made = auth::Collection(i.database(), request.name);
  const CreateFields& f = request.fields;
  if (f.view_on) {
    needs->Add(Action::createCollection, made);
    return StateView(i, request.name, *f.view_on, f.pipeline.view, needs);
  }
  if (f.capped.value_or(false)) {
    needs->Add(Action::convertToCapped, made);
  }
  needs->AddEither({{{Action::createCollection, made}}, {{Action::insert, made}}});
  return Status::Ok();
}

Status RunCreate(Invocation& i, const CreateRequest& request) {
  std::string_view name = request.name;
  const CreateFields& f = request.fields;
  ASSIGN_OR_RETURN(std::string ns, request::Namespace(i.database(), name));
  i.call.summary.ns = ns;
  RETURN_IF_ERROR(CheckForms(i.body(), f));
  if (f.encrypted_fields) {
    return request::UnknownField("create", "encryptedFields");
  }
  if (f.timeseries) {
    return {kInvalidOptions, "Time-series collections are not supported"};
  }
  ClusteredFields clustered;
  RETURN_IF_ERROR(CheckClustered(i.body(), f, &clustered));
  RETURN_IF_ERROR(CheckExpireAfter(f));
  RETURN_IF_ERROR(CheckIdIndex(f));
  RETURN_IF_ERROR(CheckAutoIndexId(f, i.database()));
  RETURN_IF_ERROR(CheckCapped(f));
  RETURN_IF_ERROR(CheckValidation(f, ns));
  RETURN_IF_ERROR(CheckStorage(f));
  RETURN_IF_ERROR(CheckView(f, i.database()));
  bson::Document options = StoredOptions(f, clustered);
  if (f.view_on) {
    ASSIGN_OR_RETURN(options, ViewOptions(f));
  }
  if (name == "system.views") {  // it is there in every database
    return options.view().empty()
               ? Status::Ok()
               : Status(kNamespaceExists, "Collection " + ns + " already exists.");
  }
  if (const bson::Value uuid = i.call.request->new_uuid; !uuid.missing()) {
    bson::Builder with_uuid;
    with_uuid.AppendFields(options.view());
    options = with_uuid.Append(store::kUuidOption, uuid).Finish();
  }
  RETURN_IF_ERROR(engine::CreateCollection(i.operation, ns, options));
  if (f.auto_index_id) {
    i.reply().Append("note", "the autoIndexId option is deprecated");
  }
  return Status::Ok();
}

}  // namespace

std::span<const Row> CreateRows() {
  using namespace request;  // NOLINT(google-build-using-namespace): the flags below
  static constexpr Row kRows[] = {
      ParsedRow<ParseCreate, StateCreate, RunCreate>(
          {"create", "", kWrite | kWriteConcern | kInTransaction | kStableApi | kToPrimary,
           "makes a collection or a view"}),
  };
  return kRows;
}

}  // namespace quire::command
