// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/compare.h"
#include "bson/number.h"
#include "engine/schema/schema.h"
#include "request/fields.h"
#include "store/build/duplicates.h"
#include "store/collection.h"

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
  bson::Value expire_after;
  std::optional<bson::View> time_series;
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
    Field<&Fields::expire_after>("expireAfterSeconds"),
    Field<&Fields::time_series>("timeseries"),
    Field<&Fields::dry_run>("dryRun"),
};

struct IndexFields {
  std::optional<bson::View> key_pattern;
  std::optional<std::string_view> name;
  std::optional<int32_t> expire_after;
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

bool Names(const IndexFields& f, const store::IndexInfo& index) {
  return f.name ? index.name == *f.name
                : f.key_pattern && bson::CompareDocuments(index.key_pattern, *f.key_pattern) == 0;
}

bool NamesClustered(const store::CollectionInfo& collection, const IndexFields& f) {
  return collection.clustered && Names(f, *collection.indexes.front());
}

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
    if (!Names(f, *index) || (index->is_id && collection.clustered)) {
      continue;  // the clustered index is the collection itself
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

Status SetExpireAfter(const store::IndexInfo& index, int32_t seconds, bson::Document* changed,
                      bson::Builder* reply) {
  if (index.is_id || index.keys.parts.size() > 1) {
    return {kInvalidOptions, "TTL indexes are single-field indexes, and not that of _id"};
  }
  RETURN_IF_ERROR(CheckExpireAfterSeconds(std::min(seconds, 0)));
  if (index.expire_after_seconds) {
    reply->Append("expireAfterSeconds_old", *index.expire_after_seconds);
  }
  reply->Append("expireAfterSeconds_new", int64_t{seconds});
  *changed = WithField(*changed, "expireAfterSeconds", bson::Value(seconds));
  return Status::Ok();
}

// What a collMod comes to once it has been checked: nothing of it is done yet.
struct Changes {
  struct OfIndex {
    std::string name;
    bson::Document spec;
    bson::Document logged;
  };
  struct OfOptions {
    bson::Document options;
    bson::Document logged;
  };
  std::optional<OfIndex> index;
  std::optional<OfOptions> options;
};

// The documents that share keys: [{ids: [_id, _id]}], as much of it as fits into a reply.
Result<bson::Document> Violations(const Operation& operation,
                                  const store::CollectionInfo& collection,
                                  const store::IndexInfo& index) {
  constexpr size_t kMostGroups = 1000;
  constexpr size_t kMostBytes = size_t{8} << 20;
  ASSIGN_OR_RETURN(auto txn, store::Transaction::Begin(operation.engine.store(), true));
  ASSIGN_OR_RETURN(auto groups, store::FindDuplicates(operation.op, *txn, index, kMostGroups));
  bson::Builder out;
  out.BeginArray("violations");
  size_t bytes = 0;
  for (const auto& group : groups) {
    out.PushDocument().BeginArray("ids");
    for (store::RecordId id : group) {
      kv::ReadValue value;
      ASSIGN_OR_RETURN(bool found, store::Fetch(*txn, collection, id, &value));
      if (found && bytes < kMostBytes) {
        bson::Value key = bson::View(value.view().data())["_id"];
        bytes += key.bytes().size();
        out.Push(key);
      }
    }
    out.End().End();
  }
  out.End();
  return groups.empty() ? bson::Document() : out.Finish();
}

enum class Duplicates : uint8_t { kLookFor, kLeave };

// Makes the index unique (or sees whether it could be).
Status SetUnique(const Operation& operation, const store::CollectionInfo& collection,
                 const store::IndexInfo& index, const IndexFields& f, Duplicates duplicates,
                 bson::Document* changed, bson::Builder* reply) {
  if (!*f.unique) {
    return {kBadValue, "Cannot make index non-unique"};
  }
  if (index.unique) {
    return Status::Ok();
  }
  if (!index.refuses_duplicates) {
    return {kInvalidOptions,
            "Cannot make index unique with 'prepareUnique=false'. Run collMod to set "
            "'prepareUnique' first"};
  }
  if (duplicates == Duplicates::kLookFor) {
    ASSIGN_OR_RETURN(bson::Document violations, Violations(operation, collection, index));
    if (!violations.view().empty()) {
      return Status(kCannotConvertIndexToUnique,
                    "Cannot convert the index to unique. Please resolve conflicting documents "
                    "before running collMod again.")
          .WithExtra(violations.bytes());
    }
  }
  reply->Append("unique_new", true);
  *changed = WithField(*changed, "prepareUnique", bson::Value());
  *changed = WithField(*changed, "unique", bson::Value(true));
  return Status::Ok();
}

Status SetPrepareUnique(const store::IndexInfo& index, const IndexFields& f,
                        bson::Document* changed, bson::Builder* reply) {
  bool prepared = index.refuses_duplicates && !index.unique;
  if (*f.prepare_unique == prepared || index.unique) {
    return Status::Ok();
  }
  if (f.unique || f.hidden || f.expire_after) {
    return {kInvalidOptions, "'prepareUnique' cannot be combined with any other modification"};
  }
  reply->Append("prepareUnique_old", prepared).Append("prepareUnique_new", *f.prepare_unique);
  *changed =
      WithField(*changed, "prepareUnique", *f.prepare_unique ? bson::Value(true) : bson::Value());
  return Status::Ok();
}

Result<Changes::OfIndex> PlanIndex(const Operation& operation,
                                   const store::CollectionInfo& collection, const Fields& fields,
                                   Duplicates duplicates, bson::Builder* reply) {
  const bson::View spec = *fields.index;
  IndexFields f;
  RETURN_IF_ERROR(request::ReadFields<IndexFields>("collMod.index", spec, false, kIndexRows, &f));
  if (f.hidden && NamesClustered(collection, f)) {
    return Status(6011800, "The 'hidden' option is not supported for the clustered index");
  }
  ASSIGN_OR_RETURN(const store::IndexInfo* index, FindIndex(collection, f));
  if (!f.expire_after && !f.hidden && !f.unique && !f.prepare_unique) {
    return Status(kInvalidOptions, "no expireAfterSeconds, hidden, unique, or prepareUnique field");
  }
  if (fields.dry_run && !f.unique) {
    return Status(kInvalidOptions, "'dryRun' needs an index to make unique");
  }
  if (index->is_id && !f.expire_after) {
    return Status(kBadValue, "can't hide or change the _id index");
  }
  bson::Document changed(index->spec.view());
  if (f.expire_after) {
    RETURN_IF_ERROR(SetExpireAfter(*index, *f.expire_after, &changed, reply));
  }
  if (f.hidden && *f.hidden != index->hidden) {
    reply->Append("hidden_old", index->hidden).Append("hidden_new", *f.hidden);
    changed = WithField(changed, "hidden", *f.hidden ? bson::Value(true) : bson::Value());
  }
  if (f.prepare_unique) {
    RETURN_IF_ERROR(SetPrepareUnique(*index, f, &changed, reply));
  }
  if (f.unique) {
    RETURN_IF_ERROR(SetUnique(operation, collection, *index, f, duplicates, &changed, reply));
  }
  bson::Builder logged;
  logged.BeginDocument("index").Append("name", index->name);
  for (const bson::Element& e : spec) {
    if (e.name() == "expireAfterSeconds") {
      logged.Append(e.name(), bson::ClampedInt64(e.value()));
    } else if (e.name() != "name" && e.name() != "keyPattern") {
      logged.Append(e);
    }
  }
  logged.End();
  return Changes::OfIndex{index->name, std::move(changed), logged.Finish()};
}

// The new lifetime of documents of a clustered collection; missing: they live for ever.
Result<bson::Value> ExpireAfter(const store::CollectionInfo& collection, const bson::Value& value) {
  if (!collection.clustered) {
    return Status(
        kInvalidOptions,
        "'expireAfterSeconds' is only supported on time-series and clustered collections");
  }
  if (value.is_string() && value.AsString() == "off") {
    return bson::Value();
  }
  if (!value.is_number()) {
    return Status(kInvalidOptions, "expireAfterSeconds must be a number or 'off'");
  }
  int64_t seconds = bson::ClampedInt64(value);
  RETURN_IF_ERROR(CheckExpireAfterSeconds(seconds));
  return bson::Value(seconds);
}

Status CheckCappedLimits(const Fields& f) {
  if (f.capped_size) {
    RETURN_IF_ERROR(CheckCappedSize("cappedSize", *f.capped_size));
  }
  if (f.capped_max && *f.capped_max > INT32_MAX) {
    return {kBadValue, "BSON field 'cappedMax' value must be < 2147483648, actual value '" +
                           std::to_string(*f.capped_max) + "'"};
  }
  return Status::Ok();
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
  if (!f.expire_after.missing()) {
    ASSIGN_OR_RETURN(bson::Value seconds, ExpireAfter(collection, f.expire_after));
    set("expireAfterSeconds", seconds);
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

// Checks the command, and appends what it will change.
Result<Changes> PlanCollMod(const Operation& operation, const std::string& ns, bson::View command,
                            Duplicates duplicates, bson::Builder* reply) {
  Fields f;
  RETURN_IF_ERROR(request::ReadFields<Fields>("collMod", command, true, kRows, &f));
  if (f.validator) {
    RETURN_IF_ERROR(CheckValidatable(ns));
  }
  store::CollectionPtr collection = operation.engine.catalog().Find(ns);
  if (collection == nullptr) {
    return Status(kNamespaceNotFound, "ns does not exist: " + ns);
  }
  if (f.time_series) {
    return Status(kInvalidOptions, "'timeseries' is an option of time-series collections: " + ns);
  }
  bool for_view = f.view_on || f.pipeline.present;
  if (collection->is_oplog && (f.capped_size || f.capped_max)) {
    return Status(
        kInvalidOptions,
        "Cannot resize the oplog using this command. Use the 'replSetResizeOplog' command "
        "instead.");
  }
  if (collection->is_view() && !collection->is_oplog &&
      (f.index || f.validator || f.validation_level || f.validation_action || f.capped_size ||
       f.capped_max || f.change_images)) {
    return Status(kInvalidOptions, "option not supported on a view");
  }
  if (!collection->is_view() && for_view) {
    return Status(kInvalidOptions, "'viewOn' and 'pipeline' are options of views");
  }
  if (f.view_on) {
    RETURN_IF_ERROR(CheckViewOn(collection->database, *f.view_on));
  }
  bson::Document pipeline;
  if (f.pipeline.present) {
    ASSIGN_OR_RETURN(pipeline, ViewPipeline(f.pipeline.view));
    f.pipeline.view = pipeline;
  }
  if (f.change_images) {
    RETURN_IF_ERROR(CheckChangeImages(*f.change_images));
  }
  if (for_view) {
    bson::Value present = collection->options["pipeline"];
    std::string source =
        collection->database + "." + std::string(f.view_on.value_or(collection->view_on));
    RETURN_IF_ERROR(CheckViewPipeline(operation, ns, source,
                                      f.pipeline.present   ? f.pipeline.view
                                      : present.is_array() ? present.AsArray()
                                                           : bson::View()));
  }
  if ((f.capped_size || f.capped_max) && !collection->capped) {
    return Status(kInvalidOptions, "Collection must be capped.");
  }
  RETURN_IF_ERROR(CheckCappedLimits(f));
  Changes changes;
  bson::Builder changed_index;
  if (f.index) {
    ASSIGN_OR_RETURN(changes.index,
                     PlanIndex(operation, *collection, f, duplicates, &changed_index));
    if (f.dry_run) {
      return Changes();
    }
    const bson::Document told = changed_index.Finish();
    reply->AppendFields(told);
  } else if (f.dry_run) {
    return Status(kInvalidOptions, "'dryRun' needs an index to make unique");
  }
  bool options_change = f.validator || f.validation_level || f.validation_action || for_view ||
                        f.capped_size || f.capped_max || f.change_images ||
                        !f.expire_after.missing();
  if (!options_change && (f.index || collection->is_view())) {
    return changes;
  }
  ASSIGN_OR_RETURN(bson::Document options, ChangedOptions(*collection, f));
  RETURN_IF_ERROR(
      store::CheckDefinitionRoom(options.bytes().size(), collection->options.bytes().size()));
  bson::Builder logged;
  for (const bson::Element& e : command) {
    if (e.name() != "collMod" && e.name() != "index" && !request::IsGenericField(e.name())) {
      logged.Append(e);
    }
  }
  changes.options = Changes::OfOptions{std::move(options), logged.Finish()};
  return changes;
}

}  // namespace

Status CheckCappedSize(std::string_view field, int64_t bytes) {
  constexpr int64_t kMostBytes = int64_t{1} << 50;
  if (bytes >= 1 && bytes <= kMostBytes) {
    return Status::Ok();
  }
  return {kBadValue, "BSON field '" + std::string(field) + "' value must be " +
                         (bytes < 1 ? ">= 1" : "<= " + std::to_string(kMostBytes)) +
                         ", actual value '" + std::to_string(bytes) + "'"};
}

Status CheckExpireAfterSeconds(int64_t seconds) {
  int64_t now = std::chrono::duration_cast<std::chrono::seconds>(
                    std::chrono::system_clock::now().time_since_epoch())
                    .count();
  if (seconds < 0) {
    return {kInvalidOptions, "TTL index 'expireAfterSeconds' option cannot be less than 0"};
  }
  if (seconds > now) {
    return {kInvalidOptions,
            "TTL index 'expireAfterSeconds' option must be within an acceptable range: it is "
            "earlier than the epoch"};
  }
  return Status::Ok();
}

Result<ViewChange> ReadViewChange(bson::View command) {
  Fields f;
  RETURN_IF_ERROR(request::ReadFields<Fields>("collMod", command, true, kRows, &f));
  return ViewChange{f.view_on, f.pipeline};
}

Status CollMod(const Operation& operation, const std::string& ns, bson::View command,
               bson::Builder* reply) {
  ASSIGN_OR_RETURN(const Changes changes,
                   PlanCollMod(operation, ns, command, Duplicates::kLookFor, reply));
  store::Catalog& catalog = operation.engine.catalog();
  if (changes.index) {
    RETURN_IF_ERROR(catalog.SetIndexSpec(ns, changes.index->name, changes.index->spec,
                                         changes.index->logged, operation.durability));
  }
  return changes.options ? catalog.SetOptions(ns, changes.options->options, changes.options->logged,
                                              operation.durability)
                         : Status::Ok();
}

Status CheckCollMod(const Operation& operation, const std::string& ns, bson::View command) {
  bson::Builder unused;
  return PlanCollMod(operation, ns, command, Duplicates::kLeave, &unused).status();
}

}  // namespace quire::engine
