// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/store.h"

#include <map>
#include <utility>

#include "base/try.h"
#include "patterns/doc.h"
#include "patterns/hooks.h"
#include "quire/error.h"
#include "quire/patterns/error.h"

namespace quire::patterns {

namespace {

constexpr int kResultTooLarge = 17419;

Status NotSent() { return Status(kHostUnreachable, "the write was not sent"); }
Status AnswerLost() { return Status(kHostUnreachable, "the answer was lost"); }

// An error of a write with the systems' name for it.
Status Named(const Status& status) {
  return status.code() == kBSONObjectTooLarge || status.code() == kResultTooLarge
             ? MakeError(Error::kDocumentTooLarge, status.message())
             : status;
}
template <typename T>
Result<T> Named(Result<T> result) {
  return result.ok() ? std::move(result) : Result<T>(Named(result.status()));
}

std::string IndexTitle(const IndexSpec& index) {
  return std::string(index.collection) + " " + std::string(index.keys);
}

// The name that drivers give an index: "host_1_time_-1".
std::string NameOf(const bson::Document& keys) {
  std::string name;
  for (const bson::Element& field : keys.view()) {
    const bson::Value kind = field.value();
    name += (name.empty() ? "" : "_") + std::string(field.name()) + "_" +
            (kind.is_string() ? std::string(kind.AsString()) : std::to_string(IntegerOf(kind)));
  }
  return name;
}

// As createIndexes takes it.
Result<bson::Document> SpecOf(const IndexSpec& index) {
  ASSIGN_OR_RETURN(bson::Document keys, bson::Document::FromJson(index.keys));
  bson::Builder spec;
  spec.Append("key", keys).Append("name", NameOf(keys));
  if (index.unique) {
    spec.Append("unique", true);
  }
  if (index.expire_after_seconds >= 0) {
    spec.Append("expireAfterSeconds", index.expire_after_seconds);
  }
  if (!index.options.empty()) {
    ASSIGN_OR_RETURN(bson::Document more, bson::Document::FromJson(index.options));
    spec.AppendFields(more);
  }
  return spec.Finish();
}

// Whether a text index has those fields; the server lists them by their weights.
bool SameTexts(bson::View weights, const bson::Document& keys) {
  size_t texts = 0;
  for (const bson::Element& field : keys.view()) {
    if (field.value().is_string() && field.value().AsString() == "text") {
      texts += 1;
      if (!weights.Has(field.name())) {
        return false;
      }
    }
  }
  return texts == weights.Count();
}

// Whether a listed index has the same fields in the same order and directions, is unique when that
// is asked, and lets documents expire when they should.
bool Serves(bson::View listed, const bson::Document& keys, const IndexSpec& wanted) {
  bson::Value found = listed["key"];
  const bool unique = listed["unique"].type() == bson::Type::kBool && listed["unique"].AsBool();
  const bson::Value expiry = listed["expireAfterSeconds"];
  const int64_t expires = expiry.is_number() ? IntegerOf(expiry) : -1;
  if (!found.is_document() || (wanted.unique && !unique) ||
      (wanted.expire_after_seconds >= 0 && expires != wanted.expire_after_seconds)) {
    return false;
  }
  if (bson::Value weights = listed["weights"]; weights.is_document()) {
    return SameTexts(weights.AsDocument(), keys);
  }
  return bson::ToJson(found.AsDocument()) == bson::ToJson(keys.view());
}

FaultHook::Fault BeforeWrite(const Seams& seams) {
  return seams.faults != nullptr ? seams.faults->BeforeWrite() : FaultHook::Fault::kNone;
}

// Sends a write past the fault hook.
template <typename Write>
auto Send(const Seams& seams, const Write& write) -> decltype(write()) {
  const FaultHook::Fault fault = BeforeWrite(seams);
  if (fault == FaultHook::Fault::kFailBefore) {
    return NotSent();
  }
  auto result = Named(write());
  if (fault == FaultHook::Fault::kLoseAnswer) {
    return AnswerLost();
  }
  return result;
}

}  // namespace

bool IsDuplicateKey(const Status& status) { return status.code() == kDuplicateKey; }

Store::Store(Client client, std::string_view database, const Seams& seams, const Concerns& concerns)
    : client_(std::move(client)),
      database_(client_.GetDatabase(database)),
      seams_(seams),
      concerns_(concerns) {}

Store Store::ForReports() const {
  Store reports = *this;
  reports.for_reports_ = true;
  return reports;
}

// A transaction's concern goes with its commit.
bson::Document Store::OfWrite(const bson::Document& concern) const {
  const bson::Document& wanted = concern.empty() ? concerns_.writes : concern;
  return wanted.empty() || session_ != nullptr ? bson::Document() : Doc("writeConcern", wanted);
}

bson::Document Store::OfRead(const bson::Document& extra) const {
  if (!for_reports_ || extra.view().Has("$readPreference")) {
    return extra;
  }
  const bson::Document preference = ToFields(concerns_.reports);
  bson::Builder fields;
  fields.AppendFields(extra).AppendFields(preference);
  return fields.Finish();
}

void Store::Ask(std::string_view collection, const bson::Document& filter,
                const FindOptions& options) const {
  if (seams_.queries != nullptr) {
    seams_.queries->Asks(Doc("find", collection, "filter", filter, "sort", options.sort, "skip",
                             options.skip, "limit", options.limit));
  }
}

Result<std::optional<bson::Document>> Store::FindOne(std::string_view collection,
                                                     const bson::Document& filter,
                                                     FindOptions options) const {
  options.session = session_;
  options.extra = OfRead(options.extra);
  options.limit = 1;
  Ask(collection, filter, options);
  return In(collection).FindOne(filter, options);
}

Result<std::vector<bson::Document>> Store::Find(std::string_view collection,
                                                const bson::Document& filter,
                                                FindOptions options) const {
  ASSIGN_OR_RETURN(Cursor cursor, Open(collection, filter, options));
  std::vector<bson::Document> found;
  while (cursor.Next()) {
    found.emplace_back(cursor.current());
  }
  RETURN_IF_ERROR(cursor.status());
  return found;
}

Result<Cursor> Store::Open(std::string_view collection, const bson::Document& filter,
                           FindOptions options) const {
  options.session = session_;
  options.extra = OfRead(options.extra);
  Ask(collection, filter, options);
  return In(collection).Find(filter, options);
}

Result<std::vector<bson::Document>> Store::Aggregate(std::string_view collection,
                                                     const Pipeline& pipeline,
                                                     const bson::Document& extra) const {
  if (seams_.queries != nullptr) {
    seams_.queries->Asks(
        Doc("aggregate", collection, "pipeline", ListOf(pipeline), "cursor", Doc()));
  }
  ASSIGN_OR_RETURN(
      Cursor cursor,
      In(collection).Aggregate(pipeline, {.session = session_, .extra = OfRead(extra)}));
  std::vector<bson::Document> found;
  while (cursor.Next()) {
    found.emplace_back(cursor.current());
  }
  RETURN_IF_ERROR(cursor.status());
  return found;
}

Result<int64_t> Store::Count(std::string_view collection, const bson::Document& filter) const {
  Ask(collection, filter, {});
  return In(collection).Count(filter, {.session = session_, .extra = OfRead({})});
}

Result<bson::Document> Store::Run(const bson::Document& command) const {
  return database_.RunCommand(command, {.session = session_});
}

Result<bson::Document> Store::RunWrite(const bson::Document& command) const {
  const bson::Document more = command.view().Has("writeConcern") ? bson::Document() : OfWrite();
  bson::Builder whole;
  whole.AppendFields(command).AppendFields(more);
  const bson::Document sent = whole.Finish();
  return Send(seams_, [&] { return Run(sent); });
}

Status Store::Insert(std::string_view collection, const bson::Document& document) const {
  const InsertOptions options{.session = session_, .extra = OfWrite()};
  return Send(seams_, [&] { return In(collection).InsertOne(document, options).status(); });
}

Result<bson::Document> Store::InsertBatch(std::string_view collection,
                                          const std::vector<bson::Document>& documents,
                                          bool ordered, const bson::Document& concern) const {
  const InsertOptions options{.ordered = ordered, .session = session_, .extra = OfWrite(concern)};
  return Send(seams_, [&]() -> Result<bson::Document> {
    auto inserted = In(collection).InsertMany(documents, options);
    if (inserted.ok()) {
      return Doc("n", inserted->inserted);
    }
    const std::string_view reply = inserted.status().extra();
    const bson::View said = reply.empty() ? bson::View() : bson::View(reply.data());
    if (said.Has("writeErrors") || said.Has("writeConcernError")) {
      return bson::Document(said);
    }
    return inserted.status();
  });
}

Result<int64_t> Store::UpdateOne(std::string_view collection, const bson::Document& filter,
                                 const bson::Document& update, bool upsert) const {
  Ask(collection, filter, {.limit = 1});
  const UpdateOptions options{.upsert = upsert, .session = session_, .extra = OfWrite()};
  return Send(seams_, [&]() -> Result<int64_t> {
    ASSIGN_OR_RETURN(UpdateResult result, In(collection).UpdateOne(filter, update.view(), options));
    return result.matched + (result.upserted_id.missing() ? 0 : 1);
  });
}

Result<int64_t> Store::UpdateMany(std::string_view collection, const bson::Document& filter,
                                  const bson::Document& update) const {
  Ask(collection, filter, {});
  return Send(seams_, [&]() -> Result<int64_t> {
    ASSIGN_OR_RETURN(
        UpdateResult result,
        In(collection)
            .UpdateMany(filter, update.view(), {.session = session_, .extra = OfWrite()}));
    return result.modified;
  });
}

Result<std::optional<bson::Document>> Store::FindAndUpdate(std::string_view collection,
                                                           const bson::Document& filter,
                                                           const bson::Document& update,
                                                           bool upsert) const {
  Ask(collection, filter, {.limit = 1});
  const FindAndModifyOptions options{
      .upsert = upsert, .return_new = true, .session = session_, .extra = OfWrite()};
  return Send(seams_, [&] { return In(collection).FindOneAndUpdate(filter, update, options); });
}

Result<int64_t> Store::DeleteOne(std::string_view collection, const bson::Document& filter) const {
  Ask(collection, filter, {.limit = 1});
  const DeleteOptions options{.session = session_, .extra = OfWrite()};
  return Send(seams_, [&] { return In(collection).DeleteOne(filter, options); });
}

Result<int64_t> Store::DeleteMany(std::string_view collection, const bson::Document& filter) const {
  Ask(collection, filter, {});
  const DeleteOptions options{.session = session_, .extra = OfWrite()};
  return Send(seams_, [&] { return In(collection).DeleteMany(filter, options); });
}

Status Store::Drop(std::string_view collection) const {
  return Send(seams_, [&] { return In(collection).Drop(); });
}

Status Store::DropDatabase() const {
  return Send(seams_, [&] { return database_.Drop(); });
}

Status Store::Transact(const std::function<Status(const Store&)>& body) const {
  ASSIGN_OR_RETURN(Session session, client_.StartSession());
  Store inside = *this;
  inside.session_ = &session;
  bool answer_lost = false;
  Status status = session.WithTransaction(
      [&]() -> Status {
        RETURN_IF_ERROR(body(inside));
        const FaultHook::Fault fault = BeforeWrite(seams_);
        answer_lost = fault == FaultHook::Fault::kLoseAnswer;
        return fault == FaultHook::Fault::kFailBefore ? NotSent() : Status::Ok();
      },
      {.read_concern = Doc("level", "snapshot"), .write_concern = Doc("w", "majority")});
  return status.ok() && answer_lost ? AnswerLost() : status;
}

// One command for all indexes of a collection.
Status Store::CreateIndexes(const std::vector<IndexSpec>& indexes) const {
  std::map<std::string_view, std::vector<const IndexSpec*>> by_collection;
  for (const IndexSpec& index : indexes) {
    by_collection[index.collection].push_back(&index);
  }
  for (const auto& [collection, wanted] : by_collection) {
    bson::Builder command;
    command.Append("createIndexes", collection).BeginArray("indexes");
    for (const IndexSpec* index : wanted) {
      ASSIGN_OR_RETURN(bson::Document spec, SpecOf(*index));
      command.Push(spec);
    }
    command.End();
    RETURN_IF_ERROR(Run(command.Finish()).status().WithPrefix(collection));
  }
  return Status::Ok();
}

Result<std::vector<std::string>> Store::MissingIndexes(
    const std::vector<IndexSpec>& indexes) const {
  std::vector<std::string> missing;
  for (const IndexSpec& index : indexes) {
    ASSIGN_OR_RETURN(bson::Document keys, bson::Document::FromJson(index.keys));
    bool found = false;
    auto listed = In(index.collection).ListIndexes();
    if (!listed.ok() && listed.status().code() != kNamespaceNotFound) {
      return listed.status();
    }
    while (listed.ok() && listed->Next()) {
      found = found || Serves(listed->current(), keys, index);
    }
    if (!found) {
      missing.push_back(IndexTitle(index));
    }
  }
  return missing;
}

}  // namespace quire::patterns
