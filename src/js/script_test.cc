// SPDX-License-Identifier: Apache-2.0
#include "js/script.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "base/current_op.h"
#include "base/error_codes.h"
#include "base/log.h"
#include "js/output.h"

namespace quire::js {
namespace {

// The result of calling the source with arguments (an array in extended JSON), as canonical JSON of
// {r: result}, or the error.
std::string CallOf(const std::string& source, const std::string& arguments = "[]",
                   const std::string& self = "") {
  auto args = bson::Document::FromJson("{\"a\": " + arguments + "}");
  auto this_document = bson::Document::FromJson(self.empty() ? "{}" : self);
  if (!args.ok() || !this_document.ok()) {
    return "bad test";
  }
  std::vector<bson::Value> values;
  for (const bson::Element& e : (*args)["a"].AsArray()) {
    values.push_back(e.value());
  }
  Arena arena;
  Function function(Scope::Make(), source);
  auto result = function.Call(self.empty() ? bson::Value() : bson::Value(this_document->view()),
                              values, &arena);
  if (!result.ok()) {
    return result.status().ToString();
  }
  bson::Builder out;
  out.Append("r", *result);
  bson::Document document = out.Finish();
  std::string json = bson::ToCanonicalJson(document);
  return json.substr(5, json.size() - 6);
}

struct Case {
  std::string source;
  std::string arguments;
  std::string want;
};

class Calls : public testing::TestWithParam<Case> {};

TEST_P(Calls, Give) { EXPECT_EQ(CallOf(GetParam().source, GetParam().arguments), GetParam().want); }

INSTANTIATE_TEST_SUITE_P(Forms, Calls,
                         testing::ValuesIn(std::vector<Case>{
                             {"function() { return 1; }", "[]", R"({"$numberDouble":"1.0"})"},
                             {"function f(x) { return x; }", "[true]", "true"},
                             {"/* c */ function() { return 'a'; } ;; ", "[]", "\"a\""},
                             {"1 + 1", "[]", R"({"$numberDouble":"2.0"})"},
                             {"var a = 2;\n a * 3", "[]", R"({"$numberDouble":"6.0"})"},
                             {"return 'r'", "[]", "\"r\""},
                             {"if (true) return 'x'; return 'y';", "[]", "\"x\""},
                             {"(n) => n + 1", "[1]", R"({"$code":"(n) => n + 1"})"},
                             {"", "[]", R"({"$undefined":true})"},
                             {"function() { // end\n return 3 // end\n} // end", "[]",
                              R"({"$numberDouble":"3.0"})"},
                             {"async function() { return 1; }", "[]", "{}"},
                         }));

INSTANTIATE_TEST_SUITE_P(
    Values, Calls,
    testing::ValuesIn(std::vector<Case>{
        {"function(x) { return x; }", "[1]", R"({"$numberDouble":"1.0"})"},
        {"function(x) { return x; }", R"([{"$numberLong": "5"}])", R"({"$numberLong":"5"})"},
        {"function(x) { return x + 1; }", R"([{"$numberLong": "5"}])",
         R"({"$numberDouble":"6.0"})"},
        {"function(x) { return x; }", R"([{"$numberDecimal": "1.50"}])",
         R"({"$numberDecimal":"1.50"})"},
        {"function(x) { return x; }", R"(["\u00e4\u20ac"])", "\"\u00e4\u20ac\""},
        {"function(x) { return x; }", "[null]", "null"},
        {"function(x) { return x; }", R"([{"$date": "2012-01-02T03:04:05.006Z"}])",
         R"({"$date":{"$numberLong":"1325473445006"}})"},
        {"function(x) { return '' + x.getUTCMonth() + x.str; }",
         R"([{"$date": "2012-02-02T00:00:00Z"}])", "\"1undefined\""},
        {"function(x) { return x; }", R"([{"$oid": "0102030405060708090a0b0c"}])",
         R"({"$oid":"0102030405060708090a0b0c"})"},
        {"function(x) { return x.str + ' ' + x + ' ' + x.getTimestamp().getTime(); }",
         R"([{"$oid": "000000020405060708090a0b"}])",
         "\"000000020405060708090a0b 000000020405060708090a0b 2000\""},
        {"function(x) { return [x, /^b.\\/c$/s]; }",
         R"([{"$regularExpression": {"pattern": "a+", "options": "im"}}])",
         R"([{"$regularExpression":{"pattern":"a+","options":"im"}},)"
         R"({"$regularExpression":{"pattern":"^b.\\/c$","options":"s"}}])"},
        {"function(x) { return x.test('BAb'); }",
         R"([{"$regularExpression": {"pattern": "a", "options": "i"}}])", "true"},
        {"function(x) { return x; }", R"([{"$timestamp": {"t": 5, "i": 7}}])",
         R"({"$timestamp":{"t":5,"i":7}})"},
        {"function(x) { return x.t * 10 + x.i; }", R"([{"$timestamp": {"t": 5, "i": 7}}])",
         R"({"$numberDouble":"57.0"})"},
        {"function(x) { return x; }", R"([{"$binary": {"base64": "AQI=", "subType": "00"}}])",
         R"({"$binary":{"base64":"AQI=","subType":"00"}})"},
        {"function(x) { return x.hex() + x.base64() + x.subtype() + x.length(); }",
         R"([{"$binary": {"base64": "AQI=", "subType": "05"}}])", "\"0102AQI=52\""},
        {"function(x) { return x; }", R"([{"$minKey": 1}])", R"({"$minKey":1})"},
        {"[MinKey, MaxKey(), new MaxKey()]", "[]",
         R"([{"$minKey":1},{"$maxKey":1},{"$maxKey":1}])"},
        {"function(x) { return x === undefined; }", R"([{"$undefined": true}])", "true"},
        {"function(x) { return x(2); }", R"([{"$code": "function(a) { return a * 2; }"}])",
         R"({"$numberDouble":"4.0"})"},
        {"Code('x', {a: NumberInt(1)})", "[]",
         R"({"$code":"x","$scope":{"a":{"$numberInt":"1"}}})"},
        {"[NumberInt(3), NumberLong('9007199254740993'), NumberLong(4), NumberDecimal('1.0')]",
         "[]",
         R"([{"$numberInt":"3"},{"$numberLong":"9007199254740993"},{"$numberLong":"4"},)"
         R"({"$numberDecimal":"1.0"}])"},
        {"[new Number(1), new String('s'), new Boolean(false), NaN, -0]", "[]",
         R"([{"$numberDouble":"1.0"},"s",false,{"$numberDouble":"NaN"},{"$numberDouble":"-0.0"}])"},
        {"UUID('01020304-0506-0708-090a-0b0c0d0e0f10')", "[]",
         R"({"$binary":{"base64":"AQIDBAUGBwgJCgsMDQ4PEA==","subType":"04"}})"},
        {"HexData(2, 'ff')", "[]", R"({"$binary":{"base64":"/w==","subType":"02"}})"},
        {"new DBRef('c', 1)", "[]", R"({"$ref":"c","$id":{"$numberDouble":"1.0"}})"},
        {"ISODate('2020-02-29T10:00:00.5+01:00')", "[]",
         R"({"$date":{"$numberLong":"1582966800500"}})"},
        {"ISODate('2020-02-29')", "[]", R"({"$date":{"$numberLong":"1582934400000"}})"},
        {"Timestamp(1, 2)", "[]", R"({"$timestamp":{"t":1,"i":2}})"},
        {"new Date(NaN) + ''", "[]", "\"Invalid Date\""},
        {"'a\\u0000b'", "[]", R"("a\u0000b")"},
        {"'\\ud800x'", "[]", "\"\ufffdx\""},
    }));

// Long texts, whose searches are our own, give what short ones give.
INSTANTIATE_TEST_SUITE_P(
    Searches, Calls, testing::ValuesIn([] {
      const std::string texts =
          "var pads = ['', 'z'.repeat(1 << 24)], out = [];\n"
          "for (var pad of pads) {\n"
          "  var t = 'abcabc\u00e4bc' + pad, w = t + '\u20ac', f = x => x - pad.length;\n";
      auto both = [&](const std::string& expression, const std::string& want) {
        return Case{texts + "  out.push(" + expression + ");\n}\n" +
                        "if (tojson(out[0]) !== tojson(out[1])) throw new Error(tojson(out));\n"
                        "return tojson(out[0], '', true);",
                    "[]", '"' + want + '"'};
      };
      return std::vector<Case>{
          both("[t.indexOf('bc'), t.indexOf('bc', 2), t.indexOf('bc', -5), t.indexOf('bc', 1e9)]",
               "[ 1, 4, 1, -1 ]"),
          both("[w.indexOf('bc'), w.indexOf('\u00e4b'), t.indexOf('b\u20ac'), w.indexOf('zq')]",
               "[ 1, 6, -1, -1 ]"),
          both("[t.lastIndexOf('bc'), t.lastIndexOf('bc', 6), t.lastIndexOf('bc', 4), "
               "t.lastIndexOf('bc', 0), w.lastIndexOf('ab'), w.lastIndexOf('ab', NaN)]",
               "[ 7, 4, 4, -1, 3, 3 ]"),
          both("[t.includes('abc'), t.includes('abc', 4), t.includes('ac'), w.includes('ca')]",
               "[ true, false, false, true ]"),
          both("t.split('bc').map(x => x.length > 99 ? '' : x)",
               "[ \\\"a\\\", \\\"a\\\", \\\"\u00e4\\\", \\\"\\\" ]"),
          both("t.split('bc', 2)", "[ \\\"a\\\", \\\"a\\\" ]"),
          both("t.replace('bc', '<$&$$$`>').slice(0, 12)", "\\\"a<bc$a>abc\u00e4b\\\""),
          both("t.replaceAll('bc', (m, at, all) => at + ',' + f(all.length)).slice(0, 12)",
               "\\\"a1,9a4,9\u00e47,9\\\""),
          both("[/bc/.exec(t).index, /bc/.test(t), t.search(/ca/), t.match(/bc/g).length, "
               "t.replace(/bc/g, '-').slice(0, 6)]",
               "[ 1, true, 2, 3, \\\"a-a-\u00e4-\\\" ]"),
      };
    }()));

INSTANTIATE_TEST_SUITE_P(
    Documents, Calls,
    testing::ValuesIn(std::vector<Case>{
        // What no script has touched keeps its types; a number that was an int stays one.
        {"function(x) { return x; }", R"([{"a": 1, "b": {"c": 2}}])",
         R"({"a":{"$numberInt":"1"},"b":{"c":{"$numberInt":"2"}}})"},
        {"function(x) { x.a = 5; x.z = 6; return x; }", R"([{"a": 1, "b": 2}])",
         R"({"a":{"$numberInt":"5"},"b":{"$numberInt":"2"},"z":{"$numberDouble":"6.0"}})"},
        {"function(x) { x.a = 1.5; return x; }", R"([{"a": 1}])",
         R"({"a":{"$numberDouble":"1.5"}})"},
        {"function(x) { x.b; x.a; return x; }", R"([{"a": 1, "b": 2}])",
         R"({"a":{"$numberInt":"1"},"b":{"$numberInt":"2"}})"},
        {"function(x) { x.b.push(3); return x; }", R"([{"a": 1, "b": [1]}])",
         R"({"a":{"$numberInt":"1"},"b":[{"$numberDouble":"1.0"},{"$numberDouble":"3.0"}]})"},
        {"function(x) { delete x.a; return x; }", R"([{"a": 1, "b": true}])", R"({"b":true})"},
        {"function(x) { delete x.a; x.a = 'n'; return [x, 'a' in x]; }", R"([{"a": 1}])",
         R"([{"a":"n"},true])"},
        {"function(x) { var k = []; x.b; x.z = 1; for (var n in x) k.push(n); return k.join(); }",
         R"([{"a": 1, "b": 2, "c": 3}])", "\"a,b,c,z\""},
        {"function(x) { return Object.keys(x).join() + JSON.stringify(x); }",
         R"([{"b": 1, "a": "x"}])", R"("b,a{\"b\":1,\"a\":\"x\"}")"},
        {"function(x) { return [x.hasOwnProperty('a'), 'b' in x, x.toString(), x.a.b.c]; }",
         R"([{"a": {"b": {"c": "deep"}}}])", R"([true,false,"[object Object]","deep"])"},
        {"function(x) { return x['0'] + x[1]; }", R"([{"0": "a", "1": "b"}])", "\"ab\""},
        {"function(x) { return Object.assign({}, x); }", R"([{"a": "b"}])", R"({"a":"b"})"},
        {"function(x) { return Array.isArray(x) + ' ' + (x instanceof Array) + x.length; }",
         "[[1, 2]]", "\"true true2\""},
        {"({a: undefined, b: [,1], f: function() { return 1; }})", "[]",
         R"({"a":{"$undefined":true},"b":[{"$undefined":true},{"$numberDouble":"1.0"}],)"
         R"("f":{"$code":"function() { return 1; }"}})"},
    }));

INSTANTIATE_TEST_SUITE_P(
    Helpers, Calls,
    testing::ValuesIn(std::vector<Case>{
        {"Array.sum([1, 2, 3.5])", "[]", R"({"$numberDouble":"6.5"})"},
        {"Array.sum([])", "[]", "null"},
        {"function(x) { return Array.sum(x); }",
         R"([[{"$numberLong": "1"}, {"$numberLong": "2"}]])", R"({"$numberDouble":"3.0"})"},
        {"function(x) { return Array.sum(x); }", R"([[{"$numberLong": "1"}]])",
         R"({"$numberLong":"1"})"},
        {"Array.sum([{a: 'x'}])", "[]", R"({"a":"x"})"},
        {"Array.avg([1, 2])", "[]", R"({"$numberDouble":"1.5"})"},
        {"Array.stdDev([1, 3])", "[]", R"({"$numberDouble":"1.0"})"},
        {"Array.unique([1, 1, 'a'])", "[]", R"([{"$numberDouble":"1.0"},"a"])"},
        {"Array.contains([1], 1)", "[]", "true"},
        {"Object.bsonsize({a: NumberInt(1)})", "[]", R"({"$numberDouble":"12.0"})"},
        {"typeof bsonsize", "[]", "\"undefined\""},
        {"hex_md5('hello')", "[]", "\"5d41402abc4b2a76b9719d911017c592\""},
        {"isNumber(1) && isNumber(NumberLong(1)) && !isNumber('1') && isString('a')", "[]", "true"},
        {"tojson({a: 1, b: [NumberLong(2), 'x'], c: null})", "[]",
         R"("{\n\t\"a\" : 1,\n\t\"b\" : [\n\t\tNumberLong(2),\n\t\t\"x\"\n\t],\n\t\"c\" : null\n}")"},
        {"tojsononeline({a: ISODate('2020-01-01'), b: MinKey})", "[]",
         R"("{ \"a\" : ISODate(\"2020-01-01T00:00:00Z\"), \"b\" : { \"$minKey\" : 1 } }")"},
        {"assert(true); 'fine'", "[]", "\"fine\""},
        {"printjson({a: 1}); print('x', 1); sleep(1); gc(); version().length > 0", "[]", "true"},
        {"Object.extend({a: 1}, {b: {c: 'x'}}).b.c", "[]", "\"x\""},
        {"' a '.ltrim() + '|'", "[]", "\"a |\""},
        {"typeof Reflect.parse + typeof SharedArrayBuffer + typeof WebAssembly", "[]",
         "\"undefinedundefinedundefined\""},
    }));

struct ErrorCase {
  std::string source;
  int code;
  std::string message;  // a part of it
};

class Errors : public testing::TestWithParam<ErrorCase> {};

TEST_P(Errors, Are) {
  Arena arena;
  Function function(Scope::Make(), GetParam().source);
  auto result = function.Call(bson::Value(), {}, &arena);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), GetParam().code) << result.status().message();
  EXPECT_NE(result.status().message().find(GetParam().message), std::string::npos)
      << result.status().message();
}

INSTANTIATE_TEST_SUITE_P(
    All, Errors,
    testing::ValuesIn(std::vector<ErrorCase>{
        {"function() { throw new Error('no'); }", kJSInterpreterFailure, "Error: no"},
        {"function() { throw 'boom'; }", kUnknownError, "uncaught exception: boom"},
        {"function() { return a.b; }", kJSInterpreterFailure, "ReferenceError: a is not defined"},
        {"this.a ==", kJSInterpreterFailure, "SyntaxError: expected expression"},
        {"function( {", kJSInterpreterFailure, "SyntaxError"},
        {"function() { return 1", kJSInterpreterFailure, "SyntaxError"},
        {"function f() { return f(); }", kJSInterpreterFailure, "too much recursion"},
        {"var a = {}; a.a = a; a", 17279, "depth limit"},
        {"({'a\\u0000b': 1})", 16985, "null char"},
        {"Symbol('x')", kJSInterpreterFailure, "symbol"},
        {"10n", kJSInterpreterFailure, "BigInt"},
        {"ObjectId('x')", kJSInterpreterFailure, "invalid object id"},
        {"NumberDecimal('x')", kJSInterpreterFailure, "Decimal128"},
        {"NumberLong('x')", kJSInterpreterFailure, "NumberLong"},
        {"assert(false, 'why')", kJSInterpreterFailure, "assert failed : why"},
        {"emit(1, 2)", kJSInterpreterFailure, "emit"},
        {"ObjectId.prototype.toString.call({})", kJSInterpreterFailure, "another type"},
        {"'x'.repeat(1 << 25)", 17260, "exceeds limit"},
        {"({get a() { throw new TypeError('got'); }})", kJSInterpreterFailure, "got"},
    }));

TEST(Function, ThisAndArguments) {
  EXPECT_EQ(CallOf("function(a) { return this.x + a; }", "[\"b\"]", R"({"x": "a"})"), "\"ab\"");
  EXPECT_EQ(CallOf("this.x + 1", "[]", R"({"x": 1})"), R"({"$numberDouble":"2.0"})");
}

TEST(Function, TestsDocuments) {
  auto document = bson::Document::FromJson(R"({"a": 1, "b": 2})");
  ASSERT_TRUE(document.ok());
  ScopePtr scope = Scope::Make();
  for (auto [source, want] :
       std::initializer_list<std::pair<const char*, bool>>{{"this.a < this.b", true},
                                                           {"obj.a == 2", false},
                                                           {"return obj.b == 2", true},
                                                           {"function() { return ''; }", false},
                                                           {"function() {}", false},
                                                           {"'0'", true}}) {
    auto result = Function(scope, source).Test(*document);
    ASSERT_TRUE(result.ok()) << result.status().message();
    EXPECT_EQ(*result, want) << source;
  }
}

TEST(Function, Emits) {
  auto document = bson::Document::FromJson(R"({"k": "x", "n": 3})");
  ASSERT_TRUE(document.ok());
  std::string seen;
  EmitFn emit = [&](const bson::Value& key, const bson::Value& value) {
    seen += bson::ToJson(key) + "=" + bson::ToJson(value) + ";";
    return Status::Ok();
  };
  Function map(Scope::Make(),
               "function() { emit(this.k, {n: this.n}); emit(undefined, 1); emit(null, this); }");
  EXPECT_TRUE(map.Emit(*document, emit).ok());
  EXPECT_EQ(seen, R"("x"={"n":3.0};null=1.0;null={"k":"x","n":3};)");
  EXPECT_EQ(Function(Scope::Make(), "emit(1)").Emit(*document, emit).code(), 31220);
  EmitFn full = [](const bson::Value&, const bson::Value&) {
    return Status(kInternalError, "full");
  };
  EXPECT_EQ(map.Emit(*document, full).message(), "full");
}

bson::Document Json(const std::string& text) { return *bson::Document::FromJson(text); }

TEST(Scope, SharesVariablesAmongItsFunctionsOnly) {
  Arena arena;
  ScopePtr scope =
      Scope::Make(Json(R"({"n": 41, "f": {"$code": "function(x) { return x + n; }"}})"));
  Function set(scope, "function() { seen = 1; n++; Array.prototype.evil = 1; return f(0); }");
  Function get(scope, "function() { return seen + n; }");
  EXPECT_EQ(bson::ToJson(*set.Call(bson::Value(), {}, &arena)), "42.0");
  EXPECT_EQ(bson::ToJson(*get.Call(bson::Value(), {}, &arena)), "43.0");
  EXPECT_EQ(CallOf("typeof seen + typeof n + typeof [].evil"), "\"undefinedundefinedundefined\"");
}

class Stored : public StoredFunctions {
 public:
  Result<std::vector<bson::Document>> Load() const override {
    std::vector<bson::Document> out;
    out.push_back(Json(R"({"_id": "twice", "value": {"$code": "function(x) { return 2 * x; }"}})"));
    out.push_back(Json(R"({"_id": "limit", "value": 5})"));
    out.push_back(Json(R"({"_id": "broken", "value": {"$code": "function("}})"));
    return out;
  }
};

TEST(Scope, LoadsStoredFunctions) {
  Stored stored;
  Arena arena;
  Function function(Scope::Make({}, &stored), "twice(limit)");
  EXPECT_EQ(bson::ToJson(*function.Call(bson::Value(), {}, &arena)), "10.0");
}

TEST(Limits, DeadlineStopsAScript) {
  for (const char* source :
       {"for (;;) {}", "function f() { try { for (;;) {} } finally { for (;;) {} } }",
        "sleep(100000)", "var p = new Proxy({}, {get: function() { for (;;) {} }}); p.x",
        "(async function() { for (;;) await 1; })()",
        "/(a+)+$/.test('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab')",
        "({get a() { for (;;) {} }})",
        // Searches that take the product of two lengths.
        "'a'.repeat(1 << 24).indexOf('b' + 'a'.repeat(200)); for (;;) {}",
        "var t = 'a'.repeat(1 << 25), p = 'a'.repeat(1 << 24) + 'b'; t.indexOf(p); for (;;) {}",
        "var t = 'a'.repeat(1 << 25), p = 'b' + 'a'.repeat(1 << 24); t.lastIndexOf(p); for (;;) {}",
        "var t = 'a'.repeat(1 << 25), p = 'a'.repeat(1 << 24) + 'b'; t.split(p); for (;;) {}",
        "var t = 'a'.repeat(1 << 25), p = 'a'.repeat(1 << 24) + 'b'; t.replace(p, ''); for (;;) {}",
        "var t = '\u1234'.repeat(1 << 24), p = '\u1234'.repeat(1 << 23) + 'b'; t.includes(p); for "
        "(;;) {}",
        "var t = 'a'.repeat(1 << 24), p = 'a'.repeat(1 << 12) + 'b'; RegExp(p).test(t); for (;;) "
        "{}"}) {
    OpContext op;
    op.SetDeadline(OpContext::Clock::now() + std::chrono::milliseconds(30));
    CurrentOpScope current(&op);
    Arena arena;
    auto result = Function(Scope::Make(), source).Call(bson::Value(), {}, &arena);
    ASSERT_FALSE(result.ok()) << source;
    EXPECT_EQ(result.status().code(), kMaxTimeMSExpired) << source << result.status().message();
  }
  EXPECT_EQ(CallOf("'alive'"), "\"alive\"");
}

TEST(Limits, KillStopsAScript) {
  OpContext op;
  std::thread killer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    op.Kill();
  });
  CurrentOpScope current(&op);
  Arena arena;
  auto result = Function(Scope::Make(), "while (true) {}").Call(bson::Value(), {}, &arena);
  killer.join();
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), kInterrupted);
}

