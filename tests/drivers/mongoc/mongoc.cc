// SPDX-License-Identifier: Apache-2.0
//
// drivers_mongoc URI: libmongoc against a running server. The last line is `N passed, N failed`.
#include <mongoc/mongoc.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

namespace {

struct Freer {
  void operator()(bson_t* b) const { bson_destroy(b); }
  void operator()(mongoc_client_t* c) const { mongoc_client_destroy(c); }
  void operator()(mongoc_collection_t* c) const { mongoc_collection_destroy(c); }
  void operator()(mongoc_database_t* d) const { mongoc_database_destroy(d); }
  void operator()(mongoc_cursor_t* c) const { mongoc_cursor_destroy(c); }
  void operator()(mongoc_bulk_operation_t* b) const { mongoc_bulk_operation_destroy(b); }
  void operator()(mongoc_client_session_t* s) const { mongoc_client_session_destroy(s); }
};
template <typename T>
using Ptr = std::unique_ptr<T, Freer>;

Ptr<bson_t> Json(const char* text) {
  bson_error_t error;
  bson_t* out = bson_new_from_json(reinterpret_cast<const uint8_t*>(text), -1, &error);
  return Ptr<bson_t>(out != nullptr ? out : bson_new());
}

class Suite {
 public:
  explicit Suite(const char* uri) : client_(mongoc_client_new(uri)) {
    mongoc_client_set_error_api(client_.get(), MONGOC_ERROR_API_VERSION_2);
    things_.reset(mongoc_client_get_collection(client_.get(), "mongoc_test", "things"));
  }

  int Run() {
    Drop();
    Insert();
    FindInBatches();
    UpdateAndDelete();
    Bulk();
    DuplicateKey();
    Transaction();
    Aggregate();
    Drop();
    printf("%d passed, %d failed\n", passed_, failed_);
    return failed_ == 0 ? 0 : 1;
  }

 private:
  void Check(const char* what, bool ok, const bson_error_t* error = nullptr) {
    (ok ? passed_ : failed_) += 1;
    printf("%s %s%s%s\n", ok ? "ok  " : "FAIL", what, ok || error == nullptr ? "" : ": ",
           ok || error == nullptr ? "" : error->message);
  }

  void Drop() {
    Ptr<mongoc_database_t> database(mongoc_client_get_database(client_.get(), "mongoc_test"));
    bson_error_t error{};
    Check("drop database", mongoc_database_drop(database.get(), &error), &error);
  }

  void Insert() {
    bson_error_t error{};
    bool ok = true;
    for (int i = 0; i < 1000 && ok; ++i) {
      Ptr<bson_t> document(bson_new());
      BSON_APPEND_INT32(document.get(), "_id", i);
      BSON_APPEND_INT32(document.get(), "group", i % 10);
      ok = mongoc_collection_insert_one(things_.get(), document.get(), nullptr, nullptr, &error);
    }
    Check("insert one by one", ok, &error);
  }

  int64_t Count(const char* filter) {
    bson_error_t error{};
    return mongoc_collection_count_documents(things_.get(), Json(filter).get(), nullptr, nullptr,
                                             nullptr, &error);
  }

  void FindInBatches() {
    Ptr<mongoc_cursor_t> cursor(mongoc_collection_find_with_opts(
        things_.get(), Json("{}").get(), Json(R"({"batchSize": 33, "sort": {"_id": 1}})").get(),
        nullptr));
    const bson_t* document = nullptr;
    int expected = 0;
    bool ordered = true;
    while (mongoc_cursor_next(cursor.get(), &document)) {
      bson_iter_t at;
      ordered = ordered && bson_iter_init_find(&at, document, "_id") &&
                bson_iter_int32(&at) == expected++;
    }
    bson_error_t error{};
    Check("find in batches",
          ordered && expected == 1000 && !mongoc_cursor_error(cursor.get(), &error), &error);
  }

  void UpdateAndDelete() {
    bson_error_t error{};
    bool ok = mongoc_collection_update_many(things_.get(), Json(R"({"group": 3})").get(),
                                            Json(R"({"$set": {"seen": true}})").get(), nullptr,
                                            nullptr, &error);
    Check("update many", ok && Count(R"({"seen": true})") == 100, &error);
    ok = mongoc_collection_delete_many(things_.get(), Json(R"({"seen": true})").get(), nullptr,
                                       nullptr, &error);
    Check("delete many", ok && Count("{}") == 900, &error);
  }

  void Bulk() {
    Ptr<mongoc_bulk_operation_t> bulk(
        mongoc_collection_create_bulk_operation_with_opts(things_.get(), nullptr));
    for (int i = 2000; i < 2500; ++i) {
      Ptr<bson_t> document(bson_new());
      BSON_APPEND_INT32(document.get(), "_id", i);
      mongoc_bulk_operation_insert(bulk.get(), document.get());
    }
    mongoc_bulk_operation_remove(bulk.get(), Json(R"({"_id": {"$gte": 2400}})").get());
    bson_error_t error{};
    bool ok = mongoc_bulk_operation_execute(bulk.get(), nullptr, &error) != 0;
    Check("bulk", ok && Count(R"({"_id": {"$gte": 2000}})") == 400, &error);
  }

  void DuplicateKey() {
    bson_error_t error{};
    bool ok = mongoc_collection_insert_one(things_.get(), Json(R"({"_id": 1})").get(), nullptr,
                                           nullptr, &error);
    Check("duplicate key", !ok && error.code == 11000, &error);
  }

  void Transaction() {
    bson_error_t error{};
    Ptr<mongoc_client_session_t> session(
        mongoc_client_start_session(client_.get(), nullptr, &error));
    bool ok = session != nullptr &&
              mongoc_client_session_start_transaction(session.get(), nullptr, &error);
    Ptr<bson_t> options(bson_new());
    ok = ok && mongoc_client_session_append(session.get(), options.get(), &error) &&
         mongoc_collection_insert_one(things_.get(), Json(R"({"_id": "t"})").get(), options.get(),
                                      nullptr, &error);
    ok = ok && Count(R"({"_id": "t"})") == 0 &&
         mongoc_client_session_commit_transaction(session.get(), nullptr, &error) &&
         Count(R"({"_id": "t"})") == 1;
    Check("transaction", ok, &error);
  }

  void Aggregate() {
    Ptr<mongoc_cursor_t> cursor(
        mongoc_collection_aggregate(things_.get(), MONGOC_QUERY_NONE,
                                    Json(R"([{"$match": {"group": {"$gte": 0}}},
                 {"$group": {"_id": "$group", "n": {"$sum": 1}}}])")
                                        .get(),
                                    nullptr, nullptr));
    const bson_t* document = nullptr;
    int groups = 0;
    while (mongoc_cursor_next(cursor.get(), &document)) {
      ++groups;
    }
    bson_error_t error{};
    Check("aggregate", groups == 9 && !mongoc_cursor_error(cursor.get(), &error), &error);
  }

  Ptr<mongoc_client_t> client_;
  Ptr<mongoc_collection_t> things_;
  int passed_ = 0;
  int failed_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: drivers_mongoc URI\n");
    return 2;
  }
  mongoc_init();
  int code = Suite(argv[1]).Run();
  mongoc_cleanup();
  return code;
}
