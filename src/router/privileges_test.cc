// SPDX-License-Identifier: Apache-2.0
//
// Who may run what through a router: the lines of tests/privileges for a node, and those for what
// routers alone have.
#include <set>
#include <thread>

#include "command/testing/privilege_matrix.h"
#include "pipeline/stage_table.h"
#include "router/accounts.h"
#include "router/rows.h"
#include "router/testing/cluster.h"

namespace quire::router {
namespace {

using command::GuardedNode;
using command::RoleUser;

class RouterServer final : public command::MatrixServer {
 public:
  RouterServer() : cluster_("a0+/shared") {
    cluster_.router().fail_points().Enable(true);
    for (TestShard* shard : {&cluster_.s0, &cluster_.s1}) {
      shard->commands->fail_points().Enable(true);
    }
  }

  bson::Document RunAs(request::Client& client, bson::View body,
                       std::string_view database) override {
    return RunOn(cluster_.router(), client, bson::ToCanonicalJson(body), database);
  }
  bson::Document Run(std::string_view json, std::string_view database) override {
    request::Client client;
    LogIn(client, kKeeper.name);
    return RunOn(cluster_.router(), client, json, database);
  }
  void AddUsers(const std::vector<RoleUser>& users) override {
    Save(kKeeper);
    for (const RoleUser& user : users) {
      Save(user);
    }
    cluster_.s0.commands->accounts_version.fetch_add(1);
    const std::shared_ptr<Wait> reading = cluster_.router().core().accounts->ReadAgain();
    while (!reading->ready()) {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }
  void LogIn(request::Client& client, std::string_view name) override {
    auto login = command::LoadLogin(cluster_.router(), client, name, GuardedNode::kPeople);
    ASSERT_TRUE(login.ok() && *login != nullptr) << name;
    command::SetLogin(client, *login);
  }
  engine::Engine& users_engine() override { return *cluster_.s0.engine; }

  static std::set<std::string> Names() {
    std::set<std::string> all;
    for (const command::Row* row : Rows()) {
      all.emplace(row->info.name);
    }
    for (const pipeline::StageRow& stage : pipeline::AllStages()) {
      all.emplace(stage.name);
    }
    return all;
  }

 private:
  static inline const RoleUser kKeeper{"keeper", "__system", "admin", true};

  void Save(const RoleUser& user) {
    const bson::Document document = GuardedNode::UserDocument(user.name, RolesOf(user));
    EXPECT_TRUE(command::SaveOwn(users_engine(), command::kUsers, document.view()).ok());
  }

  Cluster cluster_;
};

class RouterPrivilegesTest : public testing::Test {
 protected:
  RouterServer server_;
  command::PrivilegeMatrix matrix_{
      &server_, QUIRE_SOURCE_DIR "/tests/privileges/", {"commands.txt", "router_commands.txt"}};
};

TEST_F(RouterPrivilegesTest, AreThoseOfTheMatrix) {
  for (const std::string& name : RouterServer::Names()) {
    EXPECT_TRUE(matrix_.headings().contains(name)) << name;
  }
  matrix_.Check(RouterServer::Names());
}

}  // namespace
}  // namespace quire::router
