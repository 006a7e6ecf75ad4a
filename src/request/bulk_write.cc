// SPDX-License-Identifier: Apache-2.0
#include "request/bulk_write.h"

#include "base/error_codes.h"
#include "base/try.h"

namespace quire::request {

namespace {

struct Fields {
  ArrayArgument ops;
  ArrayArgument ns_info;
  bool ordered = true;
  bool errors_only = false;
  bool bypass_validation = false;
  bool keep_empty_timestamps = false;
  bson::View let;
  std::optional<bson::View> cursor;
};
constexpr FieldRow<Fields> kRows[] = {
    Field<&Fields::ops>("ops"),
    Field<&Fields::ns_info>("nsInfo"),
    StrictBool<&Fields::ordered>("ordered"),
    StrictBool<&Fields::errors_only>("errorsOnly"),
    Field<&Fields::bypass_validation>("bypassDocumentValidation"),
    StrictBool<&Fields::keep_empty_timestamps>("bypassEmptyTsReplacement"),
    Field<&Fields::let>("let"),
    Field<&Fields::cursor>("cursor"),
};

struct CursorFields {
  std::optional<int64_t> batch_size;
};
constexpr FieldRow<CursorFields> kCursorRows[] = {
    Field<&CursorFields::batch_size>("batchSize"),
};

struct TargetFields {
  std::string_view ns;
  bson::Value collection_uuid;
  bson::View shard_version, database_version;  // shards have read them at the door
};
constexpr FieldRow<TargetFields> kTargetRows[] = {
    Field<&TargetFields::ns>("ns", Need::kRequired),
    FieldBy<&TargetFields::collection_uuid, ReadUuid>("collectionUUID"),
    Field<&TargetFields::shard_version>("shardVersion"),
    Field<&TargetFields::database_version>("databaseVersion"),
};

struct InsertFields {
  int64_t target = 0;
  bson::View document;
};
constexpr FieldRow<InsertFields> kInsertRows[] = {
    Field<&InsertFields::target>("insert", Need::kRequired),
    Field<&InsertFields::document>("document", Need::kRequired),
};

struct UpdateFields : UpdateStatement {
  int64_t target = 0;
};
using U = UpdateFields;
template <auto Member>
constexpr FieldRow<U> Inherited(std::string_view name, Need need = Need::kOptional) {
  return {name,
          [](std::string_view command, const bson::Element& e, U* out) {
            return ReadField(command, e, &(out->*Member));
          },
          need};
}
template <auto Member>
constexpr FieldRow<U> InheritedBool(std::string_view name) {
  return {name, [](std::string_view command, const bson::Element& e, U* out) {
            return ReadStrictBool(command, e, &(out->*Member));
          }};
}
constexpr FieldRow<U> kUpdateRows[] = {
    Inherited<&U::target>("update", Need::kRequired),
    Inherited<&U::q>("filter", Need::kRequired),
    Inherited<&U::u>("updateMods", Need::kRequired),
    InheritedBool<&U::multi>("multi"),
    InheritedBool<&U::upsert>("upsert"),
    Inherited<&U::array_filters>("arrayFilters"),
    Inherited<&U::hint>("hint"),
    Inherited<&U::constants>("constants"),
    Inherited<&U::collation>("collation"),
    Inherited<&U::sort>("sort"),
};

struct DeleteFields {
  int64_t target = 0;
  bson::View filter;
  bool multi = false;
  bson::Value hint;
  bson::View collation;
};
constexpr FieldRow<DeleteFields> kDeleteRows[] = {
    Field<&DeleteFields::target>("delete", Need::kRequired),
    Field<&DeleteFields::filter>("filter", Need::kRequired),
    StrictBool<&DeleteFields::multi>("multi"),
    Field<&DeleteFields::hint>("hint"),
    Field<&DeleteFields::collation>("collation"),
};

Status CheckHint(bson::View op) {
  bson::Element hint = op.Find("hint");
  if (hint.present() && !hint.value().is_string() && !hint.value().is_document()) {
    return {kFailedToParse, "Hint must be a string or an object"};
  }
  return Status::Ok();
}

Result<size_t> Target(int64_t index, const std::vector<BulkTarget>& targets) {
  if (index < 0 || index >= static_cast<int64_t>(targets.size())) {
    return Status(kBadValue,
                  "BulkWrite ops entry has an invalid nsInfo index: " + std::to_string(index));
  }
  return static_cast<size_t>(index);
}

Result<BulkOperation> ReadInsert(bson::View op, const std::vector<BulkTarget>& targets) {
  InsertFields f;
  RETURN_IF_ERROR(ReadFields<InsertFields>("BulkWriteInsertOp", op, false, kInsertRows, &f));
  BulkOperation out;
  ASSIGN_OR_RETURN(out.target, Target(f.target, targets));
  out.document = f.document;
  return out;
}

Result<BulkOperation> ReadUpdate(bson::View op, const std::vector<BulkTarget>& targets) {
  BulkOperation out;
  out.kind = BulkOperation::Kind::kUpdate;
  bson::Element mods = op.Find("updateMods");
  if (mods.present() && !mods.value().is_document() && !mods.value().is_array()) {
    return Status(kFailedToParse, "Update argument must be either an object or an array");
  }
  RETURN_IF_ERROR(CheckHint(op));
  UpdateFields f;
  RETURN_IF_ERROR(ReadFields<U>("BulkWriteUpdateOp", op, false, kUpdateRows, &f));
  if (f.multi && !f.sort.empty()) {
    return Status(kFailedToParse, "Cannot specify sort with multi=true");
  }
  ASSIGN_OR_RETURN(out.target, Target(f.target, targets));
  out.update = f;
  return out;
}

Result<BulkOperation> ReadDelete(bson::View op, const std::vector<BulkTarget>& targets) {
  BulkOperation out;
  out.kind = BulkOperation::Kind::kDelete;
  RETURN_IF_ERROR(CheckHint(op));
  DeleteFields f;
  RETURN_IF_ERROR(ReadFields<DeleteFields>("BulkWriteDeleteOp", op, false, kDeleteRows, &f));
  ASSIGN_OR_RETURN(out.target, Target(f.target, targets));
  out.remove = {f.filter, f.multi ? 0 : 1, f.collation, f.hint};
  return out;
}

Result<BulkOperation> ReadOperation(bson::View op, const std::vector<BulkTarget>& targets) {
  if (op.empty()) {
    return Status(kFailedToParse, "BulkWrite ops entry must not be empty");
  }
  std::string_view kind = op.front().name();
  if (kind == "insert") {
    return ReadInsert(op, targets);
  }
  if (kind == "update") {
    return ReadUpdate(op, targets);
  }
  if (kind == "delete") {
    return ReadDelete(op, targets);
  }
  return UnknownField("BulkWriteOps", kind);
}

Result<BulkTarget> ReadTarget(bson::View entry) {
  TargetFields f;
  RETURN_IF_ERROR(ReadFields<TargetFields>("NamespaceInfoEntry", entry, false, kTargetRows, &f));
  size_t dot = f.ns.find('.');
  if (dot == std::string_view::npos) {
    return Status(kInvalidNamespace,
                  "Invalid namespace specified for bulkWrite: '" + std::string(f.ns) + "'");
  }
  BulkTarget target;
  ASSIGN_OR_RETURN(target.ns, Namespace(f.ns.substr(0, dot), f.ns.substr(dot + 1)));
  target.collection_uuid = f.collection_uuid;
  return target;
}

}  // namespace

Result<BulkWriteRequest> BulkWriteRequest::Parse(const Request& request) {
  Fields fields;
  RETURN_IF_ERROR(ReadFields<Fields>("bulkWrite", request.body, true, kRows, &fields));
  BulkWriteRequest r;
  ASSIGN_OR_RETURN(auto targets,
                   ArrayOrSequence("bulkWrite", "nsInfo", fields.ns_info, request.sequences));
  for (bson::View entry : targets) {
    ASSIGN_OR_RETURN(BulkTarget target, ReadTarget(entry));
    r.targets.push_back(std::move(target));
  }
  ASSIGN_OR_RETURN(auto ops, ArrayOrSequence("bulkWrite", "ops", fields.ops, request.sequences));
  RETURN_IF_ERROR(CheckBatchSize(ops.size()));
  r.operations.reserve(ops.size());
  for (bson::View op : ops) {
    ASSIGN_OR_RETURN(BulkOperation operation, ReadOperation(op, r.targets));
    r.operations.push_back(operation);
  }
  if (fields.cursor) {
    CursorFields cursor;
    RETURN_IF_ERROR(
        ReadFields<CursorFields>("cursor", *fields.cursor, false, kCursorRows, &cursor));
    if (cursor.batch_size && *cursor.batch_size < 0) {
      return Status(kBadValue, "BSON field 'batchSize' value must be >= 0, actual value '" +
                                   std::to_string(*cursor.batch_size) + "'");
    }
    r.batch_size = cursor.batch_size;
  }
  r.ordered = fields.ordered;
  r.errors_only = fields.errors_only;
  r.bypass_validation = fields.bypass_validation;
  r.keep_empty_timestamps = fields.keep_empty_timestamps;
  r.let = fields.let;
  return r;
}

}  // namespace quire::request
