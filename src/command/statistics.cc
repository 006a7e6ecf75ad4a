// SPDX-License-Identifier: Apache-2.0
#include "engine/statistics.h"

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/number.h"
#include "command/access.h"
#include "command/command.h"
#include "engine/schema.h"
#include "engine/validate.h"
#include "request/crud.h"

namespace quire::command {

namespace {

using request::Field;
using request::FieldRow;
using request::Ignored;

using engine::AppendInteger;

int64_t StoredBytes(Invocation& i, store::TableId table) {
  return engine::StoredBytes(i.engine, table);
}

struct ScaleField {
  bson::Value scale;
};
constexpr FieldRow<ScaleField> kScaleRows[] = {
    Field<&ScaleField::scale>("scale"),
    Ignored<ScaleField>("verbose"),
    Ignored<ScaleField>("freeStorage"),
};

Result<int64_t> ReadScale(Invocation& i, std::string_view command) {
  ScaleField f;
  RETURN_IF_ERROR(request::ReadFields<ScaleField>(command, i.body(), true, kScaleRows, &f));
  if (f.scale.missing()) {
    return int64_t{1};
  }
  if (!f.scale.is_number()) {
    return Status(kTypeMismatch, "BSON field '" + std::string(command) +
                                     ".scale' is the wrong type '" +
                                     std::string(bson::TypeName(f.scale.type())) +
                                     "', expected types '[long, int, decimal, double]'");
  }
  int64_t scale = bson::ClampedInt64(f.scale);
  if (scale < 1) {
    return Status(51024, "BSON field 'scale' value must be >= 1, actual value '" +
                             std::to_string(scale) + "'");
  }
  return scale;
}

Status RunCollStats(Invocation& i) {
  ASSIGN_OR_RETURN(auto name, request::CollectionName("collStats", i.body()));
  ASSIGN_OR_RETURN(std::string ns, request::Namespace(i.database(), name));
  ASSIGN_OR_RETURN(int64_t scale, ReadScale(i, "collStats"));
  store::CollectionPtr info = i.engine.catalog().Find(ns);
  if (info != nullptr && info->is_view()) {
    return {kCommandNotSupportedOnView, "Namespace " + ns + " is a view, not a collection"};
  }
  i.reply().Append("ns", ns);
  engine::AppendStorageStats(i.engine, info.get(), scale, &i.reply());
  return Status::Ok();
}

Status RunDbStats(Invocation& i) {
  RETURN_IF_ERROR(request::CheckDatabaseName(i.database()));
  ASSIGN_OR_RETURN(int64_t scale, ReadScale(i, "dbStats"));
  int64_t collections = 0;
  int64_t views = 0;
  int64_t objects = 0;
  int64_t bytes = 0;
  int64_t stored = 0;
  int64_t indexes = 0;
  int64_t index_bytes = 0;
  for (const auto& info : i.engine.catalog().snapshot()->InDatabase(i.database())) {
    if (info->is_view()) {
      ++views;
      continue;
    }
    ++collections;
    objects += info->state->documents;
    bytes += info->state->bytes;
    stored += StoredBytes(i, info->table->id);
    indexes += static_cast<int64_t>(info->indexes.size());
    for (const auto& index : info->indexes) {
      index_bytes += StoredBytes(i, index->table->id);
    }
  }
  auto scaled = [&](int64_t n) { return static_cast<double>(n) / static_cast<double>(scale); };
  bson::Builder& out = i.reply();
  out.Append("db", i.database());
  out.Append("collections", collections).Append("views", views).Append("objects", objects);
  out.Append("avgObjSize",
             objects ? static_cast<double>(bytes) / static_cast<double>(objects) : 0.0);
  out.Append("dataSize", scaled(bytes)).Append("storageSize", scaled(stored));
  out.Append("indexes", indexes).Append("indexSize", scaled(index_bytes));
  out.Append("totalSize", scaled(stored + index_bytes));
  out.Append("scaleFactor", scale);
  kv::StoreStats stats = i.engine.store().Stats();
  out.Append("fsUsedSize", scaled(static_cast<int64_t>(stats.disk_bytes)));
  return Status::Ok();
}

struct DataSizeFields {
  std::optional<bson::View> key_pattern;
  std::optional<bson::View> min;
  std::optional<bson::View> max;
  bool estimate = false;
};
constexpr FieldRow<DataSizeFields> kDataSizeRows[] = {
    Field<&DataSizeFields::key_pattern>("keyPattern"),
    Field<&DataSizeFields::min>("min"),
    Field<&DataSizeFields::max>("max"),
    Field<&DataSizeFields::estimate>("estimate"),
};

Status RunDataSize(Invocation& i) {
  bson::Element target = i.body().front();
  if (target.type() != bson::Type::kString) {
    return request::WrongType("dataSize", target, "string");
  }
  DataSizeFields f;
  RETURN_IF_ERROR(
      request::ReadFields<DataSizeFields>("dataSize", i.body(), true, kDataSizeRows, &f));
  if (f.min || f.max || f.key_pattern) {
    return {kNotImplemented, "dataSize of a key range is not supported"};
  }
  store::CollectionPtr info = i.engine.catalog().Find(target.value().AsString());
  int64_t bytes = info && !info->is_view() ? info->state->bytes.load() : 0;
  int64_t documents = info && !info->is_view() ? info->state->documents.load() : 0;
  i.reply().Append("estimate", f.estimate);
  AppendInteger(&i.reply(), "size", bytes);
  AppendInteger(&i.reply(), "numObjects", documents);
  i.reply().Append("millis", 0);
  return Status::Ok();
}

struct ValidateFields {
  bool full = false;
};
constexpr FieldRow<ValidateFields> kValidateRows[] = {
    Field<&ValidateFields::full>("full"),
    Ignored<ValidateFields>("background"),
    Ignored<ValidateFields>("metadata"),
    Ignored<ValidateFields>("checkBSONConformance"),
};

Status RunValidate(Invocation& i) {
  ASSIGN_OR_RETURN(auto name, request::CollectionName("validate", i.body()));
  ASSIGN_OR_RETURN(std::string ns, request::Namespace(i.database(), name));
  if (i.body().Has("repair")) {
    return {kInvalidOptions, "validate cannot repair: restore from a backup instead"};
  }
  ValidateFields f;
  RETURN_IF_ERROR(
      request::ReadFields<ValidateFields>("validate", i.body(), true, kValidateRows, &f));
  ASSIGN_OR_RETURN(auto result, engine::ValidateCollection(i.operation, ns));
  bson::Builder& out = i.reply();
  out.Append("ns", ns);
  AppendInteger(&out, "nInvalidDocuments", result.invalid_documents);
  out.Append("nNonCompliantDocuments", 0);
  AppendInteger(&out, "nrecords", result.records);
  AppendInteger(&out, "nIndexes", static_cast<int64_t>(result.keys_per_index.size()));
  out.BeginDocument("keysPerIndex");
  for (const auto& [index, keys] : result.keys_per_index) {
    AppendInteger(&out, index, keys);
  }
  out.End().BeginDocument("indexDetails");
  for (const auto& [index, keys] : result.keys_per_index) {
    out.BeginDocument(index).Append("valid", result.valid()).End();
  }
  out.End().Append("valid", result.valid()).Append("repaired", false);
  out.BeginArray("warnings").End().BeginArray("errors");
  for (const std::string& error : result.errors) {
    out.Push(error);
  }
  out.End();
  AppendInteger(&out, "missingIndexEntries", result.missing_keys);
  AppendInteger(&out, "extraIndexEntries", result.extra_keys);
  out.BeginArray("corruptRecords").End();
  return Status::Ok();
}

Status RunCompact(Invocation& i) {
  ASSIGN_OR_RETURN(auto name, request::CollectionName("compact", i.body()));
  ASSIGN_OR_RETURN(std::string ns, request::Namespace(i.database(), name));
  store::CollectionPtr info = i.engine.catalog().Find(ns);
  if (info == nullptr) {
    return {kNamespaceNotFound, "collection does not exist"};
  }
  if (info->is_view()) {
    return {kCommandNotSupportedOnView, "can't compact a view"};
  }
  int64_t before = StoredBytes(i, info->table->id);
  RETURN_IF_ERROR(i.engine.store().Compact(store::TableRange(info->table->id)));
  for (const auto& index : info->indexes) {
    RETURN_IF_ERROR(i.engine.store().Compact(store::TableRange(index->table->id)));
  }
  int64_t after = StoredBytes(i, info->table->id);
  AppendInteger(&i.reply(), "bytesFreed", before > after ? before - after : 0);
  return Status::Ok();
}

Status RunConvertToCapped(Invocation& i) {
  ASSIGN_OR_RETURN(auto name, request::CollectionName("convertToCapped", i.body()));
  ASSIGN_OR_RETURN(std::string ns, request::Namespace(i.database(), name));
  bson::Element size = i.body().Find("size");
  if (!size.present()) {
    return {kInvalidOptions, "Capped collection size must be greater than zero"};
  }
  int64_t bytes = 0;
  RETURN_IF_ERROR(request::ReadField("convertToCapped", size, &bytes));
  if (bytes <= 0) {
    return {kInvalidOptions, "Capped collection size must be greater than zero"};
  }
  return engine::ConvertToCapped(i.operation, ns, bytes);
}

// The name of a collection that must be given as a string.
Result<std::string> NamedBy(Invocation& i, const bson::Value& name) {
  if (!name.is_string()) {
    return Status(kTypeMismatch, "cloneCollectionAsCapped takes names of collections, not " +
                                     std::string(bson::TypeName(name.type())));
  }
  if (name.AsString().find('$') != std::string_view::npos) {
    return Status(kInvalidNamespace, "Invalid collection name: " + std::string(name.AsString()));
  }
  return request::Namespace(i.database(), name.AsString());
}

Status RunCloneAsCapped(Invocation& i) {
  constexpr int64_t kMostBytes = int64_t{1} << 50;
  ASSIGN_OR_RETURN(std::string from, NamedBy(i, i.body().front().value()));
  ASSIGN_OR_RETURN(std::string to, NamedBy(i, i.body()["toCollection"]));
  bson::Value size = i.body()["size"];
  int64_t bytes = size.is_number() && !bson::IsNan(size) ? bson::ClampedInt64(size) : 0;
  if (bytes <= 0) {
    return {kInvalidOptions, "invalid command spec: size must be a positive number"};
  }
  if (bytes > kMostBytes) {
    return {kBadValue, "a capped collection cannot be larger than 1 PB"};
  }
  return engine::CloneAsCapped(i.operation, from, to, bytes);
}

}  // namespace

std::span<const Row> StatisticsRows() {
  using namespace request;  // NOLINT(google-build-using-namespace): the flags below
  static constexpr Row kRows[] = {
      {{"collStats", "collstats", kRead, "counts and sizes of a collection"},
       RunCollStats,
       OnCollection(Action::collStats)},
      {{"dbStats", "dbstats", kRead, "counts and sizes of a database"},
       RunDbStats,
       OnDatabase(Action::dbStats)},
      {{"dataSize", "datasize", kRead, "bytes of a collection's documents"},
       RunDataSize,
       Checked(CheckDataSizeAccess)},
      {{"validate", "", kRead, "checks a collection against its indexes"},
       RunValidate,
       OnCollection(Action::validate)},
      {{"convertToCapped", "", kWrite | kWriteConcern, "makes a collection capped"},
       RunConvertToCapped,
       OnCollection(Action::convertToCapped)},
      {{"cloneCollectionAsCapped", "", kWrite | kWriteConcern, "copies into a capped collection"},
       RunCloneAsCapped,
       OnDatabase(Action::convertToCapped)},
      {{"compact", "", kRead, "gives unused space of a collection back"},
       RunCompact,
       OnCollection(Action::compact)},
  };
  return kRows;
}

}  // namespace quire::command
