// SPDX-License-Identifier: Apache-2.0
//
// configureFailPoint and what the points do to commands.
#include <thread>

#include "base/error_codes.h"
#include "command/testing/harness.h"

namespace quire::command {
namespace {

class FailPointTest : public ::testing::Test {
 protected:
  FailPointTest() { node_.commands().fail_points().Enable(true); }

  int Configure(const std::string& fields) {
    return node_.Code("{\"configureFailPoint\": " + fields + "}", "admin");
  }

  bool Listed() {
    const bson::Document all = node_.Run(R"({"listCommands": 1})");
    return all["commands"].AsDocument().Has("configureFailPoint");
  }
  // The first label of the reply.
  std::string Label(const std::string& command) {
    const bson::Document reply = node_.Run(command);
    const bson::Value labels = reply["errorLabels"];
    return labels.is_array() ? std::string(labels.AsArray()["0"].AsString()) : "";
  }

  // A getMore of the cursor that `command` opens on the collection c.
  std::string MoreOf(const std::string& command) {
    const bson::Document reply = node_.Run(command);
    return R"({"getMore": {"$numberLong": ")" +
           std::to_string(reply["cursor"].AsDocument()["id"].AsInt64()) +
           R"("}, "collection": "c"})";
  }

  Node node_;
};

TEST_F(FailPointTest, ExistsInServersForTestsOnly) {
  node_.commands().fail_points().Enable(false);
  EXPECT_EQ(Configure(R"("failCommand", "mode": "off")"), kCommandNotFound);
  EXPECT_FALSE(Listed());
  node_.commands().fail_points().Enable(true);
  EXPECT_EQ(Configure(R"("failCommand", "mode": "off")"), 0);
  EXPECT_TRUE(Listed());
  EXPECT_EQ(Configure(R"(1, "help": true)"), 0);
}

TEST_F(FailPointTest, SaysWhoMadeTheCommandFail) {
  Configure(
      R"("failCommand", "mode": "alwaysOn", "data": {"failCommands": ["ping"], "errorCode": 8})");
  const bson::Document reply = node_.Run(R"({"ping": 1})");
  EXPECT_EQ(reply["errmsg"].AsString(), "Failing command via 'failCommand' failpoint");
}

TEST_F(FailPointTest, RefusesWhatMakesNoSense) {
  const struct {
    const char* fields;
    int code;
  } kCases[] = {
      {R"("nosuch", "mode": "off")", kFailPointSetFailed},
      {R"(1, "mode": "off")", kTypeMismatch},
      {R"("failCommand", "mode": "on")", kBadValue},
      {R"("failCommand", "mode": 1)", kTypeMismatch},
      {R"("failCommand", "mode": {})", kBadValue},
      {R"("failCommand", "mode": {"times": -1})", kBadValue},
      {R"("failCommand", "mode": {"activationProbability": 2})", kBadValue},
      {R"("failCommand", "mode": "alwaysOn", "data": 1)", kTypeMismatch},
      {R"("failCommand", "mode": "alwaysOn", "data": {"errorCode": 1})", kBadValue},
      {R"("failCommand", "mode": "alwaysOn", "data": {"failCommands": "find"})", kBadValue},
      {R"("failCommand", "mode": "alwaysOn", "data": {"failCommands": [], "x": 1})", kBadValue},
      {R"("failCommand", "mode": "alwaysOn", "data": {"failCommands": [], "blockConnection": true})",
       kInvalidOptions},
      {R"("maxTimeAlwaysTimeOut", "mode": "alwaysOn", "data": {"errorCode": 1})", kBadValue},
      {R"("failGetMoreAfterCursorCheckout", "mode": "alwaysOn", "data": {"blockTimeMS": 1})",
       kBadValue},
      {R"("onPrimaryTransactionalWrite", "mode": "alwaysOn", "data": {"errorCode": 1})", kBadValue},
  };
  for (const auto& c : kCases) {
    EXPECT_EQ(Configure(c.fields), c.code) << c.fields;
  }
  EXPECT_EQ(node_.Code(R"({"ping": 1})"), 0);
}

