// SPDX-License-Identifier: Apache-2.0
//
// Commands with scripts: $where, $function, $accumulator, mapReduce.
#include "js/script.h"

#include <map>
#include <random>

#include "command/testing/harness.h"

namespace quire::command {
namespace {

void Fill(Node& node) {
  node.Run(R"({"insert": "c", "documents": [
      {"_id": 1, "k": "a", "v": 1}, {"_id": 2, "k": "b", "v": 10}, {"_id": 3, "k": "a", "v": 2},
      {"_id": 4, "k": "b", "v": 20}, {"_id": 5, "k": "a", "v": 3}]})");
}

TEST(Where, SelectsInEveryCommandWithAFilter) {
  Node node;
  Fill(node);
  EXPECT_EQ(node.Batch(R"({"find": "c", "filter": {"$where": "this.v > 5"},
                           "projection": {"_id": 1}})"),
            R"([{"_id":2},{"_id":4}])");
  EXPECT_EQ(node.Batch(R"({"find": "c", "filter": {"k": "a", "$or": [{"$where": "obj.v == 1"},
                           {"$where": "return this.v == 3"}]}, "projection": {"_id": 1}})"),
            R"([{"_id":1},{"_id":5}])");
  EXPECT_EQ(node.Json(R"({"count": "c", "query": {"$where": "this.k == 'b'"}})"),
            R"({"n":2,"ok":1.0})");
  EXPECT_EQ(node.Json(R"({"update": "c", "updates": [{"q": {"$where": "this.v == 20"},
                          "u": {"$set": {"w": 1}}}]})")
                .substr(0, 6),
            R"({"n":1)");
  EXPECT_EQ(node.Json(R"({"delete": "c", "deletes": [{"q": {"$where": {"$code": "this.w"}},
                          "limit": 0}]})")
                .substr(0, 6),
            R"({"n":1)");
}

TEST(Where, CallsStoredFunctions) {
  Node node;
  Fill(node);
  node.Run(R"({"insert": "system.js", "documents": [
      {"_id": "big", "value": {"$code": "function(x) { return x >= limit; }"}},
      {"_id": "limit", "value": 10}]})");
  EXPECT_EQ(node.Batch(R"({"find": "c", "filter": {"$where": "big(this.v) "
}
, "projection" : { "_id" : 1 }
})"),
            R"([{"_id":2},{"_id":4}])");
  EXPECT_EQ(
      node.Json(R"({"mapReduce": "c", "map": "function() { if (big(this.v)) emit(1, this.v); }",
                          "reduce": "function(k, v) { return Array.sum(v); }",
                          "out": {"inline": 1}})"),
      R"({"results":[{"_id":1.0,"value":30.0}],"ok":1.0})");
}

struct CodeCase {
  const char* command;
  int code;
};

