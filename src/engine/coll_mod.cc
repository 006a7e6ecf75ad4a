// SPDX-License-Identifier: Apache-2.0
#include "base/error_codes.h"
#include "base/try.h"
#include "bson/compare.h"
#include "bson/number.h"
#include "engine/schema.h"
#include "request/fields.h"

namespace quire::engine {

namespace {

using request::Field;
using request::FieldRow;

struct Fields {
  std::optional<bson::View> index;
  std::optional<bson::View> validator;
  std::optional<std::string_view> validation_level;
  std::optional<std::string_view> validation_action;
  std::optional<std::string_view> view_on;
  request::ArrayArgument pipeline;
  std::optional<int64_t> capped_size;
  std::optional<int64_t> capped_max;
  std::optional<bson::View> change_images;
  bool dry_run = false;
};
constexpr FieldRow<Fields> kRows[] = {
    Field<&Fields::index>("index"),
    Field<&Fields::validator>("validator"),
    Field<&Fields::validation_level>("validationLevel"),
    Field<&Fields::validation_action>("validationAction"),
    Field<&Fields::view_on>("viewOn"),
    Field<&Fields::pipeline>("pipeline"),
    Field<&Fields::capped_size>("cappedSize"),
    Field<&Fields::capped_max>("cappedMax"),
    Field<&Fields::change_images>("changeStreamPreAndPostImages"),
    Field<&Fields::dry_run>("dryRun"),
};

struct IndexFields {
  std::optional<bson::View> key_pattern;
  std::optional<std::string_view> name;
  bson::Value expire_after;
  std::optional<bool> hidden;
  std::optional<bool> unique;
  std::optional<bool> prepare_unique;
};
constexpr FieldRow<IndexFields> kIndexRows[] = {
    Field<&IndexFields::key_pattern>("keyPattern"),
    Field<&IndexFields::name>("name"),
    Field<&IndexFields::expire_after>("expireAfterSeconds"),
    Field<&IndexFields::hidden>("hidden"),
    Field<&IndexFields::unique>("unique"),
    Field<&IndexFields::prepare_unique>("prepareUnique"),
};

Result<const store::IndexInfo*> FindIndex(const store::CollectionInfo& collection,
                                          const IndexFields& f) {
  if (f.name && f.key_pattern) {
    return Status(kInvalidOptions, "Cannot specify both key pattern and name.");
  }
  if (!f.name && !f.key_pattern) {
    return Status(kInvalidOptions, "Must specify either index name or key pattern.");
  }
  const store::IndexInfo* found = nullptr;
  for (const auto& index : collection.indexes) {
    bool same = f.name ? index->name == *f.name
                       : bson::CompareDocuments(index->key_pattern, *f.key_pattern) == 0;
    if (!same) {
      continue;
    }
    if (found != nullptr) {
      return Status(kAmbiguousIndexKeyPattern, "index keyPattern matches several indexes");
    }
    found = index.get();
  }
  if (found == nullptr) {
    return Status(kIndexNotFound,
                  "cannot find index " +
                      (f.name ? std::string(*f.name) : bson::ToJson(*f.key_pattern)) + " for ns " +
                      collection.ns());
  }
  return found;
}

// The index's spec with `field` set to `value` (missing: removed).
bson::Document WithField(bson::View spec, std::string_view field, const bson::Value& value) {
  bson::Builder out;
  bool done = false;
  for (const bson::Element& e : spec) {
    if (e.name() == field) {
      out.Append(field, value);
      done = true;
    } else {
      out.Append(e);
    }
  }
  if (!done) {
    out.Append(field, value);
  }
  return out.Finish();
}

Status ModifyIndex(const Operation& operation, const store::CollectionInfo& collection,
                   bson::View spec, bson::Builder* reply) {
  IndexFields f;
  RETURN_IF_ERROR(request::ReadFields<IndexFields>("collMod.index", spec, false, kIndexRows, &f));
  ASSIGN_OR_RETURN(const store::IndexInfo* index, FindIndex(collection, f));
  if (f.expire_after.missing() && !f.hidden && !f.unique && !f.prepare_unique) {
    return {kInvalidOptions, "no expireAfterSeconds, hidden, unique, or prepareUnique field"};
  }
  if (index->is_id) {
    return {kBadValue, "can't hide or change the _id index"};
  }
  bson::Document changed(index->spec.view());
  if (!f.expire_after.missing()) {
    if (!f.expire_after.is_number()) {
      return {kInvalidOptions, "expireAfterSeconds field must be a number"};
    }
    if (index->keys.parts.size() > 1) {
      return {kInvalidOptions, "TTL indexes are single-field indexes"};
    }
    bson::Value seconds(bson::ClampedInt64(f.expire_after));
    if (index->expire_after_seconds) {
      reply->Append("expireAfterSeconds_old", *index->expire_after_seconds);
    }
    reply->Append("expireAfterSeconds_new", seconds);
    changed =
        WithField(changed, "expireAfterSeconds", bson::NarrowInt(bson::ClampedInt64(seconds)));
  }
  if (f.hidden && *f.hidden != index->hidden) {
    reply->Append("hidden_old", index->hidden).Append("hidden_new", *f.hidden);
    changed = WithField(changed, "hidden", *f.hidden ? bson::Value(true) : bson::Value());
  }
  if (f.unique || f.prepare_unique) {
    return {kInvalidOptions,
            "Changing an index to unique is not supported: drop it and create it "
            "as unique"};
  }
  return operation.engine.catalog().SetIndexSpec(collection.ns(), index->name, changed,
                                                 operation.durability);
}

Result<bson::Document> ChangedOptions(const store::CollectionInfo& collection, const Fields& f) {
  bson::Document options(collection.options.view());
  auto set = [&](std::string_view field, const bson::Value& value) {
    options = WithField(options, field, value);
  };
  if (f.validator) {
    expr::Context context;
    RETURN_IF_ERROR(
        expr::match::Filter::Parse(*f.validator, &context, expr::match::Allowed::InValidator())
            .status());
    set("validator", f.validator->empty() ? bson::Value() : bson::Value(*f.validator));
    if (!f.validator->empty() && !collection.options.view().Has("validationLevel")) {
      set("validationLevel", bson::Value("strict"));
      set("validationAction", bson::Value("error"));
    }
  }
  if (f.validation_level) {
    if (*f.validation_level != "off" && *f.validation_level != "strict" &&
        *f.validation_level != "moderate") {
      return Status(kBadValue, "Enumeration value '" + std::string(*f.validation_level) +
                                   "' for field 'validationLevel' is not a valid value.");
    }
    set("validationLevel", bson::Value(*f.validation_level));
  }
  if (f.validation_action) {
    if (*f.validation_action != "error" && *f.validation_action != "warn") {
      return Status(kBadValue, "Enumeration value '" + std::string(*f.validation_action) +
                                   "' for field 'validationAction' is not a valid value.");
    }
    set("validationAction", bson::Value(*f.validation_action));
  }
  if (f.view_on) {
    set("viewOn", bson::Value(*f.view_on));
  }
  if (f.pipeline.present) {
    set("pipeline", bson::Value::Array(f.pipeline.view));
  }
  if (f.capped_size) {
    set("size", bson::Value(*f.capped_size));
  }
  if (f.capped_max) {
    set("max", bson::Value(*f.capped_max));
  }
  if (f.change_images) {
    set("changeStreamPreAndPostImages", bson::Value(*f.change_images));
  }
  return options;
}

}  // namespace

Status CollMod(const Operation& operation, const std::string& ns, bson::View command,
               bson::Builder* reply) {
  Fields f;
  RETURN_IF_ERROR(request::ReadFields<Fields>("collMod", command, true, kRows, &f));
  store::CollectionPtr collection = operation.engine.catalog().Find(ns);
  if (collection == nullptr) {
    return {kNamespaceNotFound, "ns does not exist: " + ns};
  }
  bool for_view = f.view_on || f.pipeline.present;
  if (collection->is_view() && (f.index || f.validator || f.validation_level ||
                                f.validation_action || f.capped_size || f.capped_max)) {
    return {kInvalidOptions, "option not supported on a view"};
  }
  if (!collection->is_view() && for_view) {
    return {kInvalidOptions, "'viewOn' and 'pipeline' are options of views"};
  }
  if ((f.capped_size || f.capped_max) && !collection->capped) {
    return {kInvalidOptions, "Collection must be capped."};
  }
  if (f.index) {
    RETURN_IF_ERROR(ModifyIndex(operation, *collection, *f.index, reply));
  }
  bool options_change = f.validator || f.validation_level || f.validation_action || for_view ||
                        f.capped_size || f.capped_max || f.change_images;
  if (!options_change) {
    return Status::Ok();
  }
  ASSIGN_OR_RETURN(bson::Document options, ChangedOptions(*collection, f));
  return operation.engine.catalog().SetOptions(ns, options, operation.durability);
}

}  // namespace quire::engine
