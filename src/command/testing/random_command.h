// SPDX-License-Identifier: Apache-2.0
//
// A grammar of commands: any command with arguments of its own and of others, right and wrong,
// drawn by a seed. Written as extended JSON, which a failure can print.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quire::command {

struct RandomNamespace {
  std::string_view database;
  std::string_view collection;
};

// Every kind there is. kNamespaceSetup makes them.
inline constexpr RandomNamespace kNamespaceKinds[] = {
    {"fuzz", "c"},
    {"fuzz", "missing"},
    {"fuzz", "empty"},
    {"fuzz", "capped"},
    {"fuzz", "clustered"},
    {"fuzz", "validated"},
    {"fuzz", "collated"},
    {"fuzz", "view"},
    {"fuzz", "viewOfView"},
    {"fuzz", "viewOfNothing"},
    {"fuzz", "viewOfGroup"},
    {"fuzz", "viewOfLookup"},
    {"fuzz", "viewOfOplog"},
    {"fuzz", "viewCollated"},
    {"fuzz", "system.views"},
    {"fuzz", "system.profile"},
    {"fuzz", "system.js"},
    {"fuzz", "system.buckets.c"},
    {"nothing", "at all"},
    {"local", "oplog.rs"},
    {"local", "viewOfOplog"},
    {"local", "system.replset"},
    {"local", "c"},
    {"config", "settings"},
    {"config", "transactions"},
    {"config", "system.sessions"},
    {"config", "system.indexBuilds"},
    {"config", "c"},
    {"admin", "system.users"},
    {"admin", "system.roles"},
    {"admin", "system.version"},
    {"admin", "c"},
    {"$external", "c"},
};

