// SPDX-License-Identifier: Apache-2.0
#include "engine/auto_compact.h"

#include "base/error_codes.h"
#include "base/testing/no_threads.h"
#include "command/testing/harness.h"

namespace quire::command {
namespace {

struct Step {
  const char* command;
  int code;
};
const Step kSteps[] = {
    {R"({"autoCompact": true, "freeSpaceTargetMB": 30})", 0},
    {R"({"autoCompact": true, "freeSpaceTargetMB": 30})", 0},   // the same again
    {R"({"autoCompact": true, "freeSpaceTargetMB": 50})", 23},  // another while it runs
    {R"({"autoCompact": false})", 0},
    {R"({"autoCompact": true, "freeSpaceTargetMB": 50})", 0},
    {R"({"autoCompact": false, "runOnce": true})", 0},
    {R"({"autoCompact": null})", 40414},
    {R"({"autoCompact": 1})", 14},
    {R"({"autoCompact": true, "runOnce": 1})", 14},
    {R"({"autoCompact": true, "freeSpaceTargetMB": 0})", 2},
    {R"({"autoCompact": true, "freeSpaceTargetMB": {"$numberLong": "8796093022208"}})", 2},
    {R"({"autoCompact": true, "nosuch": 1})", 40415},
};

TEST(AutoCompact, StartsAndStops) {
  Node node;
  for (const Step& step : kSteps) {
    EXPECT_EQ(node.Code(step.command, "admin"), step.code) << step.command;
  }
}

TEST(AutoCompact, WithoutAThreadItIsNotRunning) {
  Node node;
  {
    NoThreads refused;
    EXPECT_EQ(node.Code(R"({"autoCompact": true})", "admin"), kInternalError);
  }
  EXPECT_EQ(node.Code(R"({"autoCompact": true, "freeSpaceTargetMB": 30})", "admin"), 0);
}

TEST(AutoCompact, KeepsDocuments) {
  Node node;
  node.Run(R"({"insert": "c", "documents": [{"_id": 1}, {"_id": 2}]})");
  node.Run(R"({"delete": "c", "deletes": [{"q": {"_id": 1}, "limit": 1}]})");
  engine::AutoCompactOptions every_table;
  every_table.free_space_target_mb = 0;
  node.engine().auto_compact().RunPass(every_table);
  EXPECT_EQ(node.Batch(R"({"find": "c"})"), R"([{"_id":2}])");
}

}  // namespace
}  // namespace quire::command