TEST(Scripts, CodesByCommand) {
  Node node;
  Fill(node);
  node.Run(R"({"create": "view", "viewOn": "c", "pipeline": []})");
  const CodeCase cases[] = {
      {R"({"find": "c", "filter": {"$where": 1}})", 2},
      {R"({"find": "c", "filter": {"a": {"$elemMatch": {"$where": "1"}}}})", 2},
      {R"({"find": "c", "filter": {"$where": {"$code": "1", "$scope": {}}}})", 2},
      {R"({"find": "c", "filter": {"$where": "throw 1"}})", 8},
      {R"({"find": "c", "filter": {"$where": "nope() "}})", 139},
      {R"({"find": "c", "filter": {"$where": "for (;;) {}"}, "maxTimeMS": 20})", 50},
      {R"({"aggregate": "c", "pipeline": [{"$match": {"$where": "1"}}], "cursor": {}})", 2},
      {R"({"aggregate": "c", "pipeline": [{"$_internalMapReduce": {}}], "cursor": {}})", 40324},
      {R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$project": {"a": {"$function": 1}}}]})",
       31260},
      {R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$project": {"a": {"$function":
           {"args": [], "lang": "js"}}}}]})",
       31261},
      {R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$project": {"a": {"$function":
           {"body": "$x", "args": [], "lang": "js"}}}}]})",
       31432},
      {R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$project": {"a": {"$function":
           {"body": 1, "args": [], "lang": "js"}}}}]})",
       31262},
      {R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$project": {"a": {"$function":
           {"body": "1", "lang": "js"}}}}]})",
       31263},
      {R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$project": {"a": {"$function":
           {"body": "1", "args": []}}}}]})",
       31418},
      {R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$project": {"a": {"$function":
           {"body": "1", "args": [], "lang": "py"}}}}]})",
       31419},
      {R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$project": {"a": {"$function":
           {"body": "1", "args": 1, "lang": "js"}}}}]})",
       31266},
      {R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$group": {"_id": 1, "a": {"$accumulator":
           1}}}]})",
       4544703},
      {R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$group": {"_id": 1, "a": {"$accumulator":
           {"lang": "js"}}}}]})",
       4544707},
      {R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$group": {"_id": 1, "a": {"$accumulator":
           {"init": "1", "accumulate": "1", "accumulateArgs": 1, "merge": "1", "lang": "js"}}}}]})",
       4544712},
      {R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$setWindowFields": {"output": {"a":
           {"$accumulator": {}}}}}]})",
       9},
      {R"({"mapReduce": "c", "reduce": "1", "out": {"inline": 1}})", 40414},
      {R"({"mapReduce": "c", "map": "1", "reduce": "1"})", 40414},
      {R"({"mapReduce": "c", "map": 1, "reduce": "1", "out": {"inline": 1}})", 2},
      {R"({"mapReduce": "c", "map": "1", "reduce": "1", "out": {"inline": 1}, "nosuch": 1})",
       40415},
      {R"({"mapReduce": "c", "map": "1", "reduce": "1", "out": 1})", 2},
      {R"({"mapReduce": "c", "map": "1", "reduce": "1", "out": {}})", 2},
      {R"({"mapReduce": "c", "map": "1", "reduce": "1", "out": {"nosuch": "x"}})", 2},
      {R"({"mapReduce": "c", "map": "1", "reduce": "1", "out": {"replace": "x",
           "nonAtomic": true}})",
       0},
      {R"({"mapReduce": "c", "map": "1", "reduce": "1", "out": {"replace": "x",
           "nonAtomic": false}})",
       2},
      {R"({"mapReduce": "c", "map": "1", "reduce": "1", "out": {"merge": "x", "nonAtomic": 1}})",
       2},
      {R"({"mapReduce": "c", "map": "1", "reduce": "1", "out": {"merge": "x", "sharded": true}})",
       72},
      {R"({"mapReduce": "c", "map": "1", "reduce": "1", "out": {"merge": "x", "sharded": false}})",
       2},
      {R"({"mapReduce": "c", "map": "1", "reduce": "1", "out": {"inline": 1, "sharded": true}})",
       72},
      {R"({"mapReduce": "c", "map": "1", "reduce": "1", "out": {"inline": 2}})", 2},
      {R"({"mapReduce": "c", "map": "1", "reduce": "1", "out": {"normal": "x"}})", 2},
      {R"({"mapReduce": "c", "map": "1", "reduce": "1", "out": {"merge": "x", "db": "admin"}})",
       115},
      {R"({"mapReduce": "view", "map": "1", "reduce": "1", "out": {"inline": 1}})", 166},
      {R"({"mapReduce": "c", "map": "emit(1) ", "reduce": "1", "out": {"inline": 1}})", 31220},
      {R"({"mapReduce": "nosuch", "map": "1", "reduce": "1", "out": {"inline": 1}})", 0},
      {R"({"mapReduce": "c", "map": "1", "reduce": "1", "out": {"inline": 1}, "jsMode": true,
           "verbose": true, "sort": {"_id": 1}, "limit": 2})",
       0},
  };
  for (const CodeCase& c : cases) {
    EXPECT_EQ(node.Code(c.command), c.code) << c.command << node.Json(c.command);
  }
}

TEST(Scripts, SwitchedOff) {
  Node node;
  Fill(node);
  js::SetEnabled(false);
  EXPECT_EQ(node.Code(R"({"find": "c", "filter": {"$where": "1"}})"), 2);
  EXPECT_EQ(node.Code(R"({"mapReduce": "c", "map": "1", "reduce": "1", "out": {"inline": 1}})"),
            31264);
  EXPECT_EQ(node.Code(R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$project": {"a":
                          {"$function": {"body": "1", "args": [], "lang": "js"}}}}]})"),
            31264);
  js::SetEnabled(true);
}