TEST_F(FailPointTest, FailsAsOftenAsAsked) {
  const std::string ping = R"({"ping": 1})";
  ASSERT_EQ(Configure(R"("failCommand", "mode": {"times": 2},
                         "data": {"failCommands": ["ping"], "errorCode": 91})"),
            0);
  EXPECT_EQ(node_.Code(R"({"find": "c"})"), 0);
  EXPECT_EQ(node_.Code(ping), 91);
  EXPECT_EQ(node_.Code(ping), 91);
  EXPECT_EQ(node_.Code(ping), 0);
  ASSERT_EQ(Configure(R"("failCommand", "mode": {"skip": 1},
                         "data": {"failCommands": ["ping"], "errorCode": 91})"),
            0);
  EXPECT_EQ(node_.Code(ping), 0);
  EXPECT_EQ(node_.Code(ping), 91);
  const bson::Document off =
      node_.Run(R"({"configureFailPoint": "failCommand", "mode": "off"})", "admin");
  EXPECT_EQ(off["count"].AsInt64(), 3);
  EXPECT_EQ(node_.Code(ping), 0);
}

TEST_F(FailPointTest, ChoosesByNamespace) {
  ASSERT_EQ(Configure(R"("failCommand", "mode": "alwaysOn",
              "data": {"failCommands": ["find", "count"], "namespace": "test.c", "errorCode": 2})"),
            0);
  EXPECT_EQ(node_.Code(R"({"find": "c"})"), 2);
  EXPECT_EQ(node_.Code(R"({"count": "c"})"), 2);
  EXPECT_EQ(node_.Code(R"({"find": "d"})"), 0);
  EXPECT_EQ(node_.Code(R"({"find": "c"})", "other"), 0);
}

TEST_F(FailPointTest, GivesItsLabelsOrTheServers) {
  ASSERT_EQ(Configure(R"("failCommand", "mode": {"times": 1},
              "data": {"failCommands": ["ping"], "errorCode": 91, "errorLabels": ["Mine"]})"),
            0);
  EXPECT_EQ(Label(R"({"ping": 1})"), "Mine");
  const std::string insert =
      R"({"insert": "c", "documents": [{}], "txnNumber": {"$numberLong": "1"},
          "lsid": {"id": {"$binary": {"base64": "AAAAAAAAAAAAAAAAAAAAAA==", "subType": "04"}}}})";
  ASSERT_EQ(Configure(R"("failCommand", "mode": {"times": 1},
              "data": {"failCommands": ["insert"], "errorCode": 11602})"),
            0);
  EXPECT_EQ(Label(insert), "RetryableWriteError");
  ASSERT_EQ(Configure(R"("failCommand", "mode": {"times": 1},
              "data": {"failCommands": ["insert"], "errorCode": 11602, "errorLabels": []})"),
            0);
  EXPECT_EQ(Label(insert), "");
  ASSERT_EQ(Configure(R"("failCommand", "mode": {"times": 1},
              "data": {"failCommands": ["insert"], "writeConcernError": {"code": 91}})"),
            0);
  const bson::Document written = node_.Run(insert);
  EXPECT_EQ(written["n"].AsInt32(), 1);
  EXPECT_EQ(written["writeConcernError"].AsDocument()["code"].AsInt32(), 91);
  EXPECT_EQ(written["errorLabels"].AsArray()["0"].AsString(), "RetryableWriteError");
}

