// SPDX-License-Identifier: Apache-2.0
//
// A node in memory with access control, for tests of who may do what: a user for each set of roles,
// and a door beside it that asks nobody.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "command/auth/login.h"
#include "command/own_documents.h"
#include "command/testing/harness.h"

namespace quire::command {

class GuardedNode {
 public:
  // The database of the users, which nothing else happens to.
  static constexpr std::string_view kPeople = "people";

  explicit GuardedNode(std::unique_ptr<kv::Store> store = Node::MemoryStore()) {
    auto engine = engine::Engine::Open(std::move(store), {});
    EXPECT_TRUE(engine.ok()) << engine.status().ToString();
    engine_ = *std::move(engine);
    open_ = std::make_unique<Commands>(engine_.get(), ServerInfo());
    ServerInfo info;
    info.access_control = true;
    guarded_ = std::make_unique<Commands>(engine_.get(), std::move(info));
  }

  // Makes, or makes again, a user with these roles.
  void AddUser(const std::string& name, const std::vector<auth::RoleName>& roles) {
    const bson::Document user = UserDocument(name, roles);
    EXPECT_TRUE(SaveOwn(*engine_, kUsers, user.view()).ok());
    guarded_->accounts_version.fetch_add(1);
  }
  // A user of kPeople as it is stored.
  static bson::Document UserDocument(const std::string& name,
                                     const std::vector<auth::RoleName>& roles) {
    bson::Builder out;
    out.Append("_id", std::string(kPeople) + "." + name)
        .Append("user", name)
        .Append("db", kPeople)
        .BeginDocument("credentials")
        .End();
    AppendRoleNames("roles", roles, &out);
    return out.Finish();
  }
  // A role of admin with privileges given as JSON.
  void AddRole(const std::string& name, std::string_view privileges) {
    auto list = bson::Document::FromJson("{\"p\": " + std::string(privileges) + "}");
    EXPECT_TRUE(list.ok()) << privileges;
    bson::Builder out;
    out.Append("_id", "admin." + name).Append("role", name).Append("db", "admin");
    out.Append("privileges", (*list)["p"]).BeginArray("roles").End();
    bson::Document role = out.Finish();
    EXPECT_TRUE(SaveOwn(*engine_, kRoles, role.view()).ok());
    guarded_->accounts_version.fetch_add(1);
  }
  void LogIn(request::Client& client, std::string_view name) {
    auto login = LoadLogin(*guarded_, client, name, kPeople);
    EXPECT_TRUE(login.ok() && *login != nullptr) << name;
    SetLogin(client, *login);
  }

  // What a client is answered.
  bson::Document RunAs(request::Client& client, bson::View body, std::string_view database) {
    return RunOn(*guarded_, client, body, database);
  }
  bson::Document RunAs(request::Client& client, std::string_view json, std::string_view database) {
    bson::Document body = Parse(json);
    return RunAs(client, body.view(), database);
  }
  int CodeAs(request::Client& client, std::string_view json, std::string_view database) {
    return CodeOf(RunAs(client, json, database));
  }
  // Without access control.
  bson::Document Run(std::string_view json, std::string_view database) {
    bson::Document body = Parse(json);
    return RunOn(*open_, nobody_, body.view(), database);
  }

  static int CodeOf(const bson::Document& reply) {
    return reply["ok"].AsDouble() == 1 ? 0 : reply["code"].AsInt32();
  }
  static bson::Document Parse(std::string_view json) {
    auto parsed = bson::Document::FromJson(json);
    EXPECT_TRUE(parsed.ok()) << parsed.status().ToString() << " in " << json;
    return parsed.ok() ? *std::move(parsed) : bson::Document();
  }

  engine::Engine& engine() { return *engine_; }
  Commands& commands() { return *guarded_; }

 private:
  static bson::Document RunOn(Commands& commands, request::Client& client, bson::View body,
                              std::string_view database) {
    request::Request request;
    request.body = body;
    request.database = database;
    std::string reply;
    commands.Run(client, request, &reply);
    return bson::Document::FromTrusted(std::move(reply));
  }

  std::unique_ptr<engine::Engine> engine_;
  std::unique_ptr<Commands> open_;
  std::unique_ptr<Commands> guarded_;
  request::Client nobody_;
};

}  // namespace quire::command
