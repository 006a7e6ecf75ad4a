// SPDX-License-Identifier: Apache-2.0
//
// Who may run what on a node: every line of tests/privileges/commands.txt.
#include <set>

#include "command/testing/privilege_matrix.h"
#include "pipeline/stage_table.h"

namespace quire::command {
namespace {

class NodeServer final : public MatrixServer {
 public:
  NodeServer() { node_.commands().fail_points().Enable(true); }

  bson::Document RunAs(request::Client& client, bson::View body,
                       std::string_view database) override {
    return node_.RunAs(client, body, database);
  }
  bson::Document Run(std::string_view json, std::string_view database) override {
    return node_.Run(json, database);
  }
  void AddUsers(const std::vector<RoleUser>& users) override {
    for (const RoleUser& user : users) {
      node_.AddUser(user.name, RolesOf(user));
    }
  }
  void LogIn(request::Client& client, std::string_view name) override { node_.LogIn(client, name); }
  engine::Engine& users_engine() override { return node_.engine(); }

  // Every command and stage that it has.
  std::set<std::string> Names() {
    std::set<std::string> all;
    for (const Row* row : node_.commands().rows()) {
      all.emplace(row->info.name);
    }
    for (const pipeline::StageRow& stage : pipeline::AllStages()) {
      all.emplace(stage.name);
    }
    return all;
  }

 private:
  GuardedNode node_;
};

class PrivilegesTest : public testing::Test {
 protected:
  NodeServer server_;
  PrivilegeMatrix matrix_{&server_, QUIRE_SOURCE_DIR "/tests/privileges/", {"commands.txt"}};
};

TEST_F(PrivilegesTest, NamesEveryCommandAndStage) {
  EXPECT_EQ(matrix_.headings(), server_.Names());
}

TEST_F(PrivilegesTest, IsWhatUsersMayDo) { matrix_.Check(server_.Names()); }

}  // namespace
}  // namespace quire::command