TEST(Limits, APatternMayTakeItsTime) {
  // Some hundred milliseconds, and more than the five times that an engine lets itself be asked.
  EXPECT_EQ(CallOf("/^(a+)+$/.test('a'.repeat(24) + 'b')"), "false");
  OpContext op;
  op.SetDeadline(OpContext::Clock::now() + std::chrono::milliseconds(50));
  CurrentOpScope current(&op);
  Arena arena;
  auto result = Function(Scope::Make(), "/^(a+)+$/.test('a'.repeat(60) + 'b')")
                    .Call(bson::Value(), {}, &arena);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), kMaxTimeMSExpired) << result.status().message();
}

TEST(Limits, MemoryStopsAScript) {
  SetHeapLimit(32);
  for (const char* source : {
           "var a = []; for (;;) a.push({x: a.length, y: 'k' + a.length});",
           "var s = []; for (;;) { var t = 'x' + s.length; for (var i = 0; i < 16; ++i) t += t; "
           "s.push(t.split('').join('')); }",
           "var b = []; for (;;) b.push(new Uint8Array(1 << 20).fill(7));",
           "var m = new Map(); for (var i = 0;; ++i) m.set(i, [i]);",
       }) {
    std::string error = CallOf(source);
    EXPECT_NE(error.find("out of memory"), std::string::npos) << source << " " << error;
  }
  SetHeapLimit(kDefaultHeapLimit);
  EXPECT_EQ(CallOf("'alive'"), "\"alive\"");
}