TEST_F(FailPointTest, LabelsSayThatNothingWasWritten) {
  // Statements of an update, as a retryable write of that number.
  auto update = [](int number, const std::string& statements) {
    return R"({"update": "c", "updates": [)" + statements + R"(], "txnNumber": {"$numberLong": ")" +
           std::to_string(number) +
           R"("}, "lsid": {"id": {"$binary": {"base64": "AAAAAAAAAAAAAAAAAAAAAA==",
               "subType": "04"}}}})";
  };
  const std::string upsert = update(1, R"({"q": {"_id": 1}, "u": {"a": 1}, "upsert": true})");
  auto labels = [&](const std::string& command) {
    const bson::Document reply = node_.Run(command);
    return reply["errorLabels"].missing() ? "" : bson::ToJson(reply["errorLabels"]);
  };
  const std::string nothing = R"(["RetryableWriteError","NoWritesPerformed"])";
  ASSERT_EQ(Configure(R"("failCommand", "mode": {"times": 1},
              "data": {"failCommands": ["update"], "errorCode": 10107})"),
            0);
  EXPECT_EQ(labels(upsert), nothing) << "it was not run";
  auto fail_commit = [&](const std::string& mode, int code) {
    return Configure(R"("onPrimaryTransactionalWrite", "mode": )" + mode +
                     R"(, "data": {"closeConnection": false, "failBeforeCommitExceptionCode": )" +
                     std::to_string(code) + "}");
  };
  ASSERT_EQ(fail_commit(R"({"times": 1})", 11602), 0);
  EXPECT_EQ(labels(upsert), R"(["RetryableWriteError"])") << "it has made the collection";
  ASSERT_EQ(fail_commit(R"({"times": 1})", 11602), 0);
  EXPECT_EQ(labels(upsert), nothing);
  ASSERT_EQ(fail_commit(R"({"times": 1})", 11602), 0);
  EXPECT_EQ(labels(R"({"insert": "c", "documents": [{}], "txnNumber": {"$numberLong": "1"},
                       "lsid": {"id": {"$binary": {"base64": "AAAAAAAAAAAAAAAAAAAAAQ==",
                       "subType": "04"}}}})"),
            nothing)
      << "an insert fails as a whole, too";
  ASSERT_EQ(fail_commit(R"({"times": 1})", 11601), 0);
  EXPECT_EQ(labels(upsert), "") << "nobody sends it again";
  EXPECT_EQ(node_.Code(upsert), 0);
  // Of two statements the second fails; sent again it fails before anything is written.
  const std::string two = update(2, R"({"q": {}, "u": {"$set": {"first": 1}}},
                                       {"q": {}, "u": {"$set": {"second": 1}}})");
  ASSERT_EQ(fail_commit(R"({"skip": 1})", 11602), 0);
  EXPECT_EQ(labels(two), R"(["RetryableWriteError"])");
  EXPECT_EQ(labels(two), nothing);
}

TEST_F(FailPointTest, AFailedWriteHasItsConcernErrorToo) {
  node_.Run(R"({"create": "c"})");
  const auto concern = [&](const std::string& json) {
    const bson::Document reply = node_.Run(json);
    EXPECT_EQ(reply["ok"].AsDouble(), 0) << json;
    const bson::Value error = reply["writeConcernError"];
    return error.is_document() ? error.AsDocument()["code"].AsInt32() : 0;
  };
  EXPECT_EQ(concern(R"({"create": "c", "capped": true, "size": 9, "writeConcern": {"w": 2}})"),
            kUnsatisfiableWriteConcern);
  EXPECT_EQ(concern(R"({"create": "c", "capped": true, "size": 9, "writeConcern": {"w": 1}})"), 0);
  EXPECT_EQ(concern(R"({"create": "c", "nothing": 1, "writeConcern": {"w": 2}})"), 0)
      << "it was not run";
  ASSERT_EQ(Configure(R"("failCommand", "mode": "alwaysOn",
              "data": {"failCommands": ["create"], "writeConcernError": {"code": 64}})"),
            0);
  EXPECT_EQ(concern(R"({"create": "c", "capped": true, "size": 9})"), 64);
  EXPECT_EQ(concern(R"({"create": "c", "nothing": 1})"), 0);
  ASSERT_EQ(Configure(R"("failCommand", "mode": "alwaysOn", "data": {"failCommands": ["create"],
              "errorCode": 91, "writeConcernError": {"code": 64}})"),
            0);
  EXPECT_EQ(concern(R"({"create": "d"})"), 0) << "it was not run";
}