TEST(Function, SharesGlobalsInOnePipeline) {
  Node node;
  Fill(node);
  EXPECT_EQ(
      node.Batch(R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$limit": 2}, {"$project": {
              "a": {"$function": {"body": "function(v) { last = v; return typeof v; }",
                                  "args": ["$v"], "lang": "js"}},
              "b": {"$function": {"body": "function() { return last; }", "args": [],
                                  "lang": "js"}}}}]})"),
      R"([{"_id":1,"a":"number","b":1.0},{"_id":2,"a":"number","b":10.0}])");
}

TEST(Accumulator, InGroupAndBucket) {
  Node node;
  Fill(node);
  const std::string sum = R"({"$accumulator": {"init": "function(s) { return s; }",
      "initArgs": [100], "accumulate": "function(s, v) { return s + v; }",
      "accumulateArgs": ["$v"], "merge": "function(a, b) { return a + b; }",
      "finalize": "function(s) { return 'sum ' + s; }", "lang": "js"}})";
  EXPECT_EQ(node.Batch(R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$group": {"_id": "$k",
                           "s": )" +
                       sum + R"(}}, {"$sort": {"_id": 1}}]})"),
            R"([{"_id":"a","s":"sum 106"},{"_id":"b","s":"sum 130"}])");
  EXPECT_EQ(node.Batch(R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$bucket": {
                           "groupBy": "$v", "boundaries": [0, 5, 50], "output": {"s": )" +
                       sum + R"(}}}]})"),
            R"([{"_id":0,"s":"sum 106"},{"_id":5,"s":"sum 130"}])");
}

constexpr const char* kSum = R"("map": "function() { emit(this.k, this.v); }",
    "reduce": "function(k, v) { return Array.sum(v); }")";

TEST(MapReduce, OutputModes) {
  Node node;
  Fill(node);
  auto run = [&](const std::string& rest) {
    return node.Json(std::string(R"({"mapReduce": "c", )") + kSum + ", " + rest + "}");
  };
  auto target = [&](const std::string& rest) {
    return node.Batch(R"({"find": "t", "sort": {"_id": 1})" + rest + "}");
  };
  EXPECT_EQ(run(R"("out": {"inline": 1})"),
            R"({"results":[{"_id":"a","value":6.0},{"_id":"b","value":30.0}],"ok":1.0})");
  EXPECT_EQ(
      run(R"("out": {"inline": 1}, "query": {"v": {"$gt": 1}}, "sort": {"v": -1}, "limit": 3)"),
      R"({"results":[{"_id":"b","value":30.0},{"_id":"a","value":3.0}],"ok":1.0})");
  EXPECT_EQ(run(R"("out": "t")"), R"({"result":"t","ok":1.0})");
  EXPECT_EQ(run(R"("out": {"merge": "t"}, "query": {"k": "a"}, "scope": {"x": 5},
                   "finalize": "function(k, v) { return v + x; }")"),
            R"({"result":"t","ok":1.0})");
  EXPECT_EQ(target(""), R"([{"_id":"a","value":11.0},{"_id":"b","value":30.0}])");
  EXPECT_EQ(run(R"("out": {"reduce": "t", "nonAtomic": true}, "scope": {"x": 1},
                   "finalize": "function(k, v) { return v + x; }")"),
            R"({"result":"t","ok":1.0})");
  EXPECT_EQ(target(""), R"([{"_id":"a","value":19.0},{"_id":"b","value":62.0}])");
  EXPECT_EQ(run(R"("out": {"replace": "t", "db": "other"})"),
            R"({"result":{"db":"other","collection":"t"},"ok":1.0})");
  EXPECT_EQ(run(R"("out": {"replace": "t"}, "query": {"v": 1})"), R"({"result":"t","ok":1.0})");
  EXPECT_EQ(target(""), R"([{"_id":"a","value":1.0}])");
}

TEST(MapReduce, Explains) {
  Node node;
  Fill(node);
  std::string json = node.Json(std::string(R"({"explain": {"mapReduce": "c", )") + kSum +
                               R"(, "out": {"inline": 1}}, "verbosity": "executionStats"})");
  EXPECT_NE(json.find("$_internalMapReduce"), std::string::npos) << json;
  EXPECT_NE(json.find("COLLSCAN"), std::string::npos) << json;
}

