// SPDX-License-Identifier: Apache-2.0
#include "engine/read/view_graph.h"

#include <set>
#include <vector>

#include "base/error_codes.h"
#include "base/try.h"
#include "pipeline/parse.h"

namespace quire::engine {

namespace {

constexpr size_t kMostLevels = 20;

class ViewGraph {
 public:
  explicit ViewGraph(const Operation& operation) : operation_(operation) {}

  // Follows what `stages` and `source` ("" for none) read, below the views under way.
  Status Follow(const std::string& source, const pipeline::Stages& stages) {
    if (!source.empty()) {
      RETURN_IF_ERROR(Visit(source));
    }
    std::vector<pipeline::Namespace> others;
    pipeline::AddNamespaces(stages, &others);
    for (const pipeline::Namespace& other : others) {
      RETURN_IF_ERROR(Visit(other.database + "." + other.collection));
    }
    return Status::Ok();
  }

  Status Enter(const std::string& ns, const std::string& source, const pipeline::Stages& stages) {
    if (under_way_.size() >= kMostLevels) {
      return {kViewDepthLimitExceeded, "View depth too deep: maximum is 20, at " + ns};
    }
    under_way_.insert(ns);
    RETURN_IF_ERROR(Follow(source, stages));
    under_way_.erase(ns);
    done_.insert(ns);
    return Status::Ok();
  }

 private:
  Status Visit(const std::string& ns) {
    if (under_way_.count(ns) != 0) {
      return {kGraphContainsCycle, "View cycle detected at " + ns};
    }
    if (done_.count(ns) != 0) {
      return Status::Ok();
    }
    ASSIGN_OR_RETURN(store::CollectionPtr info, operation_.Find(ns));
    if (info == nullptr || !info->is_view()) {
      return Status::Ok();
    }
    expr::Context context;
    RETURN_IF_ERROR(FillContext(operation_, bson::View(), &context));
    pipeline::PipelineOptions options;
    options.ns = {info->database, info->name};
    options.place = pipeline::PipelinePlace::kView;
    bson::Value pipeline = info->options["pipeline"];
    ASSIGN_OR_RETURN(
        pipeline::Stages stages,
        pipeline::ParsePipeline(pipeline.is_array() ? pipeline.AsArray() : bson::View(), options,
                                &context));
    return Enter(ns, info->database + "." + info->view_on, stages);
  }

  const Operation& operation_;
  std::set<std::string> under_way_;
  std::set<std::string> done_;
};

}  // namespace

Status CheckNewView(const Operation& operation, const std::string& ns, const std::string& source,
                    const pipeline::Stages& stages) {
  return ViewGraph(operation).Enter(ns, source, stages);
}

Status CheckViewsRead(const Operation& operation, const pipeline::Stages& stages) {
  return ViewGraph(operation).Follow("", stages);
}

}  // namespace quire::engine
