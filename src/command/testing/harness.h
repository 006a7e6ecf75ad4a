// SPDX-License-Identifier: Apache-2.0
//
// A node in memory for tests of commands: JSON in, JSON out.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "command/command.h"
#include "kv/testing/test_store.h"
#include "store/layout.h"

namespace quire::command {

class Node {
 public:
  Node() : Node(MemoryStore()) {}
  explicit Node(std::unique_ptr<kv::Store> store) {
    auto engine = engine::Engine::Open(std::move(store), {});
    EXPECT_TRUE(engine.ok()) << engine.status().ToString();
    engine_ = *std::move(engine);
    commands_ = std::make_unique<Commands>(engine_.get(), ServerInfo());
  }

  // Runs a command given as extended JSON on database "test" (or `database`).
  bson::Document Run(std::string_view json, std::string_view database = "test") {
    return RunAs(client_, json, database);
  }
  // The same for a client of the caller's; several may call at once.
  bson::Document RunAs(request::Client& client, std::string_view json, std::string_view database) {
    auto parsed = bson::Document::FromJson(json);
    EXPECT_TRUE(parsed.ok()) << parsed.status().ToString() << " in " << json;
    request::Request request;
    request.body = *parsed;
    request.database = database;
    std::string reply;
    commands_->Run(client, request, &reply);
    return bson::Document::FromTrusted(std::move(reply));
  }

  // The reply without its logical time, as relaxed JSON.
  std::string Json(std::string_view json, std::string_view database = "test") {
    bson::Document reply = Run(json, database);
    bson::Builder out;
    for (const bson::Element& e : reply.view()) {
      if (e.name() != "$clusterTime" && e.name() != "operationTime") {
        out.Append(e);
      }
    }
    bson::Document kept = out.Finish();
    return bson::ToJson(kept);
  }

  // The first batch of a cursor reply as JSON; the error message when it failed.
  std::string Batch(std::string_view json) {
    bson::Document reply = Run(json);
    if (reply["ok"].AsDouble() != 1) {
      return std::string(reply["errmsg"].AsString());
    }
    return bson::ToJson(reply["cursor"].AsDocument()["firstBatch"]);
  }

  // The error code; 0 when the command succeeded.
  int Code(std::string_view json, std::string_view database = "test") {
    bson::Document reply = Run(json, database);
    return reply["ok"].AsDouble() == 1 ? 0 : reply["code"].AsInt32();
  }

  engine::Engine& engine() { return *engine_; }
  Commands& commands() { return *commands_; }

  static std::unique_ptr<kv::Store> MemoryStore() { return kv::TestStore(store::KeySections()); }

 private:
  std::unique_ptr<engine::Engine> engine_;
  std::unique_ptr<Commands> commands_;
  request::Client client_;
};

}  // namespace quire::command
