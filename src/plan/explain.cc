// SPDX-License-Identifier: Apache-2.0
#include "plan/explain.h"

namespace quire::plan {

namespace {

std::string_view StageName(StageKind kind) {
  switch (kind) {
    case StageKind::kEof:
      return "EOF";
    case StageKind::kCollectionScan:
      return "COLLSCAN";
    case StageKind::kIdLookup:
      return "IDHACK";
    case StageKind::kFetch:
      return "FETCH";
    case StageKind::kSort:
      return "SORT";
    case StageKind::kLimit:
      return "LIMIT";
    case StageKind::kSkip:
      return "SKIP";
    case StageKind::kProjectionSimple:
      return "PROJECTION_SIMPLE";
    case StageKind::kProjectionCovered:
      return "PROJECTION_COVERED";
    case StageKind::kProjectionDefault:
      return "PROJECTION_DEFAULT";
    case StageKind::kReturnKey:
      return "RETURN_KEY";
  }
  return "";
}

// What one stage is, without its inputs.
class StageWriter {
 public:
  StageWriter(const Query& query, bson::Builder* out) : query_(query), out_(out) {}

  void Tree(const PlanNode& node) {
    out_->Append("stage", StageName(node.kind));
    Details(node);
    for (const auto& input : node.inputs) {
      out_->BeginDocument("inputStage");
      Tree(*input);
      out_->End();
    }
  }

 private:
  void Details(const PlanNode& node) {
    switch (node.kind) {
      case StageKind::kCollectionScan:
        out_->Append("direction",
                     node.direction == kv::Direction::kForward ? "forward" : "backward");
        break;
      case StageKind::kSort:
        out_->Append("sortPattern", query_.sort_spec);
        out_->Append("memLimit", static_cast<int32_t>(104857600));
        if (node.amount > 0) {
          out_->Append("limitAmount", node.amount);
        }
        out_->Append("type", "simple");
        break;
      case StageKind::kLimit:
        out_->Append("limitAmount", node.amount);
        break;
      case StageKind::kSkip:
        out_->Append("skipAmount", node.amount);
        break;
      case StageKind::kProjectionSimple:
      case StageKind::kProjectionCovered:
      case StageKind::kProjectionDefault:
        out_->Append("transformBy", query_.projection_spec);
        break;
      case StageKind::kEof:
      case StageKind::kIdLookup:
      case StageKind::kFetch:
      case StageKind::kReturnKey:
        break;
    }
  }

  const Query& query_;
  bson::Builder* out_;
};

void AppendCommonStats(const exec::Counters& counters, bson::Builder* out) {
  out->Append("nReturned", static_cast<int64_t>(counters.returned));
  out->Append("executionTimeMillisEstimate", static_cast<int64_t>(counters.micros / 1000));
  out->Append("works", static_cast<int64_t>(counters.works));
  out->Append("advanced", static_cast<int64_t>(counters.returned));
  out->Append("needTime", static_cast<int64_t>(counters.waits));
  out->Append("needYield", int64_t{0});
  out->Append("saveState", int64_t{0});
  out->Append("restoreState", int64_t{0});
  out->Append("isEOF", static_cast<int32_t>(counters.ended));
}

}  // namespace

void AppendPlannerFields(const Query& query, const PlanNode& root, bson::Builder* out) {
  StageWriter writer(query, out);
  out->BeginDocument("winningPlan");
  writer.Tree(root);
  out->End();
  out->BeginArray("rejectedPlans").End();
}

void AppendExecutionFields(const Running& running, std::string_view, bson::Builder* out) {
  exec::Counters totals = Totals(running);
  out->Append("executionSuccess", true);
  out->Append("nReturned", static_cast<int64_t>(totals.returned));
  out->Append("executionTimeMillis", int64_t{0});
  out->Append("totalKeysExamined", static_cast<int64_t>(totals.keys_examined));
  out->Append("totalDocsExamined", static_cast<int64_t>(totals.docs_examined));
  out->BeginDocument("executionStages");
  AppendCommonStats(totals, out);
  out->End();
}

std::string SummaryOf(const PlanNode& root) {
  if (root.inputs.empty()) {
    return std::string(StageName(root.kind));
  }
  return SummaryOf(*root.inputs[0]);
}

}  // namespace quire::plan
