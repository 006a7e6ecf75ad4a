// SPDX-License-Identifier: Apache-2.0
#include "engine/statistics.h"

#include <sys/statvfs.h>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/compare.h"
#include "bson/decimal.h"
#include "bson/number.h"
#include "command/authorise.h"
#include "command/command.h"
#include "command/parsed_row.h"
#include "engine/read/read.h"
#include "engine/schema/schema.h"
#include "request/crud.h"
#include "store/records/fold.h"

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
  bool free_storage = false;
};
constexpr FieldRow<ScaleField> kScaleRows[] = {
    Field<&ScaleField::scale>("scale"),
    Ignored<ScaleField>("verbose"),
    Field<&ScaleField::free_storage>("freeStorage"),
};

Result<int64_t> ReadScale(Invocation& i, std::string_view command, bool* free_storage = nullptr) {
  ScaleField f;
  RETURN_IF_ERROR(request::ReadFields<ScaleField>(command, i.body(), true, kScaleRows, &f));
  if (free_storage != nullptr) {
    *free_storage = f.free_storage;
  }
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
    return Status(kBadValue, "BSON field 'scale' value must be >= 1, actual value '" +
                                 std::to_string(scale) + "'");
  }
  return scale;
}

Status RunCollStats(Invocation& i) {
  ASSIGN_OR_RETURN(auto name, request::CollectionName("collStats", i.body()));
  ASSIGN_OR_RETURN(std::string ns, request::Namespace(i.database(), name));
  ASSIGN_OR_RETURN(int64_t scale, ReadScale(i, "collStats"));
  i.call.summary.ns = ns;
  store::CollectionPtr info = i.engine.catalog().Find(ns);
  if (info != nullptr && info->is_view() && !info->is_oplog) {
    return {kCommandNotSupportedOnView, "Namespace " + ns + " is a view, not a collection"};
  }
  i.reply().Append("ns", ns);
  engine::AppendStorageStats(i.engine, info.get(), scale, &i.reply());
  return Status::Ok();
}

