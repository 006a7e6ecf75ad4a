// SPDX-License-Identifier: Apache-2.0
//
// Collections and indexes as the entries of the catalog hold them.
#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/try.h"
#include "expr/agg/variable_name.h"
#include "store/catalog.h"
#include "store/keys/special_keys.h"
#include "store/log/change_meta.h"

namespace quire::store {

namespace {

int64_t NowMillis() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

int64_t NumberOr(const bson::Value& value, int64_t fallback) {
  switch (value.type()) {
    case bson::Type::kInt32:
    case bson::Type::kInt64:
      return value.AsInt64();
    case bson::Type::kDouble:
      return static_cast<int64_t>(value.AsDouble());
    default:
      return fallback;
  }
}

bool TrueOr(const bson::Value& value, bool fallback) {
  if (value.type() == bson::Type::kBool) {
    return value.AsBool();
  }
  return value.is_number() ? NumberOr(value, 0) != 0 : fallback;
}

}  // namespace

bson::Document Catalog::NewEntry(bson::View options, bson::View id_index_spec) {
  Uuid uuid = GenerateUuid();
  if (bson::Value given = options[kUuidOption]; given.type() == bson::Type::kBinary) {
    memcpy(uuid.data(), given.AsBinary().data(), std::min<size_t>(16, given.AsBinary().size()));
  }
  bson::Builder entry;
  entry.Append("uuid", bson::Value::Binary({reinterpret_cast<const char*>(uuid.data()), 16}, 4));
  bool is_view = options.Has("viewOn");
  entry.Append("table", static_cast<int64_t>(is_view ? 0 : NewTable()));
  entry.BeginDocument("options");
  for (const bson::Element& e : options) {
    if (e.name() != kUuidOption) {
      entry.Append(e);
    }
  }
  entry.End().BeginArray("indexes");
  if (!is_view && !id_index_spec.empty()) {
    entry.PushDocument()
        .Append("spec", id_index_spec)
        .Append("table", static_cast<int64_t>(NewTable()))
        .End();
  }
  entry.End();
  return entry.Finish();
}

Status Catalog::PutEntry(kv::Txn& txn, const CollectionInfo& info, ChangeBuffer* changes) {
  bson::Builder entry;
  entry.Append("uuid",
               bson::Value::Binary({reinterpret_cast<const char*>(info.uuid.data()), 16}, 4));
  entry.Append("table", static_cast<int64_t>(info.table ? info.table->id : 0));
  entry.Append("options", info.options);
  entry.BeginArray("indexes");
  for (const auto& index : info.indexes) {
    entry.PushDocument()
        .Append("spec", index->spec)
        .Append("table", static_cast<int64_t>(index->table->id));
    if (index->unique && index->keys_have_ids) {
      entry.Append("plain", true);
    }
    entry.End();
  }
  entry.End();
  return PutMeta(txn, MetaKey('C', info.ns()), std::move(entry).Finish().bytes(), changes);
}

Result<std::shared_ptr<CollectionInfo>> Catalog::ReadEntry(std::string_view ns, bson::View entry) {
  auto info = std::make_shared<CollectionInfo>();
  size_t dot = ns.find('.');
  info->database = ns.substr(0, dot);
  info->name = ns.substr(dot + 1);
  std::string_view uuid = entry["uuid"].AsBinary();
  memcpy(info->uuid.data(), uuid.data(), std::min(uuid.size(), info->uuid.size()));
  info->options = bson::Document(entry["options"].AsDocument());
  info->charge = DefinitionCharge(info->options.bytes().size());
  bson::View options = info->options.view();
  if (bson::Value view_on = options["viewOn"]; view_on.is_string()) {
    info->view_on = view_on.AsString();
  }
  if (bson::Value collation = options["collation"]; collation.is_document()) {
    ASSIGN_OR_RETURN(info->collator, expr::Collator::Parse(collation.AsDocument()));
    info->context.collator = info->collator.get();
  }
  info->clustered = options.Has("clusteredIndex");
  info->capped = TrueOr(options["capped"], false);
  info->capped_size = NumberOr(options["size"], 0);
  info->capped_max = NumberOr(options["max"], 0);
  if (bson::Value validator = options["validator"];
      validator.is_document() && !validator.AsDocument().empty()) {
    ASSIGN_OR_RETURN(info->validator,
                     expr::match::Filter::Parse(validator.AsDocument(), &info->context,
                                                expr::match::Allowed::InValidator()));
    info->validator_names_clock = expr::agg::NamesClock(validator);
  }
  if (bson::Value level = options["validationLevel"]; level.is_string()) {
    info->validate_existing_only_if_valid = level.AsString() == "moderate";
    if (level.AsString() == "off") {
      info->validator.reset();
    }
  }
  if (bson::Value action = options["validationAction"]; action.is_string()) {
    info->validate_warn = action.AsString() == "warn";
  }
  if (bson::Value images = options["changeStreamPreAndPostImages"]; images.is_document()) {
    info->keep_images = TrueOr(images.AsDocument()["enabled"], false);
  }
  SetLog(info.get());
  if (!info->view_on.empty()) {
    return info;
  }
  auto table = static_cast<TableId>(entry["table"].AsInt64());
  info->table = std::make_shared<TableGuard>(this, table);
  info->state = std::make_shared<CollectionState>(table);
  NoteTable(table);
  for (const bson::Element& e : entry["indexes"].AsArray()) {
    bson::View stored = e.value().AsDocument();
    auto index_table = static_cast<TableId>(stored["table"].AsInt64());
    ASSIGN_OR_RETURN(auto index, MakeIndex(stored["spec"].AsDocument(), index_table, *info));
    index->keys_have_ids = index->keys_have_ids || stored.Has("plain");
    info->indexes.push_back(std::move(index));
    NoteTable(index_table);
  }
  return info;
}

Result<std::shared_ptr<IndexInfo>> Catalog::MakeIndex(bson::View spec, TableId table,
                                                      const CollectionInfo& collection) {
  auto index = std::make_shared<IndexInfo>();
  index->spec = bson::Document(spec);
  index->charge = DefinitionCharge(spec.size());
  index->name = spec["name"].AsString();
  index->key_pattern = bson::Document(spec["key"].AsDocument());
  index->is_id = index->name == "_id_" || TrueOr(spec["clustered"], false);
  index->unique = index->is_id || TrueOr(spec["unique"], false);
  index->keys_have_ids = !index->unique;
  index->refuses_duplicates = index->unique || TrueOr(spec["prepareUnique"], false);
  index->sparse = TrueOr(spec["sparse"], false);
  index->hidden = TrueOr(spec["hidden"], false);
  if (bson::Value seconds = spec["expireAfterSeconds"]; seconds.is_number()) {
    index->expire_after_seconds = NumberOr(seconds, 0);
  }
  if (bson::Value collation = spec["collation"]; collation.is_document()) {
    ASSIGN_OR_RETURN(index->collator, expr::Collator::Parse(collation.AsDocument()));
  } else if (index->is_id) {
    index->collator = collection.collator;
  }
  index->context.collator = index->collator.get();
  bson::Value projection = spec["wildcardProjection"];
  index->keys = IndexKeySpec::FromPattern(
      index->key_pattern, projection.is_document() ? projection.AsDocument() : bson::View());
  index->keys.sparse = index->sparse;
  index->keys.collator = index->collator.get();
  index->keys.special = SpecialSpecOf(spec);
  if (bson::Value partial = spec["partialFilterExpression"]; partial.is_document()) {
    ASSIGN_OR_RETURN(index->partial_filter,
                     expr::match::Filter::Parse(partial.AsDocument(), &index->context));
  }
  index->table = std::make_shared<TableGuard>(this, table);
  index->state = std::make_shared<IndexState>();
  index->state->since_millis = NowMillis();
  return index;
}

}  // namespace quire::store
