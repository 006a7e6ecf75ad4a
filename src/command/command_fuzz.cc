// SPDX-License-Identifier: Apache-2.0
//
// Any document as a command, given as BSON or as extended JSON, on a small database in memory:
// there is always one well-formed reply.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "bson/validate.h"
#include "command/command.h"
#include "engine/engine.h"
#include "kv/open.h"
#include "store/layout.h"

namespace {

using quire::bson::Document;

constexpr int kInputsPerEngine = 2000;

void Require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

// One engine with a collection `c` that has a compound, a multikey and a unique index.
class Target {
 public:
  Target() {
    auto store = quire::kv::Open(
        "rocks:", {.cache_bytes = 16 << 20, .sections = quire::store::KeySections()});
    Require(store.ok());
    auto engine = quire::engine::Engine::Open(*std::move(store), {});
    Require(engine.ok());
    engine_ = *std::move(engine);
    commands_ =
        std::make_unique<quire::command::Commands>(engine_.get(), quire::command::ServerInfo());
    RunJson(R"({"createIndexes": "c", "indexes": [{"key": {"a": 1, "b": -1}, "name": "ab"},
                {"key": {"t": 1}, "name": "t"}, {"key": {"u": 1}, "name": "u", "unique": true}]})");
    RunJson(R"({"insert": "c", "documents": [
                {"_id": 1, "a": 1, "b": "x", "t": [1, 2], "u": 1, "d": {"$date": 0}},
                {"_id": 2, "a": 2.5, "b": null, "t": ["a", {"k": [3]}], "u": 2},
                {"_id": 3, "a": {"$numberDecimal": "3"}, "b": {"c": 1}, "u": 3}]})");
  }

  void Run(quire::bson::View command) {
    quire::request::Request request;
    request.body = command;
    request.database = "fuzz";
    std::string reply;
    commands_->Run(client_, request, &reply);
    Require(quire::bson::Validate(reply).ok());
    quire::bson::View view(reply.data());
    Require(view.Has("ok"));
  }

  void RunJson(std::string_view json) {
    auto command = Document::FromJson(json);
    if (command.ok()) {
      Run(*command);
    }
  }

 private:
  std::unique_ptr<quire::engine::Engine> engine_;
  std::unique_ptr<quire::command::Commands> commands_;
  quire::request::Client client_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static Target* target = nullptr;  // the last one stays: RocksDB's statics go before ours
  static int inputs = 0;
  if (inputs++ % kInputsPerEngine == 0) {
    delete target;
    target = new Target();
  }
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (quire::bson::Validate(bytes).ok()) {
    target->Run(quire::bson::View(bytes.data()));
  } else {
    target->RunJson(bytes);
  }
  return 0;
}
