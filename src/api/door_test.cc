// SPDX-License-Identifier: Apache-2.0
//
// What the typed calls send and how they read replies, against a handler that plays a script.
#include "api/door.h"

#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "api/access.h"
#include "quire/quire.h"

namespace quire::api {
namespace {

using bson::Builder;
using bson::Document;
using bson::View;

// Answers with the scripted replies in order, then with {ok: 1}; keeps what it was asked.
class Script : public request::Handler {
 public:
  struct Log {
    std::vector<Document> commands;
    std::vector<size_t> documents;  // in sequences
    std::deque<Document> replies;
  };
  explicit Script(Log* log) : log_(log) {}

  request::Outcome Run(request::Client&, const request::Request& request,
                       std::string* reply) override {
    log_->commands.emplace_back(request.body);
    log_->documents.push_back(request.sequences.empty() ? 0
                                                        : request.sequences[0].documents.size());
    if (log_->replies.empty()) {
      Builder builder(reply);
      builder.Append("ok", 1.0);
      builder.Close();
    } else {
      *reply += log_->replies.front().bytes();
      log_->replies.pop_front();
    }
    return {};
  }
  void Disconnected(request::Client&) override {}

 private:
  Log* log_;
};

class DoorTest : public ::testing::Test {
 protected:
  Document Batch(const char* field, int64_t id, std::vector<int> ids) {
    Builder b;
    b.BeginDocument("cursor").BeginArray(field);
    for (int i : ids) {
      b.PushDocument().Append("_id", i).End();
    }
    b.End().Append("id", id).Append("ns", "app.people").End().Append("ok", 1.0);
    return b.Finish();
  }

  Script::Log log_;
  std::shared_ptr<Door> engine_ = std::make_shared<Door>(std::make_unique<Script>(&log_));
  Collection people_ = Access::MakeCollection(engine_, "app", "people");
};

TEST_F(DoorTest, FindReadsEveryBatch) {
  log_.replies = {};
  log_.replies.push_back(Batch("firstBatch", 7, {1, 2}));
  log_.replies.push_back(Batch("nextBatch", 7, {}));
  log_.replies.push_back(Batch("nextBatch", 0, {3}));
  Builder sort;
  sort.Append("_id", 1);
  auto cursor = people_.Find({}, {.sort = sort.Finish(), .limit = 3, .batch_size = 2});
  ASSERT_TRUE(cursor.ok());
  std::vector<int> seen;
  Cursor moved = *std::move(cursor);
  while (moved.Next()) {
    seen.push_back(moved.current()["_id"].AsInt32());
  }
  EXPECT_TRUE(moved.status().ok());
  EXPECT_EQ(seen, (std::vector<int>{1, 2, 3}));
  ASSERT_EQ(log_.commands.size(), 3u);
  EXPECT_EQ(log_.commands[0]["$db"].AsString(), "app");
  EXPECT_EQ(log_.commands[0]["limit"].AsInt64(), 3);
  EXPECT_EQ(log_.commands[1]["getMore"].AsInt64(), 7);
  EXPECT_EQ(log_.commands[1]["collection"].AsString(), "people");
}

TEST_F(DoorTest, AbandonedCursorIsKilled) {
  log_.replies.push_back(Batch("firstBatch", 9, {1}));
  { auto cursor = people_.Find(); }
  ASSERT_EQ(log_.commands.size(), 2u);
  EXPECT_EQ(log_.commands[1].view().front().name(), "killCursors");
}

TEST_F(DoorTest, CursorKeepsTheErrorOfGetMore) {
  log_.replies.push_back(Batch("firstBatch", 9, {}));
  Builder error;
  error.Append("ok", 0.0).Append("code", 43).Append("errmsg", "gone");
  log_.replies.push_back(error.Finish());
  auto cursor = people_.Find();
  EXPECT_FALSE(cursor->Next());
  EXPECT_EQ(cursor->status().code(), 43);
  EXPECT_EQ(cursor->status().code_name(), "CursorNotFound");
}

TEST_F(DoorTest, InsertOneMakesAnIdAndPutsItFirst) {
  auto id = people_.InsertOne(View(), {.durability = Durability::kDisk});
  ASSERT_TRUE(id.ok());
  EXPECT_EQ(id->type(), bson::Type::kObjectId);
  EXPECT_EQ(log_.documents[0], 1u);
  EXPECT_TRUE(log_.commands[0]["writeConcern"].AsDocument()["j"].AsBool());
}

TEST_F(DoorTest, WriteErrorsBecomeTheStatus) {
  Builder reply;
  reply.Append("n", 1).BeginArray("writeErrors").PushDocument();
  reply.Append("index", 1).Append("code", 11000).Append("errmsg", "twice").End().End();
  reply.Append("ok", 1.0);
  log_.replies.push_back(reply.Finish());
  auto result = people_.InsertMany({Document(), Document()});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), 11000);
  EXPECT_EQ(result.status().message(), "twice");
  EXPECT_EQ(View(result.status().extra().data())["n"].AsInt32(), 1);
}