Status RunDbStats(Invocation& i) {
  RETURN_IF_ERROR(request::CheckDatabaseName(i.database()));
  bool free_storage = false;
  ASSIGN_OR_RETURN(int64_t scale, ReadScale(i, "dbStats", &free_storage));
  int64_t collections = 0;
  int64_t views = 0;
  int64_t objects = 0;
  int64_t bytes = 0;
  int64_t stored = 0;
  int64_t indexes = 0;
  int64_t index_bytes = 0;
  for (const auto& info : i.engine.catalog().snapshot()->InDatabase(i.database())) {
    if (info->is_oplog) {
      const engine::LogTotals totals = engine::LogTotalsOf(i.engine);
      ++collections;
      objects += totals.entries;
      bytes += totals.bytes;
      stored += static_cast<int64_t>(i.engine.log().ApproximateSize());
      continue;
    }
    if (info->is_view()) {
      collections += views == 0 ? 1 : 0;  // system.views, where MongoDB keeps them
      ++views;
      continue;
    }
    ++collections;
    objects += info->state->documents;
    bytes += info->state->bytes;
    stored += StoredBytes(i, info->table->id);
    indexes += engine::CountIndexes(*info);
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
  if (free_storage) {
    for (std::string_view field :
         {"freeStorageSize", "indexFreeStorageSize", "totalFreeStorageSize"}) {
      out.Append(field, 0.0);  // the store reuses nothing in place
    }
  }
  struct statvfs disk {};
  const std::string& path = i.commands.info().data_path;
  (void)statvfs(path.empty() ? "/" : path.c_str(), &disk);
  uint64_t block = disk.f_frsize;
  out.Append("fsUsedSize", scaled(static_cast<int64_t>(block * (disk.f_blocks - disk.f_bfree))))
      .Append("fsTotalSize", scaled(static_cast<int64_t>(block * disk.f_blocks)));
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

struct Sum {
  int64_t bytes = 0;
  int64_t documents = 0;
};

// The documents whose keys are from min to max, in the index of the pattern.
Result<Sum> SumRange(Invocation& i, const store::CollectionInfo& info, const DataSizeFields& f) {
  Sum sum;
  bool known = false;
  for (const auto& index : info.indexes) {
    known = known || (f.key_pattern && bson::Compare(bson::Value(index->key_pattern.view()),
                                                     bson::Value(*f.key_pattern)) == 0);
  }
  if (!known) {
    return Status(kOperationFailed, "couldn't find valid index containing key pattern");
  }
  if (bson::Compare(bson::Value(*f.min), bson::Value(*f.max)) >= 0) {
    return sum;
  }
  request::FindRequest find;
  find.hint = bson::Value(*f.key_pattern);
  find.min = *f.min;
  find.max = *f.max;
  ASSIGN_OR_RETURN(auto cursor, engine::Find(i.operation, info.ns(), find));
  exec::Row row;
  while (true) {
    ASSIGN_OR_RETURN(bool more, cursor->source->Next(i.op(), &row));
    if (!more) {
      return sum;
    }
    sum.bytes += static_cast<int64_t>(row.document.size());
    ++sum.documents;
  }
}

// The full name that the first field is.
Result<std::string_view> DataSizeTarget(Invocation& i) {
  bson::Element target = i.body().front();
  if (target.value().nullish()) {
    return request::MissingField("dataSize", "dataSize");
  }
  if (target.type() != bson::Type::kString) {
    return request::WrongType("dataSize", target, "string");
  }
  return target.value().AsString();
}

Status StateDataSize(Invocation& i, auth::Needs* needs) {
  ASSIGN_OR_RETURN(std::string_view ns, DataSizeTarget(i));
  needs->Add(Action::find, auth::OfNamespace(ns));
  return Status::Ok();
}

Status RunDataSize(Invocation& i) {
  ASSIGN_OR_RETURN(std::string_view ns, DataSizeTarget(i));
  DataSizeFields f;
  RETURN_IF_ERROR(
      request::ReadFields<DataSizeFields>("dataSize", i.body(), true, kDataSizeRows, &f));
  size_t dot = ns.find('.');
  if (dot == std::string_view::npos) {
    return {kInvalidNamespace, "Invalid namespace specified '" + std::string(ns) + "'"};
  }
  RETURN_IF_ERROR(request::Namespace(ns.substr(0, dot), ns.substr(dot + 1)).status());
  if (f.min.has_value() != f.max.has_value()) {
    return {kBadValue, "only one of min or max specified"};
  }
  store::CollectionPtr info = i.engine.catalog().Find(ns);
  if (info != nullptr && info->is_view() && !info->is_oplog) {
    return {kCommandNotSupportedOnView, "Namespace " + std::string(ns) + " is a view"};
  }
  Sum sum;
  if (info != nullptr && f.min) {
    ASSIGN_OR_RETURN(sum, SumRange(i, *info, f));
  } else if (info != nullptr && info->is_oplog) {
    const engine::LogTotals totals = engine::LogTotalsOf(i.engine);
    sum = {totals.bytes, totals.entries};
  } else if (info != nullptr) {
    sum = {info->state->bytes.load(), info->state->documents.load()};
  }
  i.reply()
      .Append("estimate", f.estimate)
      .Append("size", sum.bytes)
      .Append("numObjects", sum.documents)
      .Append("millis", int64_t{0});
  return Status::Ok();
}

struct CompactFields {
  bool force = false;  // it may always run beside reads and writes
  bool dry_run = false;
  std::optional<int64_t> target_mb;
};
constexpr FieldRow<CompactFields> kCompactRows[] = {
    request::StrictBool<&CompactFields::force>("force"),
    request::StrictBool<&CompactFields::dry_run>("dryRun"),
    Field<&CompactFields::target_mb>("freeSpaceTargetMB"),
};

// What can be given back. Less than a megabyte is not told of: MongoDB leaves it as it is.
int64_t Freed(int64_t bytes) { return bytes < (1 << 20) ? 0 : bytes; }

Status CompactOplog(Invocation& i, bool dry_run) {
  const uint64_t before = i.engine.log().StoredSize();
  if (dry_run) {
    const uint64_t used = i.engine.log().ApproximateSize();
    AppendInteger(&i.reply(), "estimatedBytesFreed",
                  Freed(static_cast<int64_t>(before - std::min(used, before))));
    return Status::Ok();
  }
  RETURN_IF_ERROR(i.engine.log().Compact());
  const uint64_t after = std::min(i.engine.log().StoredSize(), before);
  AppendInteger(&i.reply(), "bytesFreed", Freed(static_cast<int64_t>(before - after)));
  return Status::Ok();
}

Status RunCompact(Invocation& i) {
  ASSIGN_OR_RETURN(auto name, request::CollectionName("compact", i.body()));
  ASSIGN_OR_RETURN(std::string ns, request::Namespace(i.database(), name));
  CompactFields f;
  RETURN_IF_ERROR(request::ReadFields<CompactFields>("compact", i.body(), true, kCompactRows, &f));
  if (f.target_mb && *f.target_mb < 1) {
    return {kBadValue, "BSON field 'freeSpaceTargetMB' value must be >= 1, actual value '" +
                           std::to_string(*f.target_mb) + "'"};
  }
  store::CollectionPtr info = i.engine.catalog().Find(ns);
  if (info == nullptr) {
    return {kNamespaceNotFound, "collection does not exist"};
  }
  if (info->is_oplog) {
    return CompactOplog(i, f.dry_run);
  }
  if (info->is_view()) {
    return {kCommandNotSupportedOnView, "can't compact a view"};
  }
  int64_t before = StoredBytes(i, info->table->id);
  int64_t unused = std::max<int64_t>(before - info->state->bytes.load(), 0);
  if (f.dry_run) {
    AppendInteger(&i.reply(), "estimatedBytesFreed", Freed(unused));
    return Status::Ok();
  }
  if (f.target_mb && unused < (*f.target_mb << 20)) {
    i.reply().Append("bytesFreed", 0);
    return Status::Ok();
  }
  auto moved = [&](store::RecordId) { return i.op().CheckInterruptNow().ok(); };
  RETURN_IF_ERROR(store::FoldAll(i.engine.store(), i.engine.log(), *info, 0, moved).status());
  RETURN_IF_ERROR(i.op().CheckInterruptNow());
  RETURN_IF_ERROR(i.engine.store().Compact(store::TableRange(info->table->id)));
  for (const auto& index : info->indexes) {
    RETURN_IF_ERROR(i.engine.store().Compact(store::TableRange(index->table->id)));
  }
  int64_t after = StoredBytes(i, info->table->id);
  AppendInteger(&i.reply(), "bytesFreed", Freed(before - after));
  return Status::Ok();
}

Result<int64_t> CappedBytes(const bson::Value& size) {
  constexpr int64_t kMostBytes = int64_t{1} << 50;
  int64_t bytes = 0;
  if (size.type() == bson::Type::kDecimal128) {
    using bson::decimal::Rounding;
    bytes = bson::decimal::ToInt64(size.AsDecimal(), Rounding::kNearestEven)
                .value_or(bson::ClampedInt64(size));
  } else if (size.is_number()) {
    bytes = bson::ClampedInt64(size);
  }
  if (bytes <= 0) {
    return Status(kInvalidOptions, "Capped collection size must be greater than zero");
  }
  if (bytes > kMostBytes) {
    return Status(kBadValue, "a capped collection cannot be larger than 1 PB");
  }
  return bytes;
}

Status RunConvertToCapped(Invocation& i) {
  ASSIGN_OR_RETURN(auto name, request::CollectionName("convertToCapped", i.body()));
  ASSIGN_OR_RETURN(std::string ns, request::Namespace(i.database(), name));
  ASSIGN_OR_RETURN(int64_t bytes, CappedBytes(i.body()["size"]));
  if (name == "system.views") {
    return {kBadValue, "system.views cannot be made capped"};
  }
  return engine::ConvertToCapped(i.operation, ns, bytes);
}

// The name of a collection that must be given as a string; `too_long` is the error for one that is.
Result<std::string> NamedBy(Invocation& i, const bson::Value& name, int too_long) {
  if (!name.is_string()) {
    return Status(kTypeMismatch, "cloneCollectionAsCapped takes names of collections, not " +
                                     std::string(bson::TypeName(name.type())));
  }
  if (name.AsString().find('$') != std::string_view::npos) {
    return Status(kInvalidNamespace, "Invalid collection name: " + std::string(name.AsString()));
  }
  auto ns = request::Namespace(i.database(), name.AsString());
  const size_t bytes = i.database().size() + 1 + name.AsString().size();
  return bytes > request::kLongestNamespace ? Status(too_long, ns.status().message()) : ns;
}

struct CloneRequest {
  std::string from;
  std::string to;
  int64_t bytes = 0;
};

Result<CloneRequest> ParseCloneAsCapped(Invocation& i) {
  CloneRequest request;
  ASSIGN_OR_RETURN(request.from, NamedBy(i, i.body().front().value(), kNamespaceNotFound));
  ASSIGN_OR_RETURN(request.to, NamedBy(i, i.body()["toCollection"], kInvalidNamespace));
  ASSIGN_OR_RETURN(request.bytes, CappedBytes(i.body()["size"]));
  return request;
}

Status StateCloneAsCapped(Invocation& /*i*/, const CloneRequest& request, auth::Needs* needs) {
  const auth::Resource to = auth::OfNamespace(request.to);
  needs->Add(Action::find, auth::OfNamespace(request.from));
  needs->Add(Action::insert, to);
  needs->Add(Action::convertToCapped, to);
  return Status::Ok();
}

Status RunCloneAsCapped(Invocation& i, const CloneRequest& request) {
  return engine::CloneAsCapped(i.operation, request.from, request.to, request.bytes);
}

}  // namespace

std::span<const Row> StatisticsRows() {
  using namespace request;  // NOLINT(google-build-using-namespace): the flags below
  static constexpr Row kRows[] = {
      {{"collStats", "collstats", kRead | kToShards, "counts and sizes of a collection"},
       RunCollStats,
       OnCollection(Action::collStats)},
      {{"dbStats", "dbstats", kRead | kToShards, "counts and sizes of a database"},
       RunDbStats,
       OnDatabase(Action::dbStats)},
      {{"dataSize", "datasize", kRead | kToShards, "bytes of a collection's documents"},
       RunDataSize,
       Stated(StateDataSize)},
      {{"convertToCapped", "", kWrite | kWriteConcern | kToPrimary, "makes a collection capped"},
       RunConvertToCapped,
       OnCollection(Action::convertToCapped)},
      ParsedRow<ParseCloneAsCapped, StateCloneAsCapped, RunCloneAsCapped>(
          {"cloneCollectionAsCapped", "", kWrite | kWriteConcern | kToPrimary,
           "copies into a capped collection"}),
      {{"compact", "", kRead | request::kOnEveryMember | kToShards,
        "gives unused space of a collection back"},
       RunCompact,
       OnCollection(Action::compact)},
  };
  return kRows;
}

}  // namespace quire::command
