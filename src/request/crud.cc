// SPDX-License-Identifier: Apache-2.0
#include "request/crud.h"

#include <algorithm>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/number.h"

namespace quire::request {

namespace {

using R = FindRequest;

constexpr FieldRow<R> kFindRows[] = {
    NotNull(Field<&R::filter>("filter")),
    Field<&R::sort>("sort"),
    Field<&R::projection>("projection"),
    FieldBy<&R::hint, ReadHint>("hint"),
    Field<&R::skip>("skip"),
    Field<&R::limit>("limit"),
    Field<&R::batch_size>("batchSize"),
    StrictBool<&R::single_batch>("singleBatch"),
    Field<&R::max>("max"),
    Field<&R::min>("min"),
    StrictBool<&R::return_key>("returnKey"),
    StrictBool<&R::show_record_id>("showRecordId"),
    StrictBool<&R::tailable>("tailable"),
    StrictBool<&R::await_data>("awaitData"),
    StrictBool<&R::no_cursor_timeout>("noCursorTimeout"),
    StrictBool<&R::allow_disk_use>("allowDiskUse"),
    StrictBool<&R::allow_partial_results>("allowPartialResults"),
    StrictBool<&R::oplog_replay>("oplogReplay"),
    Field<&R::collation>("collation"),
    Field<&R::let>("let"),
};

constexpr FieldRow<CountRequest> kCountRows[] = {
    Field<&CountRequest::query>("query"),
    NotNull(FieldBy<&CountRequest::limit, ReadCountLimit>("limit")),
    Field<&CountRequest::skip>("skip"),
    NotNull(FieldBy<&CountRequest::hint, ReadHint>("hint")),
    Ignored<CountRequest>("fields"),
    Field<&CountRequest::collation>("collation"),
};

constexpr FieldRow<DistinctRequest> kDistinctRows[] = {
    Field<&DistinctRequest::key>("key", Need::kRequired),
    Field<&DistinctRequest::query>("query"),
    NotNull(FieldBy<&DistinctRequest::hint, ReadHint>("hint")),
    Field<&DistinctRequest::collation>("collation"),
};

Status ReadLong(std::string_view command, const bson::Element& e, int64_t* out) {
  if (e.type() != bson::Type::kInt64) {
    return WrongType(command, e, "long");
  }
  *out = e.value().AsInt64();
  return Status::Ok();
}

constexpr FieldRow<GetMoreRequest> kGetMoreRows[] = {
    Field<&GetMoreRequest::collection>("collection", Need::kRequired),
    Field<&GetMoreRequest::batch_size>("batchSize"),
    FieldBy<&GetMoreRequest::term, ReadLong>("term"),
    Ignored<GetMoreRequest>("lastKnownCommittedOpTime"),
};

struct WriteFields {
  ArrayArgument statements;
  bool ordered = true;
  bool bypass_validation = false;
  bool keep_empty_timestamps = false;
  bson::View let;
};

constexpr FieldRow<WriteFields> kInsertRows[] = {
    Field<&WriteFields::statements>("documents"),
    StrictBool<&WriteFields::ordered>("ordered"),
    Field<&WriteFields::bypass_validation>("bypassDocumentValidation"),
    StrictBool<&WriteFields::keep_empty_timestamps>("bypassEmptyTsReplacement"),
};
constexpr FieldRow<WriteFields> kUpdateRows[] = {
    Field<&WriteFields::statements>("updates"),
    StrictBool<&WriteFields::ordered>("ordered"),
    Field<&WriteFields::bypass_validation>("bypassDocumentValidation"),
    StrictBool<&WriteFields::keep_empty_timestamps>("bypassEmptyTsReplacement"),
    Field<&WriteFields::let>("let"),
};
constexpr FieldRow<WriteFields> kDeleteRows[] = {
    Field<&WriteFields::statements>("deletes"),
    StrictBool<&WriteFields::ordered>("ordered"),
    StrictBool<&WriteFields::keep_empty_timestamps>("bypassEmptyTsReplacement"),
    Field<&WriteFields::let>("let"),
};

constexpr FieldRow<UpdateStatement> kUpdateStatementRows[] = {
    Field<&UpdateStatement::q>("q", Need::kRequired),
    Field<&UpdateStatement::u>("u", Need::kRequired),
    Field<&UpdateStatement::constants>("c"),
    StrictBool<&UpdateStatement::upsert>("upsert"),
    StrictBool<&UpdateStatement::multi>("multi"),
    Field<&UpdateStatement::collation>("collation"),
    Field<&UpdateStatement::array_filters>("arrayFilters"),
    NotNull(FieldBy<&UpdateStatement::hint, ReadHint>("hint")),
    Field<&UpdateStatement::sort>("sort"),
};

constexpr FieldRow<DeleteStatement> kDeleteStatementRows[] = {
    Field<&DeleteStatement::q>("q", Need::kRequired),
    Field<&DeleteStatement::limit>("limit", Need::kRequired),
    Field<&DeleteStatement::collation>("collation"),
    NotNull(FieldBy<&DeleteStatement::hint, ReadHint>("hint")),
};

using F = FindAndModifyRequest;
constexpr FieldRow<F> kFindAndModifyRows[] = {
    Field<&F::query>("query"),
    Field<&F::sort>("sort"),
    Field<&F::fields>("fields"),
    Field<&F::remove>("remove"),
    Field<&F::update>("update"),
    Field<&F::return_new>("new"),
    Field<&F::upsert>("upsert"),
    Field<&F::bypass_validation>("bypassDocumentValidation"),
    StrictBool<&F::keep_empty_timestamps>("bypassEmptyTsReplacement"),
    Field<&F::collation>("collation"),
    Field<&F::array_filters>("arrayFilters"),
    NotNull(FieldBy<&F::hint, ReadHint>("hint")),
    Field<&F::let>("let"),
};

struct CursorOption {
  std::optional<int64_t> batch_size;
};
constexpr FieldRow<CursorOption> kCursorOptionRows[] = {
    Field<&CursorOption::batch_size>("batchSize"),
};

struct AggregateFields {
  ArrayArgument pipeline;
  bool explain = false;
  std::optional<bson::View> cursor;
  bool allow_disk_use = true;
  bson::View collation;
  bson::Value hint;
  bson::View let;
  bool bypass_validation = false;
};
using A = AggregateFields;
constexpr FieldRow<A> kAggregateRows[] = {
    NotNull(Field<&A::pipeline>("pipeline", Need::kRequired)),
    NotNull(StrictBool<&A::explain>("explain")),
    NotNull(Field<&A::cursor>("cursor")),
    NotNull(StrictBool<&A::allow_disk_use>("allowDiskUse")),
    Field<&A::collation>("collation"),
    NotNull(FieldBy<&A::hint, ReadHint>("hint")),
    Field<&A::let>("let"),
    Field<&A::bypass_validation>("bypassDocumentValidation"),
};

Status NegativeValue(std::string_view field, int64_t value) {
  return {kBadValue, "BSON field '" + std::string(field) + "' value must be >= 0, actual value '" +
                         std::to_string(value) + "'"};
}

Status CheckNotNegative(std::string_view field, int64_t value) {
  return value < 0 ? NegativeValue(field, value) : Status::Ok();
}

// The statements of a write: from the body's array or from the document sequence of that name.
Result<std::vector<bson::View>> Statements(std::string_view command, std::string_view name,
                                           const ArrayArgument& argument,
                                           const std::vector<Sequence>& sequences) {
  ASSIGN_OR_RETURN(auto out, ArrayOrSequence(command, name, argument, sequences));
  RETURN_IF_ERROR(CheckBatchSize(out.size()));
  return out;
}

template <typename Statement>
struct WriteForm {
  std::string_view command;
  std::string_view statements;
  std::span<const FieldRow<WriteFields>> rows;
  std::span<const FieldRow<Statement>> statement_rows;
};

// The collection, the fields and the statements of an update or a delete.
template <typename Statement>
Result<WriteFields> ReadWrite(const WriteForm<Statement>& form, bson::View body,
                              const std::vector<Sequence>& sequences, std::string_view* collection,
                              std::vector<Statement>* out) {
  ASSIGN_OR_RETURN(*collection, CollectionName(form.command, body));
  WriteFields fields;
  RETURN_IF_ERROR(ReadFields<WriteFields>(form.command, body, true, form.rows, &fields));
  ASSIGN_OR_RETURN(auto statements,
                   Statements(form.command, form.statements, fields.statements, sequences));
  std::string place = std::string(form.command) + "." + std::string(form.statements);
  for (bson::View statement : statements) {
    Statement s;
    RETURN_IF_ERROR(ReadFields<Statement>(place, statement, false, form.statement_rows, &s));
    out->push_back(s);
  }
  return fields;
}

}  // namespace

Result<std::vector<bson::View>> ArrayOrSequence(std::string_view command, std::string_view name,
                                                const ArrayArgument& argument,
                                                const std::vector<Sequence>& sequences) {
  std::vector<bson::View> out;
  bool given = argument.present;
  for (const Sequence& sequence : sequences) {
    if (sequence.name == name) {
      if (given) {
        return Status(kIDLDuplicateField, "BSON field '" + std::string(command) + "." +
                                              std::string(name) + "' is a duplicate field");
      }
      given = true;
      out = sequence.documents;
    }
  }
  if (!given) {
    return MissingField(command, name);
  }
  if (argument.present) {
    size_t i = 0;
    for (const bson::Element& e : argument.view) {
      if (e.type() != bson::Type::kDocument) {
        return Status(kTypeMismatch,
                      "BSON field '" + std::string(command) + "." + std::string(name) + "." +
                          std::to_string(i) + "' is the wrong type '" +
                          std::string(bson::TypeName(e.type())) + "', expected type 'object'");
      }
      out.push_back(e.value().AsDocument());
      ++i;
    }
  }
  return out;
}

Status CheckBatchSize(size_t size) {
  constexpr size_t kMaxBatch = 100000;
  if (size == 0 || size > kMaxBatch) {
    return {kInvalidLength, "Write batch sizes must be between 1 and 100000. Got " +
                                std::to_string(size) + " operations."};
  }
  return Status::Ok();
}

Status CheckDatabaseName(std::string_view database) {
  constexpr size_t kLongest = 63;
  if (database.size() > kLongest) {
    return {kInvalidNamespace, "db name must be at most " + std::to_string(kLongest) +
                                   " characters, found: " + std::to_string(database.size())};
  }
  if (database.find('.') != std::string_view::npos) {
    return {kInvalidNamespace,
            "'.' is an invalid character in a db name: " + std::string(database)};
  }
  if (database.find('\0') != std::string_view::npos) {
    return {kInvalidNamespace, "database names cannot have embedded null characters"};
  }
  if (database.empty() || database.find_first_of("/\\ \"$") != std::string_view::npos) {
    return {kInvalidNamespace, "Invalid database name: '" + std::string(database) + "'"};
  }
  return Status::Ok();
}

Result<std::string_view> CollectionName(std::string_view command, bson::View body) {
  bson::Value value = body.front().value();
  constexpr uint8_t kUuid = 4;
  if (value.type() == bson::Type::kBinary && value.binary_subtype() == kUuid) {
    return Status(kNamespaceNotFound, "Unable to resolve a collection by its UUID");
  }
  if (!value.is_string() && value.type() != bson::Type::kSymbol) {
    return Status(kInvalidNamespace,
                  "collection name has invalid type " + std::string(bson::TypeName(value.type())));
  }
  if (value.AsString().empty()) {
    return Status(kInvalidNamespace,
                  "Invalid namespace specified for command '" + std::string(command) + "'");
  }
  return value.AsString();
}

Result<std::string> Namespace(std::string_view database, std::string_view collection) {
  RETURN_IF_ERROR(CheckDatabaseName(database));
  std::string ns = std::string(database) + "." + std::string(collection);
  if (ns.size() > kLongestNamespace) {
    return Status(kInvalidNamespace, "Fully qualified namespace is too long. Namespace: " + ns);
  }
  if (collection.empty() || collection.front() == '.' ||
      collection.find('\0') != std::string_view::npos) {
    return Status(kInvalidNamespace, "Invalid namespace specified '" + ns + "'");
  }
  return ns;
}

Result<std::string> ReadNamespace(std::string_view database, std::string_view collection) {
  ASSIGN_OR_RETURN(std::string ns, Namespace(database, collection));
  const bool own = collection.starts_with("$cmd.") || collection == "oplog.$main";
  if (!own && collection.find('$') != std::string_view::npos) {
    return Status(kInvalidNamespace, "Invalid namespace specified '" + ns + "'");
  }
  return ns;
}

namespace {

bool SameNames(bson::View a, bson::View b) {
  return std::equal(
      a.begin(), a.end(), b.begin(), b.end(),
      [](const bson::Element& x, const bson::Element& y) { return x.name() == y.name(); });
}

}  // namespace

Result<FindRequest> FindRequest::Parse(bson::View body) {
  FindRequest r;
  ASSIGN_OR_RETURN(r.collection, CollectionName("find", body));
  RETURN_IF_ERROR(ReadFields<R>("FindCommandRequest", body, true, kFindRows, &r));
  RETURN_IF_ERROR(CheckNotNegative("skip", r.skip));
  if (r.limit < 0) {
    return CheckNotNegative("limit", r.limit);
  }
  if (r.batch_size) {
    RETURN_IF_ERROR(CheckNotNegative("batchSize", *r.batch_size));
  }
  if (r.await_data && !r.tailable) {
    return Status(kFailedToParse, "Cannot set 'awaitData' without also setting 'tailable'");
  }
  if (r.tailable && r.single_batch) {
    return Status(kBadValue, "cannot use tailable option with the 'singleBatch' option");
  }
  if (!r.min.empty() && !r.max.empty() && !SameNames(r.min, r.max)) {
    return Status(51176, "min and max must have the same field names");
  }
  return r;
}

Result<CountRequest> CountRequest::Parse(bson::View body) {
  CountRequest r;
  ASSIGN_OR_RETURN(r.collection, CollectionName("count", body));
  RETURN_IF_ERROR(ReadFields<CountRequest>("CountCommandRequest", body, true, kCountRows, &r));
  if (r.skip < 0) {
    return NegativeValue("skip", r.skip);
  }
  r.limit = r.limit < 0 ? -r.limit : r.limit;
  r.names_limit = !body["limit"].nullish();
  return r;
}

Result<DistinctRequest> DistinctRequest::Parse(bson::View body) {
  DistinctRequest r;
  ASSIGN_OR_RETURN(r.collection, CollectionName("distinct", body));
  RETURN_IF_ERROR(
      ReadFields<DistinctRequest>("DistinctCommandRequest", body, true, kDistinctRows, &r));
  if (r.key.find('\0') != std::string_view::npos) {
    return Status(31032, "Key field cannot contain an embedded null byte");
  }
  return r;
}

Result<GetMoreRequest> GetMoreRequest::Parse(bson::View body) {
  GetMoreRequest r;
  bson::Element first = body.front();
  if (first.value().nullish()) {
    return MissingField("getMore", "getMore");
  }
  if (first.type() != bson::Type::kInt64) {
    return WrongType("getMore", first, "long");
  }
  r.cursor_id = first.value().AsInt64();
  RETURN_IF_ERROR(ReadFields<GetMoreRequest>("getMore", body, true, kGetMoreRows, &r));
  if (r.batch_size) {
    RETURN_IF_ERROR(CheckNotNegative("batchSize", *r.batch_size));
    if (*r.batch_size == 0) {
      r.batch_size.reset();
    }
  }
  return r;
}

Result<InsertRequest> InsertRequest::Parse(const Request& request) {
  InsertRequest r;
  ASSIGN_OR_RETURN(r.collection, CollectionName("insert", request.body));
  WriteFields fields;
  RETURN_IF_ERROR(ReadFields<WriteFields>("insert", request.body, true, kInsertRows, &fields));
  ASSIGN_OR_RETURN(r.documents,
                   Statements("insert", "documents", fields.statements, request.sequences));
  r.ordered = fields.ordered;
  r.bypass_validation = fields.bypass_validation;
  r.keep_empty_timestamps = fields.keep_empty_timestamps;
  return r;
}

Result<UpdateRequest> UpdateRequest::Parse(bson::View body,
                                           const std::vector<Sequence>& sequences) {
  UpdateRequest r;
  ASSIGN_OR_RETURN(WriteFields fields, ReadWrite<UpdateStatement>(
                                           {"update", "updates", kUpdateRows, kUpdateStatementRows},
                                           body, sequences, &r.collection, &r.updates));
  for (const UpdateStatement& s : r.updates) {
    if (!s.u.is_document() && !s.u.is_array()) {
      return Status(kFailedToParse, "Update argument must be either an object or an array");
    }
    if (s.multi && !s.sort.empty()) {
      return Status(kFailedToParse, "Cannot specify sort with multi=true");
    }
  }
  r.ordered = fields.ordered;
  r.bypass_validation = fields.bypass_validation;
  r.keep_empty_timestamps = fields.keep_empty_timestamps;
  r.let = fields.let;
  return r;
}

Result<DeleteRequest> DeleteRequest::Parse(bson::View body,
                                           const std::vector<Sequence>& sequences) {
  DeleteRequest r;
  ASSIGN_OR_RETURN(WriteFields fields, ReadWrite<DeleteStatement>(
                                           {"delete", "deletes", kDeleteRows, kDeleteStatementRows},
                                           body, sequences, &r.collection, &r.deletes));
  for (const DeleteStatement& s : r.deletes) {
    if (s.limit != 0 && s.limit != 1) {
      return Status(kFailedToParse, "The limit field in delete objects must be 0 or 1. Got " +
                                        std::to_string(s.limit));
    }
  }
  r.ordered = fields.ordered;
  r.let = fields.let;
  return r;
}

Result<FindAndModifyRequest> FindAndModifyRequest::Parse(bson::View body) {
  FindAndModifyRequest r;
  ASSIGN_OR_RETURN(r.collection, CollectionName("findAndModify", body));
  RETURN_IF_ERROR(ReadFields<F>("FindAndModifyCommandRequest", body, true, kFindAndModifyRows, &r));
  bool has_update = !r.update.missing();
  if (r.remove) {
    if (has_update) {
      return Status(kFailedToParse, "Cannot specify both an update and remove=true");
    }
    if (r.upsert) {
      return Status(kFailedToParse, "Cannot specify both upsert=true and remove=true");
    }
    if (r.return_new) {
      return Status(kFailedToParse,
                    "Cannot specify both new=true and remove=true; 'remove' always returns the "
                    "deleted document");
    }
    if (r.array_filters.present) {
      return Status(kFailedToParse, "Cannot specify arrayFilters and remove=true");
    }
  } else if (!has_update) {
    return Status(kFailedToParse, "Either an update or remove=true must be specified");
  } else if (!r.update.is_document() && !r.update.is_array()) {
    return Status(kFailedToParse, "Update argument must be either an object or an array");
  }
  return r;
}

Result<AggregateRequest> AggregateRequest::Parse(bson::View body) {
  AggregateRequest r;
  bson::Value target = body.front().value();
  if (!target.is_number()) {
    ASSIGN_OR_RETURN(r.collection, CollectionName("aggregate", body));
  } else if (bson::ToDouble(target) != 1) {
    return Status(kBadValue,
                  "Invalid command format: the 'aggregate' field must specify a collection name or "
                  "1");
  }
  AggregateFields fields;
  RETURN_IF_ERROR(ReadFields<A>("aggregate", body, true, kAggregateRows, &fields));
  for (const bson::Element& stage : fields.pipeline.view) {
    if (stage.type() != bson::Type::kDocument) {
      return Status(kTypeMismatch, "Each element of the 'pipeline' array must be an object");
    }
  }
  if (!fields.cursor && !fields.explain) {
    return Status(
        kFailedToParse,
        "The 'cursor' option is required, except for aggregate with the explain argument");
  }
  if (fields.cursor) {
    CursorOption option;
    RETURN_IF_ERROR(
        ReadFields<CursorOption>("cursor", *fields.cursor, false, kCursorOptionRows, &option));
    if (option.batch_size && *option.batch_size < 0) {
      return NegativeValue("batchSize", *option.batch_size);
    }
    r.batch_size = option.batch_size;
  }
  r.pipeline = fields.pipeline;
  r.explain = fields.explain;
  r.allow_disk_use = fields.allow_disk_use;
  r.collation = fields.collation;
  r.hint = fields.hint;
  r.let = fields.let;
  r.bypass_validation = fields.bypass_validation;
  return r;
}

}  // namespace quire::request