TEST_F(FailPointTest, TimesOutWhatHasALimit) {
  node_.Run(R"({"insert": "c", "documents": [{}, {}, {}]})");
  const std::string limited = MoreOf(R"({"find": "c", "batchSize": 1, "maxTimeMS": 100000})");
  const std::string unlimited = MoreOf(R"({"find": "c", "batchSize": 1})");
  ASSERT_EQ(Configure(R"("maxTimeAlwaysTimeOut", "mode": "alwaysOn")"), 0);
  EXPECT_EQ(node_.Code(R"({"find": "c", "maxTimeMS": 100000})"), kMaxTimeMSExpired);
  EXPECT_EQ(node_.Code(R"({"find": "c"})"), 0);
  EXPECT_EQ(node_.Code(limited), kMaxTimeMSExpired);
  EXPECT_EQ(node_.Code(unlimited), 0);
}

TEST_F(FailPointTest, TimesNothingOut) {
  ASSERT_EQ(Configure(R"("maxTimeNeverTimeOut", "mode": "alwaysOn")"), 0);
  ASSERT_EQ(Configure(R"("maxTimeAlwaysTimeOut", "mode": "alwaysOn")"), 0);
  ASSERT_EQ(Configure(R"("failCommand", "mode": "alwaysOn", "data": {"failCommands": ["find"],
              "blockConnection": true, "blockTimeMS": 20})"),
            0);
  EXPECT_EQ(node_.Code(R"({"find": "c", "maxTimeMS": 1})"), 0);
}

TEST_F(FailPointTest, AGetMoreIsMetWithItsCursor) {
  node_.Run(R"({"insert": "c", "documents": [{}, {}]})");
  const std::string more = MoreOf(R"({"find": "c", "batchSize": 1})");
  ASSERT_EQ(Configure(R"("failGetMoreAfterCursorCheckout", "mode": {"times": 1},
              "data": {"failCommands": ["getMore"], "errorCode": 280, "errmsg": "so it is"})"),
            0);
  EXPECT_EQ(node_.Code(R"({"getMore": {"$numberLong": "1"}, "collection": "c"})"), kCursorNotFound);
  const bson::Document failed = node_.Run(more);
  EXPECT_EQ(failed["code"].AsInt32(), 280);
  EXPECT_NE(failed["errmsg"].AsString(), "so it is") << "the text is the server's own";
  EXPECT_EQ(node_.Code(more), kCursorNotFound) << "an error closes the cursor";
}

TEST_F(FailPointTest, LabelsOfTransactions) {
  const std::string in =
      R"(, "txnNumber": {"$numberLong": "1"}, "autocommit": false,
          "lsid": {"id": {"$binary": {"base64": "AAAAAAAAAAAAAAAAAAAAAA==", "subType": "04"}}}})";
  ASSERT_EQ(Configure(R"("failCommand", "mode": {"times": 1},
              "data": {"failCommands": ["insert"], "writeConcernError": {"code": 91}})"),
            0);
  const std::string insert = R"({"insert": "c", "documents": [{}])";
  EXPECT_EQ(Label(insert + R"(, "startTransaction": true)" + in), "");
  auto commit_fails = [&](int code) {
    EXPECT_EQ(Configure(R"("failCommand", "mode": {"times": 1},
                "data": {"failCommands": ["commitTransaction"], "errorCode": )" +
                        std::to_string(code) + "}"),
              0);
    const bson::Document reply = node_.Run(R"({"commitTransaction": 1)" + in, "admin");
    return std::string(reply["errorLabels"].AsArray()["0"].AsString());
  };
  EXPECT_EQ(commit_fails(kWriteConflict), "TransientTransactionError");
  EXPECT_EQ(commit_fails(kNoSuchTransaction), "TransientTransactionError");
  EXPECT_EQ(commit_fails(kShutdownInProgress), "RetryableWriteError");
}