// Run in this order on the database; errors are of no interest. May be run again at any time.
inline constexpr std::pair<std::string_view, std::string_view> kNamespaceSetup[] = {
    {"admin", R"({"fsyncUnlock": 1})"},
    {"admin", R"({"setUserWriteBlockMode": 1, "global": false})"},
    {"fuzz", R"({"profile": 2, "slowms": 0, "sampleRate": 1.0})"},
    {"fuzz", R"({"create": "empty"})"},
    {"fuzz", R"({"create": "capped", "capped": true, "size": 4096, "max": 3})"},
    {"fuzz", R"({"create": "clustered", "clusteredIndex": {"key": {"_id": 1}, "unique": true}})"},
    {"fuzz", R"({"create": "validated", "validator": {"$jsonSchema": {"required": ["a"],
               "properties": {"s": {"pattern": "^x"}}}}})"},
    {"fuzz", R"({"create": "collated", "collation": {"locale": "en", "strength": 2}})"},
    {"fuzz", R"({"create": "view", "viewOn": "c", "pipeline": [{"$match": {"a": {"$gt": 0}}}]})"},
    {"fuzz", R"({"create": "viewOfView", "viewOn": "view", "pipeline": [{"$set": {"v": "$a"}}]})"},
    {"fuzz", R"({"create": "viewOfNothing", "viewOn": "missing", "pipeline": []})"},
    {"fuzz", R"({"create": "viewOfGroup", "viewOn": "c",
               "pipeline": [{"$group": {"_id": "$a", "n": {"$sum": 1}, "t": {"$push": "$t"}}}]})"},
    {"fuzz", R"({"create": "viewOfLookup", "viewOn": "c", "pipeline": [{"$lookup": {"from": "view",
               "localField": "a", "foreignField": "a", "as": "t"}}]})"},
    {"fuzz", R"({"create": "viewOfOplog", "viewOn": "oplog.rs", "pipeline": []})"},
    {"local", R"({"create": "viewOfOplog", "viewOn": "oplog.rs",
                "pipeline": [{"$match": {"op": "i"}}]})"},
    {"fuzz", R"({"create": "viewCollated", "viewOn": "collated", "pipeline": [],
               "collation": {"locale": "en", "strength": 2}})"},
    {"fuzz", R"({"createIndexes": "c", "indexes": [{"key": {"a": 1, "b": -1}, "name": "ab"},
               {"key": {"t": 1}, "name": "t"}, {"key": {"u": 1}, "name": "u", "unique": true,
               "sparse": true}, {"key": {"s": "text"}, "name": "text"},
               {"key": {"p": "2dsphere"}, "name": "p"}, {"key": {"q": "2d"}, "name": "q"},
               {"key": {"h": "hashed"}, "name": "h"}, {"key": {"w.$**": 1}, "name": "w"},
               {"key": {"e": 1}, "name": "e", "partialFilterExpression": {"a": {"$gt": 1}}}]})"},
    {"fuzz", R"({"createIndexes": "collated", "indexes": [{"key": {"s": 1}, "name": "s"}]})"},
    {"fuzz", R"({"insert": "c", "ordered": false, "documents": [
               {"_id": 1, "a": 1, "b": "x", "t": [1, 2, [3]], "u": 1, "s": "one word",
                "d": {"$date": "2024-02-29T01:02:03Z"}, "p": {"type": "Point", "coordinates": [1, 2]}},
               {"_id": 2, "a": 2.5, "b": null, "t": ["a", {"k": [3, {"k": 4}]}], "u": 2, "q": [3, 4],
                "w": {"x": {"y": 1}}, "e": 3, "s": "two words"},
               {"_id": {"$oid": "5f5f5f5f5f5f5f5f5f5f5f5f"}, "a": {"$numberDecimal": "3"},
                "b": {"c": 1, "d": [{"c": 2}]}, "u": 3, "h": {"$numberLong": "5"}, "t": []},
               {"_id": "four", "a": -1, "s": "", "w": [1, {"x": 2}], "e": {"$minKey": 1}}]})"},
    {"fuzz", R"({"insert": "collated", "ordered": false,
               "documents": [{"_id": 1, "s": "A"}, {"_id": 2, "s": "a"}]})"},
    {"fuzz", R"({"insert": "capped", "documents": [{"a": 1}, {"a": 2}]})"},
    {"fuzz", R"({"insert": "clustered", "ordered": false,
               "documents": [{"_id": 1, "a": 1}, {"_id": "b", "a": 2}]})"},
    {"fuzz", R"({"insert": "validated", "documents": [{"a": 1, "s": "x"}]})"},
    {"fuzz", R"({"insert": "system.js", "ordered": false,
               "documents": [{"_id": "f", "value": {"$code": "function (x) { return x; }"}}]})"},
};

class RandomCommand {
 public:
  explicit RandomCommand(uint64_t seed) : random_(seed) {}

  // A command as JSON: `name` on `ns`, perhaps explained.
  std::string Make(std::string_view name, const RandomNamespace& ns, bool explain) {
    ns_ = ns;
    std::string body = "{" + Quote(name) + ": " + Target(name);
    AddOwnFields(name, &body);
    for (size_t extra = Below(3); extra > 0; --extra) {
      const FieldRow& row = kFields[Below(std::size(kFields))];
      body += ", " + Quote(row.name) + ": " + Make(row.kind);
    }
    body += GenericFields() + "}";
    if (!explain) {
      return body;
    }
    return R"({"explain": )" + body + R"(, "verbosity": )" +
           Pick({R"("queryPlanner")", R"("executionStats")", R"("allPlansExecution")"}) +
           R"(, "maxTimeMS": 2000})";
  }

  size_t Below(size_t bound) { return bound == 0 ? 0 : random_() % bound; }

 private:
  enum class Kind {
    kAny,
    kBool,
    kNumber,
    kSmall,
    kText,
    kPath,
    kCollection,
    kFullName,
    kFilter,
    kProjection,
    kSort,
    kKey,
    kHint,
    kPipeline,
    kUpdate,
    kUpdates,
    kDeletes,
    kDocuments,
    kDocument,
    kIndexes,
    kCollation,
    kExpression,
    kLet,
    kCursor,
    kCode,
    kList,
    kOperations,
  };
  struct FieldRow {
    std::string_view name;
    Kind kind;
  };
  struct CommandRow {
    std::string_view name;
    std::string_view fields;  // of kFields, separated by spaces
  };