TEST(MapReduce, ReducesAgainWhatWasReduced) {
  Node node;
  EXPECT_EQ(node.Code(R"({"insert": "one", "documents": [{"_id": 1}]})"), 0);
  EXPECT_EQ(node.Json(R"({"mapReduce": "one",
      "map": "for (var i = 0; i < 5000; ++i) emit(i % 2, 1);",
      "reduce": "function(k, v) { return Array.sum(v); }", "out": {"inline": 1}})"),
            R"({"results":[{"_id":0.0,"value":2500.0},{"_id":1.0,"value":2500.0}],"ok":1.0})");
}

// Events to hours, days, weeks, months and years: by mapReduce, by $group and $merge, and directly.
class RollUp : public testing::Test {
 protected:
  static constexpr int64_t kHour = 3600000;
  struct Level {
    const char* name;
    const char* source;      // level it is made of
    const char* start;       // of the bucket, of the date t, in JavaScript
    const char* expression;  // the same of $d
  };
  static constexpr Level kLevels[] = {
      {"hourly", "events", "new Date(Math.floor(t.getTime() / 3600000) * 3600000)",
       R"({"$dateTrunc": {"date": "$d", "unit": "hour"}})"},
      {"daily", "hourly", "new Date(Date.UTC(t.getUTCFullYear(), t.getUTCMonth(), t.getUTCDate()))",
       R"({"$dateTrunc": {"date": "$d", "unit": "day"}})"},
      {"weekly", "daily", "new Date(t.getTime() - t.getUTCDay() * 86400000)",
       R"({"$dateTrunc": {"date": "$d", "unit": "week"}})"},
      {"monthly", "daily", "new Date(Date.UTC(t.getUTCFullYear(), t.getUTCMonth(), 1))",
       R"({"$dateTrunc": {"date": "$d", "unit": "month"}})"},
      {"yearly", "monthly", "new Date(Date.UTC(t.getUTCFullYear(), 0, 1))",
       R"({"$dateTrunc": {"date": "$d", "unit": "year"}})"},
  };

  // A batch of events of random users and times; remembers them.
  void Insert(int count) {
    bson::Builder command;
    command.Append("insert", "events").BeginArray("documents");
    for (int i = 0; i < count; ++i) {
      std::string user(1, static_cast<char>('a' + random_() % 3));
      int64_t time = 1286000000000 + static_cast<int64_t>(random_() % (500 * 24)) * kHour +
                     static_cast<int64_t>(random_() % kHour);
      auto length = static_cast<int32_t>(random_() % 100);
      command.PushDocument()
          .Append("u", user)
          .Append("d", bson::Date{time})
          .Append("length", length)
          .Append("batch", batch_)
          .End();
      events_.push_back({user, time, length});
    }
    command.End();
    bson::Document document = command.Finish();
    ASSERT_EQ(node_.Code(bson::ToJson(document)), 0);
  }