TEST_F(FailPointTest, ARetryableWriteIsMetWhereItWrites) {
  request::Client client;
  // Whether the connection is closed.
  auto write = [&](const char* number, const std::string& fields) {
    bson::Document body = *bson::Document::FromJson(
        "{" + fields + R"(, "txnNumber": {"$numberLong": ")" + std::string(number) +
        R"("}, "lsid": {"id": {"$binary": {"base64": "AAAAAAAAAAAAAAAAAAAAAA==",
            "subType": "04"}}}})");
    request::Request request;
    request.body = body;
    request.database = "test";
    std::string reply;
    return node_.commands().Run(client, request, &reply).hang_up;
  };
  auto insert = [&](const char* number) {
    return write(number, R"("insert": "c", "documents": [{}])");
  };
  auto count = [&](const std::string& query = "{}") {
    const bson::Document reply = node_.Run(R"({"count": "c", "query": )" + query + "}");
    return reply["n"].AsInt32();
  };
  ASSERT_EQ(Configure(R"("onPrimaryTransactionalWrite", "mode": {"times": 1},
              "data": {"failBeforeCommitExceptionCode": 1})"),
            0);
  EXPECT_TRUE(insert("1"));
  EXPECT_EQ(count(), 0);
  EXPECT_FALSE(insert("1"));
  EXPECT_EQ(count(), 1);
  ASSERT_EQ(Configure(R"("onPrimaryTransactionalWrite", "mode": "alwaysOn")"), 0);
  EXPECT_TRUE(insert("2"));
  EXPECT_FALSE(insert("2")) << "written already";
  EXPECT_EQ(count(), 2);
  EXPECT_FALSE(write("3", R"("delete": "c", "deletes": [{"q": {"no": 1}, "limit": 1}])"))
      << "nothing written";
  // Statements are counted, not commands: the second one fails.
  ASSERT_EQ(Configure(R"("onPrimaryTransactionalWrite", "mode": {"skip": 1},
              "data": {"failBeforeCommitExceptionCode": 1})"),
            0);
  EXPECT_TRUE(write("4", R"("update": "c", "updates": [
      {"q": {}, "u": {"$set": {"first": 1}}}, {"q": {}, "u": {"$set": {"second": 1}}}])"));
  EXPECT_EQ(count(R"({"first": 1})"), 1);
  EXPECT_EQ(count(R"({"second": 1})"), 0);
  // Small documents are committed together, large ones are not.
  auto insert_two = [&](const char* number, size_t bytes) {
    const std::string text(bytes, 'x');
    return write(number, R"("insert": "c", "documents": [{"t": ")" + text + R"("}, {"t": ")" +
                             text + R"("}])");
  };
  for (size_t bytes : {10, 300 * 1024}) {
    ASSERT_EQ(Configure(R"("onPrimaryTransactionalWrite", "mode": {"skip": 1})"), 0);
    EXPECT_EQ(insert_two(bytes == 10 ? "5" : "6", bytes), bytes != 10);
  }
}