  static constexpr FieldRow kFields[] = {
      {"filter", Kind::kFilter},
      {"query", Kind::kFilter},
      {"q", Kind::kFilter},
      {"projection", Kind::kProjection},
      {"fields", Kind::kProjection},
      {"sort", Kind::kSort},
      {"hint", Kind::kHint},
      {"min", Kind::kKey},
      {"max", Kind::kKey},
      {"skip", Kind::kSmall},
      {"limit", Kind::kSmall},
      {"batchSize", Kind::kSmall},
      {"singleBatch", Kind::kBool},
      {"returnKey", Kind::kBool},
      {"showRecordId", Kind::kBool},
      {"tailable", Kind::kBool},
      {"awaitData", Kind::kBool},
      {"noCursorTimeout", Kind::kBool},
      {"allowDiskUse", Kind::kBool},
      {"collation", Kind::kCollation},
      {"let", Kind::kLet},
      {"key", Kind::kPath},
      {"pipeline", Kind::kPipeline},
      {"cursor", Kind::kCursor},
      {"explain", Kind::kBool},
      {"update", Kind::kUpdate},
      {"updates", Kind::kUpdates},
      {"deletes", Kind::kDeletes},
      {"documents", Kind::kDocuments},
      {"ordered", Kind::kBool},
      {"remove", Kind::kBool},
      {"new", Kind::kBool},
      {"upsert", Kind::kBool},
      {"arrayFilters", Kind::kList},
      {"bypassDocumentValidation", Kind::kBool},
      {"indexes", Kind::kIndexes},
      {"index", Kind::kHint},
      {"capped", Kind::kBool},
      {"size", Kind::kNumber},
      {"viewOn", Kind::kCollection},
      {"validator", Kind::kFilter},
      {"validationLevel", Kind::kText},
      {"clusteredIndex", Kind::kDocument},
      {"to", Kind::kFullName},
      {"toCollection", Kind::kCollection},
      {"dropTarget", Kind::kBool},
      {"full", Kind::kBool},
      {"scale", Kind::kSmall},
      {"estimate", Kind::kBool},
      {"keyPattern", Kind::kKey},
      {"nameOnly", Kind::kBool},
      {"cursors", Kind::kList},
      {"collection", Kind::kCollection},
      {"map", Kind::kCode},
      {"reduce", Kind::kCode},
      {"finalize", Kind::kCode},
      {"out", Kind::kAny},
      {"scope", Kind::kDocument},
      {"ops", Kind::kOperations},
      {"nsInfo", Kind::kList},
      {"applyOps", Kind::kOperations},
      {"roles", Kind::kList},
      {"privileges", Kind::kList},
      {"pwd", Kind::kText},
      {"users", Kind::kList},
      {"settings", Kind::kDocument},
      {"indexFilters", Kind::kList},
      {"expireAfterSeconds", Kind::kNumber},
      {"changeStreamPreAndPostImages", Kind::kDocument},
      {"sampleRate", Kind::kNumber},
      {"slowms", Kind::kNumber},
      {"op", Kind::kNumber},
      {"payload", Kind::kAny},
      {"mechanism", Kind::kText},
      {"lsid", Kind::kAny},
      {"defaultReadConcern", Kind::kDocument},
      {"defaultWriteConcern", Kind::kDocument},
      {"db", Kind::kText},
      {"config", Kind::kDocument},
      {"force", Kind::kBool},
      {"showPrivileges", Kind::kBool},
      {"readConcern", Kind::kDocument},
      {"writeConcern", Kind::kDocument},
      {"comment", Kind::kAny},
      {"value", Kind::kAny},
      {"name", Kind::kText},
      {"startTransaction", Kind::kBool},
  };
  static constexpr CommandRow kCommands[] = {
      {"find",
       "filter projection sort hint skip limit batchSize collation let returnKey showRecordId "
       "tailable min max allowDiskUse singleBatch"},
      {"count", "query hint skip limit collation"},
      {"distinct", "key query hint collation"},
      {"aggregate", "pipeline cursor collation let hint allowDiskUse"},
      {"update", "updates ordered let bypassDocumentValidation"},
      {"delete", "deletes ordered let"},
      {"insert", "documents ordered bypassDocumentValidation"},
      {"findAndModify",
       "query sort update remove new upsert fields hint collation arrayFilters let"},
      {"bulkWrite", "ops nsInfo ordered"},
      {"mapReduce", "map reduce out query sort limit finalize scope"},
      {"create",
       "viewOn pipeline capped size max validator collation clusteredIndex "
       "changeStreamPreAndPostImages"},
      {"createIndexes", "indexes"},
      {"dropIndexes", "index"},
      {"collMod", "validator viewOn pipeline index"},
      {"renameCollection", "to dropTarget"},
      {"cloneCollectionAsCapped", "toCollection size"},
      {"convertToCapped", "size"},
      {"validate", "full"},
      {"collStats", "scale"},
      {"dataSize", "keyPattern min max estimate"},
      {"listCollections", "filter nameOnly cursor"},
      {"listIndexes", "cursor"},
      {"listDatabases", "filter nameOnly"},
      {"getMore", "collection batchSize"},
      {"killCursors", "cursors"},
      {"planCacheSetFilter", "query sort projection indexes"},
      {"planCacheClear", "query sort projection"},
      {"setQuerySettings", "settings"},
      {"createUser", "pwd roles"},
      {"updateUser", "pwd roles"},
      {"createRole", "privileges roles"},
      {"updateRole", "privileges roles"},
      {"profile", "slowms sampleRate filter"},
  };

