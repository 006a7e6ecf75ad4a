// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "writer.h"

namespace quire::crash {
namespace {

constexpr size_t kMostDocuments = 250;  // of a writer: more deletes than inserts from there on

size_t PayloadSize(int64_t version) { return static_cast<size_t>(version * 7919 % 900); }

void AppendFields(bson_t* to, int64_t version) {
  BSON_APPEND_INT64(to, "version", version);
  BSON_APPEND_INT64(to, "a", version * 31 % 1000);
  bson_t tags;
  BSON_APPEND_ARRAY_BEGIN(to, "tags", &tags);
  BSON_APPEND_INT64(&tags, "0", version % 5);
  BSON_APPEND_INT64(&tags, "1", 100 + version % 7);
  bson_append_array_end(to, &tags);
  BSON_APPEND_UTF8(to, "payload", std::string(PayloadSize(version), 'p').c_str());
}

void AppendWriteConcern(bson_t* command, uint64_t random) {
  bson_t concern;
  BSON_APPEND_DOCUMENT_BEGIN(command, "writeConcern", &concern);
  if (random % 8 == 0) {
    BSON_APPEND_UTF8(&concern, "w", "majority");
  } else {
    BSON_APPEND_INT32(&concern, "w", 1);
    if (random % 8 == 1) {
      BSON_APPEND_BOOL(&concern, "j", true);
    }
  }
  bson_append_document_end(command, &concern);
}

// Errors on which a transaction may be tried again: write conflict, lock timeout, and a catalog
// that changed since its snapshot.
bool IsTransient(int code) { return code == 112 || code == 24 || code == 246; }

}  // namespace

Bson MakeDocument(int writer, const std::string& id, int64_t version) {
  Bson document(bson_new());
  BSON_APPEND_UTF8(document.get(), "_id", id.c_str());
  BSON_APPEND_INT32(document.get(), "writer", writer);
  BSON_APPEND_UTF8(document.get(), "unique", ("u" + id).c_str());
  AppendFields(document.get(), version);
  return document;
}

ReadBack ReadDocument(const bson_t* document) {
  ReadBack read;
  bson_iter_t it;
  if (bson_iter_init_find(&it, document, "_id") && BSON_ITER_HOLDS_UTF8(&it)) {
    read.id = bson_iter_utf8(&it, nullptr);
  }
  if (bson_iter_init_find(&it, document, "writer") && BSON_ITER_HOLDS_INT32(&it)) {
    read.writer = bson_iter_int32(&it);
  }
  if (bson_iter_init_find(&it, document, "version") && BSON_ITER_HOLDS_INT64(&it)) {
    read.version = bson_iter_int64(&it);
  }
  Bson expected = MakeDocument(read.writer, read.id, read.version);
  if (!bson_equal(document, expected.get())) {
    char* json = bson_as_relaxed_extended_json(document, nullptr);
    read.problem = std::string("not as any writer made it: ") + json;
    bson_free(json);
  }
  return read;
}

std::string DocumentWriter::NewId() {
  return "w" + std::to_string(number_) + "-" + std::to_string(++next_id_);
}

std::string DocumentWriter::AnyPresent() { return present_[random_() % present_.size()]; }

Outcome DocumentWriter::Finish(const std::vector<std::string>& ids,
                               const std::vector<int64_t>& versions, Outcome outcome,
                               const Connection& connection) {
  for (size_t i = 0; i < ids.size(); ++i) {
    if (outcome == Outcome::kAcknowledged) {
      ++acknowledged_;
      model_.Acknowledged(ids[i], versions[i]);
    } else if (outcome == Outcome::kRefused) {
      model_.Refused(ids[i], versions[i]);
    }
  }
  if (outcome == Outcome::kRefused) {
    problems_.push_back("a write was refused: " + connection.error());
  }
  return outcome;
}

Outcome DocumentWriter::InsertOne(Connection& connection) {
  const std::string id = NewId();
  const int64_t version = model_.NewVersion();
  Bson document = MakeDocument(number_, id, version);
  Bson command(BCON_NEW("insert", BCON_UTF8(kDocuments), "documents", "[",
                        BCON_DOCUMENT(document.get()), "]"));
  AppendWriteConcern(command.get(), random_());
  model_.Sent(id, version);
  Outcome outcome = Finish({id}, {version}, connection.Run(kDatabase, command.get()), connection);
  if (outcome == Outcome::kAcknowledged) {
    present_.push_back(id);
  }
  return outcome;
}

Outcome DocumentWriter::InsertMany(Connection& connection) {
  const size_t count = 2 + random_() % 30;
  Bson command(bson_new());
  BSON_APPEND_UTF8(command.get(), "insert", kDocuments);
  std::vector<std::string> ids;
  std::vector<int64_t> versions;
  bson_t documents;
  BSON_APPEND_ARRAY_BEGIN(command.get(), "documents", &documents);
  for (size_t i = 0; i < count; ++i) {
    ids.push_back(NewId());
    versions.push_back(model_.NewVersion());
    Bson document = MakeDocument(number_, ids.back(), versions.back());
    BSON_APPEND_DOCUMENT(&documents, std::to_string(i).c_str(), document.get());
    model_.Sent(ids.back(), versions.back());
  }
  bson_append_array_end(command.get(), &documents);
  AppendWriteConcern(command.get(), random_());
  Outcome outcome = Finish(ids, versions, connection.Run(kDatabase, command.get()), connection);
  if (outcome == Outcome::kAcknowledged) {
    present_.insert(present_.end(), ids.begin(), ids.end());
  } else if (outcome == Outcome::kUnknown) {
    model_.UnknownInOrder(ids);
  }
  return outcome;
}

Outcome DocumentWriter::UpdateOne(Connection& connection) {
  const std::string id = AnyPresent();
  const int64_t version = model_.NewVersion();
  Bson set(bson_new());
  AppendFields(set.get(), version);
  Bson command(BCON_NEW("update", BCON_UTF8(kDocuments), "updates", "[", "{", "q", "{", "_id",
                        BCON_UTF8(id.c_str()), "}", "u", "{", "$set", BCON_DOCUMENT(set.get()), "}",
                        "}", "]"));
  AppendWriteConcern(command.get(), random_());
  model_.Sent(id, version);
  return Finish({id}, {version}, connection.Run(kDatabase, command.get()), connection);
}

Outcome DocumentWriter::DeleteOne(Connection& connection) {
  const size_t at = random_() % present_.size();
  const std::string id = present_[at];
  present_[at] = present_.back();
  present_.pop_back();
  Bson command(BCON_NEW("delete", BCON_UTF8(kDocuments), "deletes", "[", "{", "q", "{", "_id",
                        BCON_UTF8(id.c_str()), "}", "limit", BCON_INT32(1), "}", "]"));
  AppendWriteConcern(command.get(), random_());
  model_.Sent(id, kAbsent);
  return Finish({id}, {kAbsent}, connection.Run(kDatabase, command.get()), connection);
}

// Two inserts in one transaction: both or neither.
Outcome DocumentWriter::Transaction(Connection& connection) {
  bson_error_t error{};
  mongoc_client_session_t* session =
      mongoc_client_start_session(connection.client(), nullptr, &error);
  if (!session || !mongoc_client_session_start_transaction(session, nullptr, &error)) {
    mongoc_client_session_destroy(session);
    return connection.Judge(error);
  }
  mongoc_collection_t* collection =
      mongoc_client_get_collection(connection.client(), kDatabase, kDocuments);
  Bson options(bson_new());
  bool ok = mongoc_client_session_append(session, options.get(), &error);
  std::vector<std::string> ids = {NewId(), NewId()};
  std::vector<int64_t> versions;
  for (const std::string& id : ids) {
    versions.push_back(model_.NewVersion());
    Bson document = MakeDocument(number_, id, versions.back());
    ok = ok &&
         mongoc_collection_insert_one(collection, document.get(), options.get(), nullptr, &error);
  }
  Outcome outcome = Outcome::kRefused;
  if (ok) {
    for (size_t i = 0; i < ids.size(); ++i) {
      model_.Sent(ids[i], versions[i]);
    }
    ok = mongoc_client_session_commit_transaction(session, nullptr, &error);
    outcome =
        Finish(ids, versions, ok ? Outcome::kAcknowledged : connection.Judge(error), connection);
  } else {
    outcome = connection.Judge(error);
    if (outcome == Outcome::kRefused && !IsTransient(connection.error_code())) {
      problems_.push_back("a transaction was refused: " + connection.error());
    }
    mongoc_client_session_abort_transaction(session, nullptr);
  }
  if (outcome == Outcome::kAcknowledged) {
    present_.insert(present_.end(), ids.begin(), ids.end());
  }
  mongoc_collection_destroy(collection);
  mongoc_client_session_destroy(session);
  return outcome;
}

void DocumentWriter::Run(const std::string& uri) {
  Connection connection(uri);
  present_ = model_.Present();
  Outcome outcome = Outcome::kAcknowledged;
  while (outcome != Outcome::kUnknown && problems_.empty()) {
    const uint64_t dice = random_() % 100;
    const bool few = present_.size() < 20;
    const bool many = present_.size() > kMostDocuments;
    if (few || (!many && dice < 25)) {
      outcome = dice % 2 ? InsertOne(connection) : InsertMany(connection);
    } else if (!many && dice < 35) {
      outcome = Transaction(connection);
    } else if (many || dice < 55) {
      outcome = DeleteOne(connection);
    } else {
      outcome = UpdateOne(connection);
    }
  }
}

}  // namespace quire::crash