TEST_F(FailPointTest, ARetryableInsertFailsByDocument) {
  auto insert = [&](int number, size_t bytes, bool ordered) {
    const std::string text(bytes, 'x');
    const std::string document = R"({"t": ")" + text + "\"}";
    const bson::Document reply =
        node_.Run(R"({"insert": "c", "documents": [)" + document + "," + document +
                  R"(], "ordered": )" + (ordered ? "true" : "false") +
                  R"(, "txnNumber": {"$numberLong": ")" + std::to_string(number) +
                  R"("}, "lsid": {"id": {"$binary": {"base64": "AAAAAAAAAAAAAAAAAAAAAA==",
            "subType": "04"}}}})");
    std::string shown = std::to_string(reply["n"].AsInt32());
    if (reply["writeErrors"].is_array()) {
      for (const bson::Element& e : reply["writeErrors"].AsArray()) {
        shown += " " + std::to_string(e.value().AsDocument()["index"].AsInt32());
      }
    }
    return shown;
  };
  auto fail = [&](const std::string& mode) {
    return Configure(R"("onPrimaryTransactionalWrite", "mode": )" + mode +
                     R"(, "data": {"closeConnection": false, "failBeforeCommitExceptionCode": 2})");
  };
  constexpr size_t kLarge = 300 * 1024;
  ASSERT_EQ(fail(R"({"skip": 1})"), 0);
  EXPECT_EQ(insert(1, kLarge, true), "1 1") << "the group before is committed";
  ASSERT_EQ(fail(R"({"times": 1})"), 0);
  EXPECT_EQ(insert(2, 10, true), "2") << "refused together, committed one by one";
  ASSERT_EQ(fail(R"("alwaysOn")"), 0);
  EXPECT_EQ(insert(3, 10, true), "0 0");
  EXPECT_EQ(insert(4, 10, false), "0 0 1");
  ASSERT_EQ(fail(R"("off")"), 0);
  EXPECT_EQ(insert(4, 10, false), "2") << "nothing of it was remembered";
  EXPECT_EQ(insert(4, 10, false), "2");
  EXPECT_EQ(node_.Json(R"({"count": "c"})"), R"({"n":5,"ok":1.0})");
}

TEST_F(FailPointTest, StreamsAreResumedAfterWhatOnlyInterruptsThem) {
  node_.Run(R"({"insert": "c", "documents": [{}, {}]})");
  auto stream = [&] {
    return MoreOf(R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$changeStream": {}}]})");
  };
  auto fail = [&](int code) {
    ASSERT_EQ(Configure(R"("failGetMoreAfterCursorCheckout", "mode": {"times": 1},
                "data": {"errorCode": )" +
                        std::to_string(code) + "}"),
              0);
  };
  for (int code : {kHostUnreachable, kStaleShardVersion, kRetryChangeStream, kStaleConfig}) {
    fail(code);
    EXPECT_EQ(Label(stream()), "ResumableChangeStreamError") << code;
  }
  fail(kHostUnreachable);
  EXPECT_EQ(Label(MoreOf(R"({"find": "c", "batchSize": 1})")), "");
  ASSERT_EQ(Configure(R"("failCommand", "mode": {"times": 1},
              "data": {"failCommands": ["getMore"], "errorCode": 6})"),
            0);
  EXPECT_EQ(Label(stream()), "") << "met before the cursor";
  fail(kBadValue);
  EXPECT_EQ(Label(stream()), "");
}

// The same of errors that are no fail point's.
TEST_F(FailPointTest, RunningStreamsAreResumedAfterAShutdown) {
  node_.Run(R"({"create": "c"})");
  std::string more =
      MoreOf(R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$changeStream": {}}]})");
  more.insert(more.size() - 1, R"(, "maxTimeMS": 3600000)");
  std::string label;
  std::thread waiting([&] { label = Label(more); });
  bool waits = false;
  while (!waits) {
    std::this_thread::yield();
    node_.commands().operations().ForEach(
        [&](const run::RunningOp& op) { waits |= op.waker != nullptr; });
  }
  node_.commands().operations().KillAll(kInterruptedAtShutdown);
  waiting.join();
  EXPECT_EQ(label, "ResumableChangeStreamError");
}

// A wait ends with the time the command has.
TEST_F(FailPointTest, Blocks) {
  ASSERT_EQ(Configure(R"("failCommand", "mode": "alwaysOn", "data": {"failCommands": ["find"],
              "blockConnection": true, "blockTimeMS": 3600000})"),
            0);
  EXPECT_EQ(node_.Code(R"({"find": "c", "maxTimeMS": 20})"), kMaxTimeMSExpired);
}

}  // namespace
}  // namespace quire::command
