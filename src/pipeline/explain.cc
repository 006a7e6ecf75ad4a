// SPDX-License-Identifier: Apache-2.0
#include "pipeline/explain.h"

namespace quire::pipeline {

void ExplainRun(const exec::Counters& counters, bson::Builder* out) {
  out->Append("nReturned", static_cast<int64_t>(counters.returned));
  out->Append("executionTimeMillisEstimate", static_cast<int64_t>(counters.micros / 1000));
}

void ExplainStages(const Stages& stages, const std::vector<const exec::Operator*>& built,
                   bson::Builder* out) {
  for (size_t i = 0; i < stages.size(); ++i) {
    out->PushDocument();
    stages[i]->Explain(out);
    if (i < built.size()) {
      const exec::Counters& counters = built[i]->counters();
      if (counters.memory > 0 || counters.spills > 0) {
        out->Append("maxMemoryUsageBytes", static_cast<int64_t>(counters.memory));
        out->Append("usedDisk", counters.spills > 0);
        out->Append("spills", static_cast<int64_t>(counters.spills));
      }
      ExplainRun(counters, out);
    }
    out->End();
  }
}

}  // namespace quire::pipeline
