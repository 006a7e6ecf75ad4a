// SPDX-License-Identifier: Apache-2.0
//
// Replies that are read say what was written; what is no such reply is refused.
#include "request/reply.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error_codes.h"
#include "quire/doc.h"
#include "request/bulk_write_reply.h"
#include "request/cursor_reply.h"
#include "request/reply_part.h"
#include "request/write_reply.h"

namespace quire::request {
namespace {

using bson::Document;

std::string Json(const Document& document) { return bson::ToJson(document); }

Document Written(const WriteReply& reply, bool update) {
  bson::Builder out;
  reply.AppendTo(&out, update);
  return out.Finish();
}

Document FromJson(std::string_view json) {
  Result<Document> document = Document::FromJson(json);
  EXPECT_TRUE(document.ok()) << json;
  return document.ok() ? *std::move(document) : Document();
}

TEST(StatusOf, ReadsTheErrorOfAReply) {
  EXPECT_TRUE(StatusOf(Doc("ok", 1.0)).ok());
  EXPECT_TRUE(StatusOf(Doc("ok", 1)).ok());
  EXPECT_TRUE(StatusOf(Doc("ok", true)).ok());
  const Status error = StatusOf(Doc("ok", 0.0, "code", 10107, "errmsg", "not primary"));
  EXPECT_EQ(error.code(), kNotWritablePrimary);
  EXPECT_EQ(error.message(), "not primary");
  EXPECT_TRUE(error.extra().empty());
  EXPECT_EQ(StatusOf(Doc()).code(), kUnknownError);
  EXPECT_EQ(StatusOf(Doc("ok", "1", "code", "x", "errmsg", 5)).code(), kUnknownError);
}

TEST(StatusOf, IsTheErrorThatWasAppended) {
  const Status error =
      Status(kDuplicateKey, "twice").WithExtra(Doc("keyValue", Doc("a", 1)).bytes());
  bson::Builder reply;
  AppendError(error, &reply);
  reply.Append("$clusterTime", Doc()).Append("operationTime", bson::Timestamp{1, 2});
  const Status read = StatusOf(reply.Finish());
  EXPECT_EQ(read.code(), error.code());
  EXPECT_EQ(read.message(), error.message());
  EXPECT_EQ(read.extra(), error.extra());
}

TEST(WriteReply, IsReadAsItWasWritten) {
  const char* const replies[] = {
      R"({"n": 0})",
      R"({"n": 7, "retriedStmtIds": [0, 3]})",
      R"({"n": 5000000000})",
      R"({"n": 1, "writeErrors": [{"index": 2, "code": 11000, "keyPattern": {"a": 1},
          "errmsg": "twice"}], "writeConcernError": {"code": 64, "codeName": "WriteConcernFailed",
          "errmsg": "late", "errInfo": {"wtimeout": true}}})",
  };
  for (const char* json : replies) {
    const Document document = FromJson(json);
    const Result<WriteReply> reply = WriteReply::Read(document);
    ASSERT_TRUE(reply.ok()) << json;
    EXPECT_EQ(Json(Written(*reply, false)), Json(document));
  }
  const Document update =
      FromJson(R"({"n": 2, "nModified": 1, "upserted": [{"index": 1, "_id": {"a": 1}}]})");
  const Result<WriteReply> reply = WriteReply::Read(update);
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(Json(Written(*reply, true)), Json(update));
}

TEST(WriteReply, RefusesWhatIsNone) {
  const char* const replies[] = {
      R"({"n": "1"})",
      R"({"n": 1, "writeErrors": {}})",
      R"({"n": 1, "writeErrors": [1]})",
      R"({"n": 1, "writeErrors": [{"code": 1}]})",
      R"({"n": 1, "upserted": [{"_id": 1}]})",
  };
  for (const char* json : replies) {
    EXPECT_EQ(WriteReply::Read(FromJson(json)).status().code(), kProtocolError) << json;
  }
}