  static std::string Quote(std::string_view text) {
    std::string quoted = "\"";
    for (char c : text) {
      if (c == '"' || c == '\\') {
        quoted += '\\';
      }
      quoted += c;
    }
    return quoted + "\"";
  }
  std::string Pick(std::initializer_list<std::string_view> choices) {
    return std::string(choices.begin()[Below(choices.size())]);
  }
  bool Chance(size_t of) { return Below(of) == 0; }

  // What a command's own name stands before.
  std::string Target(std::string_view name) {
    if (Chance(20)) {
      return Make(Kind::kAny);
    }
    if (name == "renameCollection" || name == "dataSize") {
      return Make(Kind::kFullName);
    }
    if (name == "getMore") {
      return Pick({R"({"$numberLong": "1"})", R"({"$numberLong": "0"})",
                   R"({"$numberLong": "-9223372036854775808"})"});
    }
    if (name == "applyOps") {
      return Make(Kind::kOperations);
    }
    if (name == "aggregate" && Chance(5)) {
      return "1";
    }
    static constexpr std::string_view kOnDatabase[] = {
        "listCollections", "listDatabases", "dbStats", "currentOp", "profile", "hello", "ping"};
    bool on_database =
        std::find(std::begin(kOnDatabase), std::end(kOnDatabase), name) != std::end(kOnDatabase);
    return on_database ? "1" : Quote(ns_.collection);
  }

  void AddOwnFields(std::string_view name, std::string* body) {
    for (const CommandRow& row : kCommands) {
      if (row.name != name) {
        continue;
      }
      // The first is what the command cannot do without.
      bool first = true;
      std::string_view rest = row.fields;
      while (!rest.empty()) {
        std::string_view field = rest.substr(0, rest.find(' '));
        rest.remove_prefix(std::min(rest.size(), field.size() + 1));
        if (Chance(first ? 1 : 3)) {
          *body += ", " + Quote(field) + ": " + Make(KindOf(field));
        }
        first = Chance(3) && first;
      }
    }
  }
  static Kind KindOf(std::string_view field) {
    for (const FieldRow& row : kFields) {
      if (row.name == field) {
        return row.kind;
      }
    }
    return Kind::kAny;
  }