TEST(Limits, SwitchedOff) {
  SetEnabled(false);
  Arena arena;
  auto result = Function(Scope::Make(), "1").Call(bson::Value(), {}, &arena);
  SetEnabled(true);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), 31264);
}

TEST(Threads, EachHasItsOwnEngine) {
  ScopePtr scope = Scope::Make(Json(R"({"n": 0})"));
  Function count(scope, "function() { return ++n; }");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 1; i <= 50; ++i) {
        Arena arena;
        auto result = count.Call(bson::Value(), {}, &arena);
        ASSERT_TRUE(result.ok());
        EXPECT_EQ(result->AsDouble(), i);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

TEST(Threads, ManyScopesAreForgotten) {
  std::vector<ScopePtr> kept;
  for (int i = 0; i < 40; ++i) {
    kept.push_back(Scope::Make());
    Arena arena;
    EXPECT_TRUE(Function(kept.back(), "x = 1").Call(bson::Value(), {}, &arena).ok());
  }
  Arena arena;
  EXPECT_TRUE(Function(kept[0], "typeof x").Call(bson::Value(), {}, &arena).ok());
}

// The lines that a call adds to the log.
std::vector<std::string> PrintedBy(const std::string& source, OpContext* op) {
  const int64_t before = log::RecentLines().total;
  CurrentOpScope scope(op);
  CallOf(source);
  log::Recent after = log::RecentLines();
  const size_t added = static_cast<size_t>(after.total - before);
  std::vector<std::string>& lines = after.lines;
  lines.erase(lines.begin(),
              lines.end() - static_cast<std::ptrdiff_t>(std::min(added, lines.size())));
  return lines;
}

TEST(Output, OfOneOperationIsCutOff) {
  for (const char* print : {"print(i)", "print('x'.repeat(20000))"}) {
    OpContext op;
    const std::string source =
        "function() { for (let i = 0; i < 5000; i++) " + std::string(print) + "; }";
    const std::vector<std::string> lines = PrintedBy(source, &op);
    ASSERT_FALSE(lines.empty());
    EXPECT_LE(lines.size(), kMostLines + 1);
    size_t bytes = 0;
    for (const std::string& line : lines) {
      bytes += line.size();
    }
    EXPECT_LE(bytes, kMostBytes + 1000);
    EXPECT_NE(lines.back().find("cut off"), std::string::npos) << lines.back();
    EXPECT_TRUE(PrintedBy(source, &op).empty());  // another script of the same operation
  }
}

TEST(Output, OfAllIsBounded) {
  size_t lines = 0;
  for (int i = 0; i < 1000; ++i) {
    OpContext op;
    lines += PrintedBy("function() { print('x'.repeat(9800)); }", &op).size();
  }
  EXPECT_LT(lines, 2 * kBytesAtOnce / 10'000);
}

}  // namespace
}  // namespace quire::js