  // Adds the batch to its hours and computes the other levels anew from the level below.
  void RunMapReduce() {
    for (const Level& level : kLevels) {
      bool first = std::string_view(level.source) == "events";
      std::string map =
          first ? "var t = this.d; var v = {total: this.length, count: 1, mean: 0}; var u = this.u;"
                : "var t = this._id.d; var v = this.value; var u = this._id.u;";
      std::string command =
          std::string(R"({"mapReduce": ")") + (first ? "" : "mr.") + level.source +
          R"(", "map": "function() { )" + map + " emit({u: u, d: " + level.start +
          R"(}, v); }", "reduce": "function(k, vs) { var r = {total: 0, count: 0, mean: 0}; )" +
          R"(vs.forEach(function(v) { r.total += v.total; r.count += v.count; }); return r; }",)" +
          R"("finalize": "function(k, v) { v.mean = v.total / v.count; return v; }",)" +
          (first ? R"("query": {"batch": )" + std::to_string(batch_) + "}," : "") + R"("out": {")" +
          (first ? "reduce" : "replace") + R"(": "mr.)" + level.name + "\"}}";
      ASSERT_EQ(node_.Code(command), 0) << node_.Json(command);
    }
  }

  void RunPipelines() {
    for (const Level& level : kLevels) {
      bool first = std::string_view(level.source) == "events";
      std::string parts =
          first ? R"({"$project": {"u": 1, "d": 1, "t": "$length", "n": {"$literal": 1}}})"
                : R"({"$project": {"u": "$_id.u", "d": "$_id.d", "t": "$value.total",
                                      "n": "$value.count"}})";
      std::string command = std::string(R"({"aggregate": ")") + (first ? "" : "agg.") +
                            level.source + R"(", "cursor": {}, "pipeline": [)" + parts +
                            R"(, {"$group": {"_id": {"u": "$u", "d": )" + level.expression +
                            R"(}, "total": {"$sum": "$t"}, "count": {"$sum": "$n"}}},
          {"$project": {"value": {"total": "$total", "count": "$count",
                                  "mean": {"$divide": ["$total", "$count"]}}}},
          {"$merge": {"into": "agg.)" +
                            level.name + R"(", "whenMatched": "replace"}}]})";
      ASSERT_EQ(node_.Code(command), 0) << node_.Json(command);
    }
  }

  // {user, bucket start} -> {total, count}, of the events themselves.
  std::map<std::string, std::string> Direct(std::string_view level) {
    std::map<std::string, std::pair<int64_t, int64_t>> sums;
    for (const Event& event : events_) {
      auto& [total, count] = sums[event.user + " " + std::to_string(Start(level, event.time))];
      total += event.length;
      ++count;
    }
    std::map<std::string, std::string> out;
    for (const auto& [key, sum] : sums) {
      out[key] = Text(static_cast<double>(sum.first), static_cast<double>(sum.second));
    }
    return out;
  }

  std::map<std::string, std::string> Stored(const std::string& collection) {
    std::map<std::string, std::string> out;
    bson::Document reply =
        node_.Run(R"({"find": ")" + collection + R"(", "batchSize": 100000, "singleBatch": true})");
    for (const bson::Element& e : reply["cursor"].AsDocument()["firstBatch"].AsArray()) {
      bson::View id = e.value().AsDocument()["_id"].AsDocument();
      bson::View value = e.value().AsDocument()["value"].AsDocument();
      auto number = [&](const char* name) {
        bson::Value v = value[name];
        return v.type() == bson::Type::kDouble ? v.AsDouble() : static_cast<double>(v.AsInt64());
      };
      std::string key =
          std::string(id["u"].AsString()) + " " + std::to_string(id["d"].AsDate().millis);
      EXPECT_EQ(number("mean"), number("total") / number("count"));
      out[key] = Text(number("total"), number("count"));
    }
    return out;
  }

  struct Event {
    std::string user;
    int64_t time;
    int64_t length;
  };

  static std::string Text(double total, double count) {
    return std::to_string(total) + "/" + std::to_string(count);
  }

  static int64_t Start(std::string_view level, int64_t millis) {
    using std::chrono::days;
    std::chrono::sys_time<std::chrono::milliseconds> time{std::chrono::milliseconds(millis)};
    std::chrono::sys_days day = std::chrono::floor<days>(time);
    std::chrono::year_month_day date(day);
    if (level == "hourly") {
      return millis / kHour * kHour;
    }
    if (level == "weekly") {
      day -= std::chrono::weekday(day) - std::chrono::Sunday;
    } else if (level == "monthly") {
      day = date.year() / date.month() / 1;
    } else if (level == "yearly") {
      day = date.year() / std::chrono::January / 1;
    }
    return std::chrono::milliseconds(day.time_since_epoch()).count();
  }

  Node node_;
  std::mt19937 random_{7};
  std::vector<Event> events_;
  int32_t batch_ = 0;
};

TEST_F(RollUp, MapReduceAndPipelinesAgreeWithADirectSum) {
  for (batch_ = 0; batch_ < 3; ++batch_) {
    Insert(400);
    RunMapReduce();
    RunPipelines();
    for (const Level& level : kLevels) {
      auto direct = Direct(level.name);
      EXPECT_EQ(Stored(std::string("mr.") + level.name), direct) << level.name;
      EXPECT_EQ(Stored(std::string("agg.") + level.name), direct) << level.name;
    }
  }
}

}  // namespace
}  // namespace quire::command