  std::string GenericFields() {
    std::string fields = R"(, "maxTimeMS": 2000)";
    if (Chance(8)) {
      fields += R"(, "lsid": {"id": {"$binary": {"base64": "AAECAwQFBgcICQoLDA0ODw==",)"
                R"( "subType": "04"}}})";
      if (Chance(2)) {
        fields += R"(, "txnNumber": {"$numberLong": ")" + std::to_string(Below(3)) + R"("})";
        fields += Chance(2) ? R"(, "autocommit": false, "startTransaction": true)" : "";
      }
    }
    if (Chance(10)) {
      fields += R"(, "readConcern": {"level": )" +
                Pick({R"("local")", R"("majority")", R"("snapshot")", R"("linearizable")"}) + "}";
    }
    return fields;
  }

  std::string Path() {
    return Pick({"a",  "b",  "t",     "u",   "s",    "d",   "p",     "q",     "h",
                 "w",  "e",  "_id",   "a.b", "t.0",  "t.k", "b.d.c", "w.x.y", "op",
                 "ts", "ns", "o._id", "",    "$bad", "a.",  "t.$",   "t.$[]"});
  }
  std::string Scalar() {
    switch (Below(20)) {
      case 0:
        return "null";
      case 1:
        return "true";
      case 2:
        return R"({"$numberLong": ")" + Pick({"9223372036854775807", "-1", "5"}) + R"("})";
      case 3:
        return R"({"$numberDouble": ")" + Pick({"NaN", "-Infinity", "0.5", "1e300"}) + R"("})";
      case 4:
        return R"({"$numberDecimal": ")" + Pick({"NaN", "1E6144", "3.00", "-0"}) + R"("})";
      case 5:
        return R"({"$date": {"$numberLong": ")" + Pick({"0", "-62135596800001", "1700000000000"}) +
               R"("}})";
      case 6:
        return R"({"$timestamp": {"t": 1, "i": 2}})";
      case 7:
        return R"({"$oid": "5f5f5f5f5f5f5f5f5f5f5f5f"})";
      case 8:
        return R"({"$regularExpression": {"pattern": )" +
               Pick({R"("^x")", R"("(a+)+$")", R"("o.*d")", R"("")"}) + R"(, "options": "i"}})";
      case 9:
        return R"({"$binary": {"base64": "AAEC", "subType": "00"}})";
      case 10:
        return Pick({R"({"$minKey": 1})", R"({"$maxKey": 1})", R"({"$undefined": true})"});
      case 11:
        return Make(Kind::kCode);
      case 12:
      case 13:
        return Make(Kind::kText);
      case 14:
        return Make(Kind::kNumber);
      default:
        return std::to_string(static_cast<int>(Below(6)) - 1);
    }
  }
  std::string Any(int depth) {
    if (depth <= 0 || Chance(2)) {
      return Scalar();
    }
    if (Chance(2)) {
      std::string array = "[";
      for (size_t n = Below(4); n > 0; --n) {
        array += Any(depth - 1) + (n > 1 ? ", " : "");
      }
      return array + "]";
    }
    std::string document = "{";
    for (size_t n = Below(4); n > 0; --n) {
      document += Quote(Path()) + ": " + Any(depth - 1) + (n > 1 ? ", " : "");
    }
    return document + "}";
  }

  std::string Predicate(int depth) {
    switch (Below(16)) {
      case 0:
        return R"({"$in": [)" + Scalar() + ", " + Scalar() + "]}";
      case 1:
        return R"({"$elemMatch": )" + Filter(depth - 1) + "}";
      case 2:
        return R"({"$not": )" + Predicate(depth - 1) + "}";
      case 3:
        return R"({"$regex": )" + Pick({R"("^x")", R"("(a|ab)*c")", R"("[")"}) + "}";
      case 4:
        return R"({"$type": )" + Pick({R"("number")", "2", R"(["string", "null"])", "99"}) + "}";
      case 5:
        return R"({"$geoWithin": {"$centerSphere": [[1, 2], 0.5]}})";
      case 6:
        return R"({"$near": )" +
               Pick({R"({"$geometry": {"type": "Point", "coordinates": [1, 2]}})", "[1, 2]"}) + "}";
      case 7:
        return R"({"$mod": [2, 1]})";
      case 8:
        return R"({"$bitsAllSet": 3})";
      case 9:
        return R"({"$all": [)" + Any(1) + "]}";
      case 10:
        return R"({"$exists": )" + Pick({"true", "false", "0"}) + "}";
      case 11:
        return Any(2);
      default:
        return "{" +
               Pick({R"("$gt")", R"("$lte")", R"("$ne")", R"("$eq")", R"("$lt")", R"("$size")"}) +
               ": " + Scalar() + "}";
    }
  }
  std::string Filter(int depth) {
    if (depth <= 0 || Chance(5)) {
      return "{}";
    }
    switch (Below(14)) {
      case 0:
        return R"({"$or": [)" + Filter(depth - 1) + ", " + Filter(depth - 1) + "]}";
      case 1:
        return R"({"$and": [)" + Filter(depth - 1) + "]}";
      case 2:
        return R"({"$expr": )" + Expression(depth) + "}";
      case 3:
        return R"({"$text": {"$search": "one word"}})";
      case 4:
        return R"({"$jsonSchema": {"required": ["a"]}})";
      case 5:
        return R"({"$where": "this.a > 1"})";
      case 6:
        return R"({"$nor": [)" + Filter(depth - 1) + "]}";
      default:
        return "{" + Quote(Path()) + ": " + Predicate(depth) +
               (Chance(3) ? ", " + Quote(Path()) + ": " + Predicate(depth) : "") + "}";
    }
  }
  std::string Expression(int depth) {
    if (depth <= 0 || Chance(3)) {
      return Chance(3) ? Scalar()
                       : Pick({R"("$a")", R"("$t")", R"("$$ROOT")", R"("$b.c")", R"("$$NOW")",
                               R"("$s")", R"("$$REMOVE")", R"("$d")", R"("$_id")"});
    }
    std::string a = Expression(depth - 1);
    std::string b = Expression(depth - 1);
    switch (Below(10)) {
      case 0:
        return R"({"$map": {"input": )" + a + R"(, "in": )" + b + "}}";
      case 1:
        return R"({"$reduce": {"input": )" + a + R"(, "initialValue": 0, "in": )" + b + "}}";
      case 2:
        return R"({"$cond": [)" + a + ", " + b + ", " + Scalar() + "]}";
      case 3:
        return R"({"$let": {"vars": {"x": )" + a + R"(}, "in": {"$ifNull": ["$$x", )" + b + "]}}}";
      case 4:
        return R"({"$regexMatch": {"input": )" + a + R"(, "regex": "o+"}})";
      case 5:
        return R"({"$dateToString": {"date": )" + a + "}}";
      default:
        return "{" +
               Pick({R"("$add")", R"("$eq")", R"("$concat")", R"("$setUnion")", R"("$divide")",
                     R"("$arrayElemAt")", R"("$range")", R"("$slice")", R"("$pow")",
                     R"("$mergeObjects")", R"("$concatArrays")", R"("$in")", R"("$split")"}) +
               ": [" + a + ", " + b + "]}";
    }
  }
  std::string Stage(int depth) {
    switch (Below(26)) {
      case 0:
        return R"({"$group": {"_id": )" + Expression(2) + R"(, "x": {)" +
               Pick({R"("$sum")", R"("$push")", R"("$addToSet")", R"("$first")", R"("$avg")"}) +
               ": " + Expression(1) + "}}}";
      case 1:
        return R"({"$lookup": {"from": )" + Make(Kind::kCollection) +
               R"(, "localField": "a", "foreignField": )" + Quote(Path()) + R"(, "as": "z"}})";
      case 2:
        return R"({"$lookup": {"from": )" + Make(Kind::kCollection) + R"(, "pipeline": )" +
               Pipeline(depth - 1) + R"(, "as": "z"}})";
      case 3:
        return R"({"$graphLookup": {"from": )" + Make(Kind::kCollection) +
               R"(, "startWith": "$a", "connectFromField": "a", "connectToField": "u", "as": "z"}})";
      case 4:
        return R"({"$unionWith": )" + Make(Kind::kCollection) + "}";
      case 5:
        return R"({"$facet": {"x": )" + Pipeline(depth - 1) + R"(, "y": )" + Pipeline(depth - 1) +
               "}}";
      case 6:
        return R"({"$unwind": )" + Pick({R"("$t")", R"("$a")", R"({"path": "$t.k"})"}) + "}";
      case 7:
        return R"({"$replaceRoot": {"newRoot": )" + Expression(2) + "}}";
      case 8:
        return R"({"$setWindowFields": {"partitionBy": "$b", "sortBy": )" + Sort() +
               R"(, "output": {"x": {"$sum": "$a", "window": {"documents": [-1, 1]}}}}})";
      case 9:
        return R"({"$out": )" +
               Pick({R"("out")", R"("view")", R"({"db": "fuzz", "coll": "out"})"}) + "}";
      case 10:
        return R"({"$merge": {"into": )" + Make(Kind::kCollection) + "}}";
      case 11:
        return Pick({R"({"$collStats": {"count": {}}})", R"({"$indexStats": {}})",
                     R"({"$planCacheStats": {}})", R"({"$currentOp": {}})",
                     R"({"$listLocalSessions": {}})", R"({"$documents": [{"a": 1}]})",
                     R"({"$changeStream": {}})", R"({"$listSessions": {}})"});
      case 12:
        return R"({"$geoNear": {"near": [1, 2], "distanceField": "x", "key": "q"}})";
      case 13:
        return R"({"$densify": {"field": "a", "range": {"step": 1, "bounds": "full"}}})";
      case 14:
        return R"({"$bucketAuto": {"groupBy": "$a", "buckets": 2}})";
      case 15:
        return R"({"$sample": {"size": 2}})";
      case 16:
        return R"({"$redact": {"$cond": [)" + Expression(1) + R"(, "$$KEEP", "$$PRUNE"]}})";
      case 17:
        return R"({"$sort": )" + Sort() + "}";
      case 18:
        return R"({"$project": )" + Make(Kind::kProjection) + "}";
      case 19:
        return R"({"$set": {"x": )" + Expression(2) + "}}";
      case 20:
        return R"({"$count": "n"})";
      case 21:
        return R"({"$sortByCount": )" + Expression(1) + "}";
      case 22:
        return "{" + Pick({R"("$limit")", R"("$skip")"}) + ": " + std::to_string(Below(4)) + "}";
      case 23:
        return Any(2);
      default:
        return R"({"$match": )" + Filter(2) + "}";
    }
  }
  std::string Pipeline(int depth) {
    std::string stages = "[";
    for (size_t n = depth <= 0 ? 0 : Below(4); n > 0; --n) {
      stages += Stage(depth) + (n > 1 ? ", " : "");
    }
    return stages + "]";
  }
  std::string Sort() {
    return "{" + Quote(Path()) + ": " + Pick({"1", "-1", R"({"$meta": "textScore"})", "0"}) +
           (Chance(3) ? ", " + Quote(Path()) + ": -1" : "") + "}";
  }
  std::string Update() {
    if (Chance(5)) {
      return Pipeline(1);
    }
    if (Chance(5)) {
      return Any(2);
    }
    return "{" +
           Pick({R"("$set")", R"("$inc")", R"("$push")", R"("$unset")", R"("$rename")",
                 R"("$pull")", R"("$addToSet")", R"("$currentDate")", R"("$bit")", R"("$pop")",
                 R"("$min")"}) +
           ": {" + Quote(Path()) + ": " + Any(2) + "}}";
  }

  std::string Make(Kind kind) {
    if (Chance(25)) {
      return Any(2);
    }
    switch (kind) {
      case Kind::kAny:
        return Any(3);
      case Kind::kBool:
        return Pick({"true", "false", "1"});
      case Kind::kNumber:
        return Pick(
            {"0", "1", "-1", "100", "1.5", "2147483647", R"({"$numberLong": "4294967296"})"});
      case Kind::kSmall:
        return Pick({"0", "1", "2", "3", "-1"});
      case Kind::kText:
        return Pick({R"("")", R"("x")", R"("one")", R"("off")", R"("strict")", R"("SCRAM-SHA-256")",
                     R"("aaaaaaaaaaaaaaaaaaaaaaaa")"});
      case Kind::kPath:
        return Quote(Path());
      case Kind::kCollection:
        return Quote(kNamespaceKinds[Below(std::size(kNamespaceKinds))].collection);
      case Kind::kFullName: {
        const RandomNamespace& other = kNamespaceKinds[Below(std::size(kNamespaceKinds))];
        const RandomNamespace& ns = Chance(2) ? ns_ : other;
        return Quote(std::string(ns.database) + "." + std::string(ns.collection));
      }
      case Kind::kFilter:
        return Filter(3);
      case Kind::kProjection:
        return "{" + Quote(Path()) + ": " +
               Pick({"1", "0", R"({"$slice": 1})", R"({"$meta": "recordId"})"}) +
               (Chance(3) ? R"(, "x": )" + Expression(2) : "") + "}";
      case Kind::kSort:
        return Sort();
      case Kind::kKey:
        return "{" + Quote(Path()) + ": " + Scalar() + "}";
      case Kind::kHint:
        return Pick({R"("ab")", R"({"a": 1, "b": -1})", R"({"$natural": -1})", R"("_id_")",
                     R"("nothing")", R"({"_id": 1})", R"("*")"});
      case Kind::kPipeline:
        return Pipeline(2);
      case Kind::kUpdate:
        return Update();
      case Kind::kUpdates:
        return R"([{"q": )" + Filter(2) + R"(, "u": )" + Update() + R"(, "multi": )" +
               Pick({"true", "false"}) + R"(, "upsert": )" + Pick({"true", "false"}) +
               (Chance(4) ? R"(, "hint": )" + Make(Kind::kHint) : "") + "}]";
      case Kind::kDeletes:
        return R"([{"q": )" + Filter(2) + R"(, "limit": )" + Pick({"0", "1"}) +
               (Chance(4) ? R"(, "collation": )" + Make(Kind::kCollation) : "") + "}]";
      case Kind::kDocuments:
        return R"([{"a": )" + Any(2) + R"(, "s": )" + Scalar() + "}]";
      case Kind::kDocument:
        return "{" + Quote(Path()) + ": " + Any(2) + "}";
      case Kind::kIndexes:
        return R"([{"key": {)" + Quote(Path()) + ": " +
               Pick({"1", "-1", R"("text")", R"("2dsphere")", R"("hashed")", R"("2d")"}) +
               R"(}, "name": "made")" + (Chance(3) ? R"(, "unique": true)" : "") + "}]";
      case Kind::kCollation:
        return Pick({R"({"locale": "en", "strength": 2})", R"({"locale": "simple"})",
                     R"({"locale": "xx"})"});
      case Kind::kExpression:
        return Expression(3);
      case Kind::kLet:
        return R"({"v": )" + Expression(1) + "}";
      case Kind::kCursor:
        return Pick({"{}", R"({"batchSize": 0})", R"({"batchSize": 1})"});
      case Kind::kCode:
        return Pick({R"({"$code": "function () { emit(this.a, 1); }"})",
                     R"({"$code": "function (k, v) { return v.length; }"})", R"("return 1")"});
      case Kind::kList:
        return "[" + Any(2) + "]";
      case Kind::kOperations:
        return R"([{"op": )" + Pick({R"("i")", R"("u")", R"("d")", R"("c")", R"("n")"}) +
               R"(, "ns": )" + Make(Kind::kFullName) + R"(, "o": )" + Any(2) + R"(, "insert": 0)" +
               R"(, "document": )" + Any(2) + "}]";
    }
    return "1";
  }

  std::mt19937_64 random_;
  RandomNamespace ns_{};
};

}  // namespace quire::command