TEST_F(DoorTest, UpsertIsNotAMatch) {
  Builder reply;
  reply.Append("n", 1).BeginArray("upserted").PushDocument();
  reply.Append("index", 0).Append("_id", 5).End().End().Append("nModified", 0).Append("ok", 1.0);
  log_.replies.push_back(reply.Finish());
  auto result = people_.UpdateOne(View(), View(), {.upsert = true});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->matched, 0);
  EXPECT_EQ(result->upserted_id.value().AsInt32(), 5);
}

TEST_F(DoorTest, TransactionFieldsFollowTheFirstCall) {
  Session session = Access::MakeSession(engine_);
  ASSERT_TRUE(session.StartTransaction().ok());
  ASSERT_TRUE(people_.DeleteOne(View(), {.session = &session}).ok());
  ASSERT_TRUE(people_.DeleteOne(View(), {.session = &session}).ok());
  ASSERT_TRUE(session.CommitTransaction().ok());
  EXPECT_EQ(session.CommitTransaction().code_name(), "NoSuchTransaction");
  ASSERT_EQ(log_.commands.size(), 3u);
  EXPECT_TRUE(log_.commands[0]["startTransaction"].AsBool());
  EXPECT_FALSE(log_.commands[1].view().Has("startTransaction"));
  EXPECT_EQ(log_.commands[2].view().front().name(), "commitTransaction");
  for (const Document& command : log_.commands) {
    EXPECT_EQ(command["txnNumber"].AsInt64(), 1);
    EXPECT_FALSE(command["autocommit"].AsBool());
  }
}

TEST_F(DoorTest, WithTransactionRunsAgainAfterAConflict) {
  Session session = Access::MakeSession(engine_);
  Builder labels;
  labels.BeginArray("errorLabels").Push("TransientTransactionError").End();
  Status conflict = Status(112, "conflict").WithExtra(labels.Finish().bytes());
  int runs = 0;
  Status status = session.WithTransaction([&] {
    (void)people_.DeleteOne(View(), {.session = &session});
    return ++runs < 3 ? conflict : Status::Ok();
  });
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(runs, 3);
  EXPECT_FALSE(session.in_transaction());
  EXPECT_EQ(session.WithTransaction([] { return Status(2, "bad"); }).code(), 2);
}

TEST_F(DoorTest, ErrorRepliesKeepTheirFurtherFields) {
  Builder reply;
  reply.Append("ok", 0.0).Append("errmsg", "no").Append("code", 121).Append("codeName", "x");
  reply.BeginDocument("errInfo").Append("a", 1).End();
  log_.replies.push_back(reply.Finish());
  Builder ping;
  ping.Append("ping", 1);
  Document command = ping.Finish();
  auto result = Access::MakeDatabase(engine_, "app").RunCommand(command);
  EXPECT_EQ(result.status().code(), 121);
  EXPECT_EQ(View(result.status().extra().data())["errInfo"].AsDocument()["a"].AsInt32(), 1);
}

}  // namespace
}  // namespace quire::api
