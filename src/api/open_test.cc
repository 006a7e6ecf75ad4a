// SPDX-License-Identifier: Apache-2.0
//
// The library on a real engine: in memory, in a folder, and at the address of a server.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <iterator>
#include <ranges>
#include <string>
#include <thread>
#include <vector>

#include "quire/quire.h"
#include "served/served.h"

namespace quire {
namespace {

bson::Document Json(std::string_view text) { return *bson::Document::FromJson(text); }

std::vector<std::string> Texts(Cursor cursor) {
  std::vector<std::string> texts;
  while (cursor.Next()) {
    texts.push_back(bson::ToJson(cursor.current()));
  }
  EXPECT_TRUE(cursor.status().ok()) << cursor.status().ToString();
  return texts;
}

enum class Place { kEmbedded, kServed };

class OpenTest : public ::testing::TestWithParam<Place> {
 protected:
  void SetUp() override {
    auto opened = GetParam() == Place::kEmbedded ? OpenInMemory() : Connect(served::Address());
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    client_.emplace(*std::move(opened));
    ASSERT_TRUE(client_->GetDatabase("app").Drop().ok());
  }
  Collection Coll(std::string_view name) { return client_->GetDatabase("app").GetCollection(name); }

  std::optional<Client> client_;
};

// What the server was sent by the last command of that name, as its profiler saw it.
bson::Document LastCommand(Client& client, std::string_view name) {
  Collection profile = client.GetDatabase("app").GetCollection("system.profile");
  const bson::Document filter =
      bson::Builder().Append("command." + std::string(name), Json(R"({"$exists": true})")).Finish();
  auto found = profile.FindOne(filter, {.sort = Json(R"({"$natural": -1})")});
  EXPECT_TRUE(found.ok() && *found) << name;
  return found.ok() && *found ? bson::Document((**found)["command"].AsDocument())
                              : bson::Document();
}

TEST(ConnectTest, CommandsTakeTheConcernsOfTheAddress) {
  auto client = Connect(served::Address() + "&w=1&journal=true&readConcernLevel=majority");
  ASSERT_TRUE(client.ok()) << client.status().ToString();
  Database app = client->GetDatabase("app");
  ASSERT_TRUE(app.Drop().ok());
  ASSERT_TRUE(app.RunCommand(Json(R"({"profile": 2})")).ok());
  Collection c = app.GetCollection("c");
  ASSERT_TRUE(c.InsertOne(Json(R"({"_id": 1})")).ok());
  const bson::Document insert = LastCommand(*client, "insert");
  ASSERT_TRUE(insert["writeConcern"].is_document()) << bson::ToJson(insert);
  EXPECT_TRUE(insert["writeConcern"].AsDocument()["j"].AsBool());
  const bson::Document find = LastCommand(*client, "find");
  ASSERT_TRUE(find["readConcern"].is_document()) << bson::ToJson(find);
  EXPECT_EQ(find["readConcern"].AsDocument()["level"].AsString(), "majority");
  ASSERT_TRUE(app.RunCommand(Json(R"({"profile": 0})")).ok());
}

TEST_P(OpenTest, WritesAndReads) {
  Collection c = Coll("c");
  ASSERT_TRUE(c.InsertMany({Json(R"({"_id": 1, "a": 1})"), Json(R"({"_id": 2, "a": 2})")}).ok());
  bson::Document two = Json(R"({"_id": 2})");
  bson::Document increment = Json(R"({"$inc": {"a": 5}})");
  auto updated = c.UpdateOne(two, increment);
  ASSERT_TRUE(updated.ok()) << updated.status().ToString();
  EXPECT_EQ(updated->modified, 1);
  auto found = c.FindOne(two);
  ASSERT_TRUE(found.ok() && *found);
  EXPECT_EQ((**found)["a"].AsInt32(), 7);
  EXPECT_EQ(*c.Count(), 2);
  EXPECT_EQ(*c.DeleteMany({}), 2);
  EXPECT_EQ(*c.Count(), 0);
}

TEST_P(OpenTest, TemporariesAreArguments) {
  Collection c = Coll("c");
  ASSERT_TRUE(c.InsertOne(Doc("_id", 1, "tags", List("a", "b"))).ok());
  ASSERT_TRUE(c.InsertOne(*bson::Document::FromJson(R"({"_id": 2})")).ok());
  EXPECT_EQ(*c.Count(Doc("tags", "a")), 1);
  EXPECT_EQ(c.UpdateOne(Doc("_id", 2), Doc("$set", Doc("tags", List())))->modified, 1);
  auto found = c.FindOne(Doc("_id", 2), {.projection = Doc("_id", 0)});
  ASSERT_TRUE(found.ok() && *found);
  EXPECT_EQ(bson::ToJson(**found), R"({"tags":[]})");
  EXPECT_EQ(c.Distinct("tags", Doc("_id", 1))->size(), 2u);
}

TEST_P(OpenTest, CursorsAreRanges) {
  Collection c = Coll("c");
  ASSERT_TRUE(c.InsertMany({Doc("_id", 1), Doc("_id", 2), Doc("_id", 3)}).ok());
  std::vector<int> seen;
  for (auto& doc : *c.Find({}, {.sort = Doc("_id", -1), .batch_size = 1})) {
    seen.push_back(doc["_id"].AsInt32());
  }
  EXPECT_EQ(seen, (std::vector<int>{3, 2, 1}));
  auto none = c.Find(Doc("_id", 9));
  ASSERT_TRUE(none.ok());
  EXPECT_TRUE(none->begin() == none->end());
  static_assert(std::input_iterator<Cursor::Iterator>);
  static_assert(std::ranges::input_range<Cursor>);
}

TEST_P(OpenTest, RangesEndAtAnError) {
  Collection c = Coll("c");
  ASSERT_TRUE(c.InsertMany({Doc("_id", 1, "a", 1), Doc("_id", 2, "a", 0)}).ok());
  auto cursor = c.Aggregate(
      {Doc("$sort", Doc("_id", 1)), Doc("$project", Doc("b", Doc("$divide", List(1, "$a"))))},
      {.batch_size = 1});
  ASSERT_TRUE(cursor.ok()) << cursor.status().ToString();
  int seen = 0;
  for ([[maybe_unused]] auto& doc : *cursor) {
    ++seen;
  }
  EXPECT_EQ(seen, 1);
  EXPECT_FALSE(cursor->status().ok());
}

TEST_P(OpenTest, CollectionsAndIndexesTakeOptions) {
  Database app = client_->GetDatabase("app");
  ASSERT_TRUE(app.CreateCollection("c", {.capped = true, .size = 4096, .max_documents = 2}).ok());
  EXPECT_EQ(app.CreateCollection("c", {.capped = true, .size = 8192}).code(), kNamespaceExists);
  Collection c = Coll("c");
  ASSERT_TRUE(c.InsertMany({Doc("a", 1), Doc("a", 2), Doc("a", 3)}).ok());
  EXPECT_EQ(*c.Count(), 2);
  ASSERT_TRUE(app.CreateCollection("v", {.validator = Doc("a", Doc("$gt", 0))}).ok());
  Collection v = Coll("v");
  EXPECT_EQ(v.InsertOne(Doc("a", 0)).status().code(), kDocumentValidationFailure);
  auto name = v.CreateIndex(Doc("a", 1), {.name = "young",
                                          .sparse = false,
                                          .hidden = true,
                                          .expire_after = std::chrono::hours(1),
                                          .partial_filter = Doc("a", Doc("$lt", 9)),
                                          .extra = Doc("collation", Doc("locale", "en"))});
  ASSERT_TRUE(name.ok()) << name.status().ToString();
  EXPECT_EQ(*name, "young");
  const std::string spec = Texts(*v.ListIndexes())[1];
  for (const char* part : {R"("hidden":true)", R"("expireAfterSeconds":3600)",
                           R"("partialFilterExpression":{"a":{"$lt":9}})", R"("locale":"en")"}) {
    EXPECT_NE(spec.find(part), std::string::npos) << spec;
  }
}

TEST_P(OpenTest, WatchesChangesAndResumes) {
  Collection c = Coll("c");
  auto stream = c.Watch({}, {.full_document = "updateLookup"});
  ASSERT_TRUE(stream.ok()) << stream.status().ToString();
  EXPECT_FALSE(stream->TryNext(std::chrono::milliseconds(1)));
  EXPECT_TRUE(stream->open());
  std::thread writer([&] {
    ASSERT_TRUE(c.InsertMany({Json(R"({"_id": 1})"), Json(R"({"_id": 2})")}).ok());
    bson::Document one = Json(R"({"_id": 1})");
    bson::Document set = Json(R"({"$set": {"a": 5}})");
    ASSERT_TRUE(c.UpdateOne(one, set).ok());
  });
  std::vector<std::string> types;
  bson::Document after_first;
  while (types.size() < 3 && stream->Next()) {
    types.emplace_back(stream->current()["operationType"].AsString());
    if (types.size() == 1) {
      after_first = bson::Document(stream->current()["_id"].AsDocument());
    }
  }
  writer.join();
  EXPECT_EQ(types, (std::vector<std::string>{"insert", "insert", "update"}));
  EXPECT_EQ(bson::ToJson(stream->current()["fullDocument"]), R"({"_id":1,"a":5})");

  auto resumed = client_->GetDatabase("app").Watch({}, {.resume_after = after_first});
  ASSERT_TRUE(resumed.ok()) << resumed.status().ToString();
  ASSERT_TRUE(resumed->Next());
  EXPECT_EQ(bson::ToJson(resumed->current()["documentKey"]), R"({"_id":2})");
  ASSERT_TRUE(resumed->Next());
  EXPECT_FALSE(resumed->TryNext(std::chrono::milliseconds(1)));

  auto later = client_->Watch({}, {.resume_after = resumed->resume_token()});
  ASSERT_TRUE(later.ok()) << later.status().ToString();
  EXPECT_FALSE(later->TryNext(std::chrono::milliseconds(1)));
  ASSERT_TRUE(c.Drop().ok());
  ASSERT_TRUE(stream->Next());
  EXPECT_EQ(stream->current()["operationType"].AsString(), "drop");
  ASSERT_TRUE(stream->Next());
  EXPECT_EQ(stream->current()["operationType"].AsString(), "invalidate");
  EXPECT_FALSE(stream->Next());
  EXPECT_TRUE(stream->status().ok());
  EXPECT_FALSE(stream->open());
}

TEST_P(OpenTest, CursorsGoOverManyBatches) {
  Collection c = Coll("c");
  std::vector<bson::Document> documents;
  for (int i = 0; i < 1000; ++i) {
    bson::Builder b;
    documents.push_back(b.Append("_id", i).Finish());
  }
  ASSERT_TRUE(c.InsertMany(documents).ok());
  auto cursor = c.Find({}, {.sort = Json(R"({"_id": 1})"), .batch_size = 7});
  ASSERT_TRUE(cursor.ok());
  EXPECT_EQ(Texts(*std::move(cursor)).size(), 1000u);
}

TEST_P(OpenTest, DuplicateKeyIsTheError) {
  Collection c = Coll("c");
  bson::Document one = Json(R"({"_id": 1})");
  ASSERT_TRUE(c.InsertOne(one).ok());
  auto again = c.InsertOne(one);
  EXPECT_EQ(again.status().code_name(), "DuplicateKey");
}

TEST_P(OpenTest, IndexesAndNames) {
  Collection c = Coll("c");
  bson::Document keys = Json(R"({"a": 1, "b": -1})");
  auto name = c.CreateIndex(keys, {.unique = true});
  ASSERT_TRUE(name.ok()) << name.status().ToString();
  EXPECT_EQ(*name, "a_1_b_-1");
  EXPECT_EQ(Texts(*c.ListIndexes()).size(), 2u);
  EXPECT_TRUE(c.DropIndex(*name).ok());
  EXPECT_EQ(*client_->GetDatabase("app").ListCollectionNames(), std::vector<std::string>{"c"});
  EXPECT_TRUE(c.Drop().ok());
  EXPECT_TRUE(c.Drop().ok());
}

TEST_P(OpenTest, TransactionsCommitAndAbort) {
  Collection c = Coll("c");
  ASSERT_TRUE(c.InsertOne(bson::View()).ok());
  auto session = client_->StartSession();
  ASSERT_TRUE(session.ok());
  ASSERT_TRUE(session->StartTransaction().ok());
  ASSERT_TRUE(c.InsertOne(bson::View(), {.session = &*session}).ok());
  EXPECT_EQ(*c.Count(), 1);
  ASSERT_TRUE(session->AbortTransaction().ok());
  EXPECT_EQ(*c.Count(), 1);
  Status status = session->WithTransaction(
      [&] { return c.InsertOne(bson::View(), {.session = &*session}).status(); });
  EXPECT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(*c.Count(), 2);
}

TEST_P(OpenTest, ManyThreadsAtOnce) {
  Collection c = Coll("c");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([c, t]() mutable {
      for (int i = 0; i < 100; ++i) {
        bson::Builder b;
        bson::Document document = b.Append("_id", t * 1000 + i).Finish();
        EXPECT_TRUE(c.InsertOne(document).ok());
        EXPECT_TRUE(c.FindOne(document).ok());
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(*c.Count(), 400);
}

TEST_P(OpenTest, ErrorsCarryTheirCodeAndLabels) {
  Collection c = Coll("c");
  bson::Document one = Json(R"({"_id": 1})");
  ASSERT_TRUE(c.InsertOne(one).ok());
  bson::Document nonsense = Json(R"({"a": {"$nope": 1}})");
  EXPECT_EQ(c.Find(nonsense).status().code_name(), "BadValue");
  auto session = client_->StartSession();
  ASSERT_TRUE(session->StartTransaction().ok());
  bson::Document set = Json(R"({"$set": {"a": 1}})");
  ASSERT_TRUE(c.UpdateOne(one, set, {.session = &*session}).ok());
  auto other = client_->StartSession();
  ASSERT_TRUE(other->StartTransaction().ok());
  auto conflict = c.UpdateOne(one, set, {.session = &*other});
  EXPECT_EQ(conflict.status().code_name(), "WriteConflict");
  EXPECT_NE(bson::ToJson(bson::View(conflict.status().extra().data())).find("TransientTransaction"),
            std::string::npos);
  EXPECT_TRUE(session->CommitTransaction().ok());
}

TEST_P(OpenTest, TransactionOptionsAreSent) {
  Collection c = Coll("c");
  ASSERT_TRUE(client_->GetDatabase("app").CreateCollection("c").ok());
  auto session = client_->StartSession();
  const TransactionOptions options = {.read_concern = Doc("level", "snapshot"),
                                      .write_concern = Doc("w", "majority")};
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(session->StartTransaction(options).ok());
    ASSERT_TRUE(c.InsertOne(bson::View(), {.session = &*session}).ok());
    Status committed = session->CommitTransaction();
    EXPECT_TRUE(committed.ok()) << committed.ToString();
  }
  EXPECT_EQ(*c.Count(), 3);
}

// With an _id each: document i has ids[i].
std::vector<bson::Document> LargeDocuments(const std::vector<int>& ids) {
  const std::string filler(3'000'000, 'x');
  std::vector<bson::Document> documents;
  for (int id : ids) {
    bson::Builder b;
    documents.push_back(b.Append("_id", id).Append("filler", filler).Finish());
  }
  return documents;
}

// More than a message carries, with errors in both.
TEST_P(OpenTest, LargeBatchesAreSplit) {
  const std::vector<bson::Document> documents =
      LargeDocuments({0, 1, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 1});
  for (bool ordered : {false, true}) {
    Collection c = Coll(ordered ? "ordered" : "unordered");
    auto inserted = c.InsertMany(documents, {.ordered = ordered});
    EXPECT_EQ(inserted.status().code(), 11000) << inserted.status().ToString();
    EXPECT_EQ(*c.Count(), ordered ? 2 : 15);
    bson::View reply(inserted.status().extra().data());
    EXPECT_EQ(reply["n"].AsInt64(), ordered ? 2 : 15);
    std::vector<int64_t> failed;
    for (const bson::Element& error : reply["writeErrors"].AsArray()) {
      failed.push_back(error.value().AsDocument()["index"].AsInt64());
    }
    EXPECT_EQ(failed, ordered ? std::vector<int64_t>({2}) : std::vector<int64_t>({2, 16}));
  }
}

// What is too large for a command's body travels beside it, whatever the call says.
TEST_P(OpenTest, LargeBatchesTakeOptions) {
  const std::vector<bson::Document> documents = LargeDocuments({0, 1, 2, 3, 4, 5, 6});
  Collection c = Coll("c");
  auto session = client_->StartSession();
  for (bool commit : {false, true}) {
    ASSERT_TRUE(session->StartTransaction().ok());
    auto inserted = c.InsertMany(documents, {.session = &*session});
    ASSERT_TRUE(inserted.ok()) << inserted.status().ToString();
    EXPECT_EQ(inserted->inserted, 7);
    EXPECT_EQ(*c.Count(), 0);
    ASSERT_TRUE((commit ? session->CommitTransaction() : session->AbortTransaction()).ok());
    EXPECT_EQ(*c.Count(), commit ? 7 : 0);
  }
  ASSERT_TRUE(c.DeleteMany(bson::View()).ok());
  EXPECT_TRUE(c.InsertMany(documents, {.durability = Durability::kDisk}).ok());
  ASSERT_TRUE(c.DeleteMany(bson::View()).ok());
  Collection unseen = Coll("unseen");
  EXPECT_TRUE(unseen.InsertMany(documents, {.extra = Json(R"({"writeConcern": {"w": 0}})")}).ok());
  auto unmet = c.InsertMany(documents, {.extra = Json(R"({"writeConcern": {"w": 3}})")});
  EXPECT_EQ(unmet.status().code(), 100) << unmet.status().ToString();
  EXPECT_EQ(*c.Count(), 7);
  auto refused = c.InsertMany(documents, {.extra = Json(R"({"writeConcern": {"w": "nobody"}})")});
  EXPECT_FALSE(refused.ok()) << refused.status().ToString();
}

TEST_P(OpenTest, TooLargeDocumentsAreRefused) {
  Collection c = Coll("c");
  constexpr int kObjectTooLarge = 10334;
  auto document = [](int id, size_t size) {
    bson::Builder b;
    return b.Append("_id", id).Append("x", std::string(size, 'x')).Finish();
  };
  const bson::Document huge = document(1, 17 << 20);
  EXPECT_EQ(c.InsertOne(huge).status().code(), kObjectTooLarge);
  EXPECT_EQ(c.InsertMany({huge}).status().code(), kObjectTooLarge);
  EXPECT_TRUE(c.InsertMany({document(2, (16 << 20) - 32)}).ok());
  EXPECT_EQ(*c.Count(), 1);
}

TEST_P(OpenTest, ManyCursorsStayOpenSideBySide) {
  Collection c = Coll("c");
  std::vector<bson::Document> documents(300);
  ASSERT_TRUE(c.InsertMany(documents).ok());
  std::vector<Cursor> cursors;
  for (int i = 0; i < 20; ++i) {
    auto cursor = c.Find({}, {.batch_size = 10});
    ASSERT_TRUE(cursor.ok());
    cursors.push_back(*std::move(cursor));
  }
  for (size_t i = 0; i < cursors.size(); i += 2) {  // the others are abandoned
    EXPECT_EQ(Texts(std::move(cursors[i])).size(), 300u);
  }
}

INSTANTIATE_TEST_SUITE_P(Places, OpenTest, ::testing::Values(Place::kEmbedded, Place::kServed),
                         [](const auto& place) {
                           return place.param == Place::kEmbedded ? "Embedded" : "Served";
                         });

TEST(ConnectTest, BadAddressesAreErrors) {
  EXPECT_EQ(Connect("http://x").status().code_name(), "FailedToParse");
  EXPECT_EQ(Connect("mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=100").status().code_name(),
            "HostUnreachable");
}

TEST(OpenFolderTest, KeepsDataAndIsOpenOnce) {
  const std::string path = ::testing::TempDir() + "/quire_open_test";
  std::filesystem::remove_all(path);
  {
    auto client = Open(path);
    ASSERT_TRUE(client.ok()) << client.status().ToString();
    Collection c = client->GetDatabase("app").GetCollection("c");
    ASSERT_TRUE(c.InsertOne(bson::View(), {.durability = Durability::kDisk}).ok());
    EXPECT_FALSE(Open(path).ok());
  }
  {
    auto client = Open(path);
    ASSERT_TRUE(client.ok()) << client.status().ToString();
    EXPECT_EQ(*client->GetDatabase("app").GetCollection("c").Count(), 1);
  }
  std::filesystem::remove_all(path);
}

}  // namespace
}  // namespace quire