TEST(WriteReply, PutsPartsTogetherInTheOrderOfTheWhole) {
  const Status error(kBadValue, "bad");
  WriteReply whole;
  WriteReply odd{.n = 1, .modified = 1, .errors = {{0, error}, {2, error}}, .retried = {1}};
  odd.upserted.push_back({1, bson::OwnedValue(bson::Value(int32_t{3}))});
  WriteReply even{.n = 2, .errors = {{1, error}}, .write_concern_error = Doc("code", 64)};
  whole.Add(std::move(odd), [](int32_t i) { return 2 * i + 1; });
  whole.Add(std::move(even), [](int32_t i) { return 2 * i; });
  EXPECT_EQ(Json(Written(whole, true)),
            Json(FromJson(R"({"n": 3, "nModified": 1, "upserted": [{"index": 3, "_id": 3}],
              "writeErrors": [{"index": 1, "code": 2, "errmsg": "bad"},
                              {"index": 2, "code": 2, "errmsg": "bad"},
                              {"index": 5, "code": 2, "errmsg": "bad"}],
              "retriedStmtIds": [1], "writeConcernError": {"code": 64}})")));
}

TEST(WriteErrorOf, IsThatOfTheFirstDocumentOrOfTheConcern) {
  EXPECT_TRUE(WriteErrorOf(Doc("n", 1, "writeErrors", List())).ok());
  const Document unmet = Doc("n", 1, "writeConcernError", Doc("code", 64, "errmsg", "late"));
  const Status late = WriteErrorOf(unmet);
  EXPECT_EQ(late.code(), kWriteConcernFailed);
  EXPECT_EQ(late.extra(), unmet.bytes());
  const Document both =
      FromJson(R"({"writeErrors": [{"index": 0, "code": 11000, "errmsg": "twice"}],
                   "writeConcernError": {"code": 64, "errmsg": "late"}})");
  EXPECT_EQ(WriteErrorOf(both).message(), "twice");
}

TEST(CursorReply, IsReadAsItWasWritten) {
  const char* const replies[] = {
      R"({"cursor": {"firstBatch": [{"a": 1}, {"a": 2}], "id": {"$numberLong": "0"},
          "ns": "d.c"}})",
      R"({"cursor": {"nextBatch": [], "postBatchResumeToken": {"_data": "82"},
          "atClusterTime": {"$timestamp": {"t": 1, "i": 2}}, "partialResultsReturned": true,
          "id": {"$numberLong": "17"}, "ns": "d.c"}})",
  };
  for (const char* json : replies) {
    const Document document = FromJson(json);
    const Result<CursorReply> reply = CursorReply::Read(document);
    ASSERT_TRUE(reply.ok()) << reply.status().ToString();
    const bool first = document["cursor"].AsDocument().Has("firstBatch");
    bson::Builder out;
    CursorReply::Begin(first ? BatchKind::kFirst : BatchKind::kNext, &out);
    for (const bson::Element& row : reply->batch) {
      out.Push(row.value());
    }
    reply->End(&out);
    EXPECT_EQ(Json(out.Finish()), Json(document));
  }
}

TEST(CursorReply, RefusesWhatIsNone) {
  const char* const replies[] = {
      R"({})",
      R"({"cursor": []})",
      R"({"cursor": {"id": {"$numberLong": "0"}, "ns": "d.c"}})",
      R"({"cursor": {"firstBatch": [1], "id": {"$numberLong": "0"}, "ns": "d.c"}})",
      R"({"cursor": {"firstBatch": [], "id": "0", "ns": "d.c"}})",
      R"({"cursor": {"firstBatch": [], "id": {"$numberLong": "0"}, "ns": 1}})",
  };
  for (const char* json : replies) {
    EXPECT_EQ(CursorReply::Read(FromJson(json)).status().code(), kProtocolError) << json;
  }
}

TEST(Reply, AsAPartTellsNoTimes) {
  const Document reply = FromJson(
      R"({"n": 1, "$clusterTime": {"clusterTime": 1}, "operationTime": 1, "topologyVersion": {},
          "ok": 1.0})");
  EXPECT_EQ(Json(AsPart(reply)), Json(FromJson(R"({"n": 1, "ok": 1.0})")));
}

TEST(BulkItem, IsReadAsItWasWritten) {
  using Kind = BulkOperation::Kind;
  const struct {
    Kind kind;
    const char* json;
  } items[] = {
      {Kind::kInsert, R"({"ok": 1.0, "idx": 0, "n": 1})"},
      {Kind::kUpdate, R"({"ok": 1.0, "idx": 1, "n": 1, "nModified": 0, "upserted": {"_id": "x"}})"},
      {Kind::kDelete, R"({"ok": 0.0, "idx": 2, "code": 2, "errmsg": "bad", "n": 0})"},
  };
  BulkWriteReply reply;
  for (const auto& item : items) {
    const Document document = FromJson(item.json);
    const Result<BulkItem> read = BulkItem::Read(document, item.kind);
    ASSERT_TRUE(read.ok()) << item.json;
    EXPECT_EQ(Json(read->Write()), Json(document));
    reply.items.push_back(*read);
  }
  bson::Builder out;
  reply.AppendTo(&out);
  EXPECT_EQ(Json(out.Finish()), Json(FromJson(R"({"nErrors": 1, "nInserted": 1, "nMatched": 0,
                                                  "nModified": 0, "nUpserted": 1,
                                                  "nDeleted": 0})")));
  EXPECT_EQ(BulkItem::Read(Doc("ok", 1), Kind::kInsert).status().code(), kProtocolError);
}

}  // namespace
}  // namespace quire::request
