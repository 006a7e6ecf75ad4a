// SPDX-License-Identifier: Apache-2.0
//
// Functions scripts find beside the language's own.
#include <js/Conversions.h>
#include <js/PropertySpec.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/current_op.h"
#include "base/error_codes.h"
#include "base/version.h"
#include "bson/hash/md5.h"
#include "js/convert_internal.h"
#include "js/output.h"

namespace quire::js {

namespace {

// One emitted pair may have half of a document's size.
constexpr size_t kMaxEmitted = size_t{8} << 20;

bool ReturnText(JSContext* cx, const JS::CallArgs& args, std::string_view text) {
  JSString* string = NewText(cx, text);
  if (string == nullptr) {
    return false;
  }
  args.rval().setString(string);
  return true;
}

bool Print(JSContext* cx, unsigned argc, JS::Value* vp) {
  JS::CallArgs args = JS::CallArgsFromVp(argc, vp);
  std::string line;
  for (unsigned i = 0; i < args.length(); ++i) {
    JS::RootedString text(cx, JS::ToString(cx, args[i]));
    if (text == nullptr || !AppendText(cx, text, &line)) {
      return false;
    }
    line.push_back(' ');
  }
  LogOutput(CurrentOp(), line);
  args.rval().setUndefined();
  return true;
}

// Waits, but no longer than the operation may last.
bool Sleep(JSContext* cx, unsigned argc, JS::Value* vp) {
  JS::CallArgs args = JS::CallArgsFromVp(argc, vp);
  double millis = 0;
  if (!JS::ToNumber(cx, args.get(0), &millis)) {
    return false;
  }
  if (!(millis >= 0 && millis <= 1e9)) {
    return Throw(cx, "sleep needs a number of milliseconds");
  }
  auto until =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(static_cast<int64_t>(millis));
  for (auto now = std::chrono::steady_clock::now(); now < until;
       now = std::chrono::steady_clock::now()) {
    std::this_thread::sleep_for(
        std::min<std::chrono::steady_clock::duration>(until - now, std::chrono::milliseconds(10)));
    if (OpContext* op = CurrentOp()) {
      if (Status status = op->CheckInterruptNow(); !status.ok()) {
        return Runtime::Of(cx).Stop(std::move(status));
      }
    }
  }
  args.rval().setUndefined();
  return true;
}

bool HexMd5(JSContext* cx, unsigned argc, JS::Value* vp) {
  JS::CallArgs args = JS::CallArgsFromVp(argc, vp);
  if (!args.get(0).isString()) {
    return Throw(cx, "hex_md5 needs a string");
  }
  JS::RootedString string(cx, args[0].toString());
  std::string text;
  if (!AppendText(cx, string, &text)) {
    return false;
  }
  bson::Md5 md5;
  md5.Add(text);
  std::string hex;
  for (uint8_t byte : md5.Finish()) {
    hex.push_back("0123456789abcdef"[byte >> 4]);
    hex.push_back("0123456789abcdef"[byte & 15]);
  }
  return ReturnText(cx, args, hex);
}

// The size of the value as a document.
bool BsonSize(JSContext* cx, unsigned argc, JS::Value* vp) {
  JS::CallArgs args = JS::CallArgsFromVp(argc, vp);
  bson::Builder out;
  if (!args.get(0).isObject()) {
    return Throw(cx, "bsonsize needs an object");
  }
  if (!AppendField(cx, "o", args[0], bson::Value(), 0, &out)) {
    return false;
  }
  bson::Document document = out.Finish();
  args.rval().setNumber(document["o"].EncodedSize());
  return true;
}

bool Version(JSContext* cx, unsigned argc, JS::Value* vp) {
  return ReturnText(cx, JS::CallArgsFromVp(argc, vp), kMongoVersion);
}

bool CollectGarbage(JSContext* cx, unsigned argc, JS::Value* vp) {
  JS_MaybeGC(cx);
  JS::CallArgsFromVp(argc, vp).rval().setUndefined();
  return true;
}

bool Emit(JSContext* cx, unsigned argc, JS::Value* vp) {
  JS::CallArgs args = JS::CallArgsFromVp(argc, vp);
  Runtime& runtime = Runtime::Of(cx);
  if (runtime.emit == nullptr) {
    return Throw(cx, "emit is not defined");
  }
  if (args.length() != 2) {
    return runtime.Stop({31220, "emit takes 2 args"});
  }
  std::string bytes;
  bson::Builder out(&bytes);
  if (!AppendField(cx, "k", args[0], bson::Value(), 0, &out) ||
      !AppendField(cx, "v", args[1], bson::Value(), 0, &out)) {
    return false;
  }
  out.Close();
  if (bytes.size() > kMaxEmitted) {
    return runtime.Stop({31393, "Size of the emitted values exceeds the limit of a document"});
  }
  bson::View pair(bytes.data());
  bson::Value key = pair["k"];
  Status status =
      (*runtime.emit)(key.type() == bson::Type::kUndefined ? bson::Value::Null() : key, pair["v"]);
  args.rval().setUndefined();
  return status.ok() || runtime.Stop(std::move(status));
}

constexpr JSFunctionSpec kFunctions[] = {
    JS_FN("print", Print, 0, 0),       JS_FN("sleep", Sleep, 1, 0),
    JS_FN("hex_md5", HexMd5, 1, 0),    JS_FN("version", Version, 0, 0),
    JS_FN("gc", CollectGarbage, 0, 0), JS_FN("emit", Emit, 2, 0),
    JS_FN("bsonsize", BsonSize, 1, 0), JS_FS_END};

}  // namespace

bool DefineNatives(JSContext* cx, JS::HandleObject global) {
  return JS_DefineFunctions(cx, global, kFunctions);
}

}  // namespace quire::js
