// SPDX-License-Identifier: Apache-2.0
#include "engine/stream/change_stream.h"

#include <gtest/gtest.h>

#include "base/error_codes.h"
#include "kv/testing/fault_store.h"
#include "kv/testing/test_store.h"
#include "store/log/note.h"

namespace quire::engine {
namespace {

bson::Timestamp WriteNote(Engine& engine) {
  const bson::Document note = bson::Builder().Append("msg", "note").Finish();
  EXPECT_TRUE(store::WriteNote(engine.store(), engine.log(), note, kv::Durability::kProcess).ok());
  return engine.log().Visible();
}

TEST(ChangeStream, TellsOfEventsThatAreCutOffWhileItOpensTheLog) {
  kv::FaultPlan faults;
  auto engine = *Engine::Open(kv::NewFaultStore(kv::TestStore(store::KeySections()), faults),
                              EngineOptions());
  StreamSpec spec;
  spec.scope = StreamSpec::Scope::kCluster;
  spec.start.time = WriteNote(*engine);
  WriteNote(*engine);
  const bson::Timestamp newest = WriteNote(*engine);
  ChangeStream stream(*engine, spec);
  OpContext op;
  exec::Row row;
  EXPECT_TRUE(stream.Next(op, &row).ok());
  ChangeStream again(*engine, spec);
  faults.RunAtNth(kv::FaultPoint::kBegin, 1,
                  [&] { EXPECT_TRUE(engine->log().Trim(0, newest).ok()); });
  EXPECT_EQ(again.Next(op, &row).status().code(), kChangeStreamHistoryLost);
  EXPECT_EQ(again.Next(op, &row).status().code(), kChangeStreamHistoryLost);
  EXPECT_TRUE(stream.Next(op, &row).ok());  // it had read all
}

}  // namespace
}  // namespace quire::engine
