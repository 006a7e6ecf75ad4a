// SPDX-License-Identifier: Apache-2.0
//
// Plans as data: testdata/explain.jsonl holds documents, indexes, queries and the stage tree,
// bounds and counters that MongoDB's explain shows for them.
#include <gtest/gtest.h>

#include <fstream>

#include "plan/testing/test_collection.h"

namespace quire::plan {
namespace {

// The fields of a stage that the cases pin, in a fixed order.
void AppendStage(bson::View stage, bson::Builder* out) {
  for (std::string_view name : {"stage", "indexName", "direction", "isMultiKey", "indexBounds",
                                "sortPattern", "limitAmount", "skipAmount", "filter"}) {
    out->Append(name, stage[name]);
  }
  if (stage.Has("inputStage")) {
    out->BeginDocument("inputStage");
    AppendStage(stage["inputStage"].AsDocument(), out);
    out->End();
  }
  if (stage.Has("inputStages")) {
    out->BeginArray("inputStages");
    for (const bson::Element& input : stage["inputStages"].AsArray()) {
      out->PushDocument();
      AppendStage(input.value().AsDocument(), out);
      out->End();
    }
    out->End();
  }
}

bson::Document Pinned(const Plan& plan) {
  bson::Builder planner;
  plan.ExplainPlanner(&planner);
  bson::Document planner_fields = planner.Finish();
  bson::Builder execution;
  plan.ExplainExecution("allPlansExecution", &execution);
  bson::Document stats = execution.Finish();
  bson::Builder out;
  out.BeginDocument("winningPlan");
  AppendStage(planner_fields["winningPlan"].AsDocument(), &out);
  out.End();
  for (std::string_view name : {"nReturned", "totalKeysExamined", "totalDocsExamined"}) {
    out.Append(name, stats[name]);
  }
  return out.Finish();
}

void RunCase(const bson::Document& test) {
  TestCollection collection;
  std::vector<bson::Document> documents;
  for (const bson::Element& element : test["documents"].AsArray()) {
    documents.emplace_back(element.value().AsDocument());
  }
  ASSERT_TRUE(collection.Insert(documents).ok());
  for (const bson::Element& element : test["indexes"].AsArray()) {
    collection.CreateIndex(element.value().AsDocument());
  }
  for (const bson::Element& element : test["queries"].AsArray()) {
    bson::View spec = element.value().AsDocument();
    SCOPED_TRACE(bson::ToJson(spec));
    auto txn = *store::Transaction::Begin(collection.store(), true);
    TestQuery query(collection.info(), spec);
    auto rows = query.Run(*txn);
    ASSERT_TRUE(rows.ok()) << rows.status().ToString();
    bson::Document got = Pinned(query.plan());
    EXPECT_EQ(bson::ToJson(got.view()), bson::ToJson(spec["want"].AsDocument()));
  }
}

TEST(ExplainTest, Cases) {
  std::ifstream file(QUIRE_SOURCE_DIR "/src/plan/testdata/explain.jsonl");
  ASSERT_TRUE(file.is_open());
  std::string line;
  while (std::getline(file, line)) {
    bson::Document test = Json(line);
    SCOPED_TRACE(std::string(test["name"].AsString()));
    RunCase(test);
  }
}

}  // namespace
}  // namespace quire::plan
