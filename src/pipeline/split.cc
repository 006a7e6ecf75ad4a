// SPDX-License-Identifier: Apache-2.0
#include "pipeline/split.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "pipeline/stages/lookup.h"
#include "pipeline/stages/order.h"
#include "pipeline/stages/unwind.h"
#include "quire/doc.h"

namespace quire::pipeline {

namespace {

bool StaysHome(const Stage& stage, const IsLocal& is_local) {
  if (is_local == nullptr) {
    return true;
  }
  std::vector<Namespace> read;
  stage.AddNamespaces(&read);
  return std::all_of(read.begin(), read.end(), is_local);
}

// One stage of a part: as it is sent and as it is shown. The stage it was made of tells which
// fields it reads.
struct Step {
  const Stage* stage = nullptr;  // null: added here, and reads nothing
  std::vector<bson::Document> sent;
  std::vector<bson::Document> shown;
};

Step Added(bson::Document stage) { return {nullptr, {stage}, {stage}}; }
Step Cut(std::string_view name, int64_t count) { return Added(Doc(name, count)); }

bson::Document Shown(const Stage& stage) {
  bson::Builder out;
  stage.Explain(&out);
  return out.Finish();
}

Step AsWritten(const Stage& stage) {
  return {&stage, {Doc(stage.name(), stage.spec())}, {Shown(stage)}};
}

Step StepOf(const Stage& stage) {
  if (const auto* cut = As<CutStage>(&stage)) {
    Step step = AsWritten(stage);
    step.sent = {Doc(stage.name(), cut->count())};
    return step;
  }
  return AsWritten(stage);
}

// $count is a $group and a $project, of which only the first has a state to be merged.
Step GroupOfCount(const Stage& count) {
  bson::Document group =
      Doc("$group", Doc("_id", nullptr, count.spec().AsString(), Doc("$sum", 1)));
  return {&count, {group}, {group}};
}
Step FieldOfCount(const Stage& count) {
  bson::Document fields = Doc("$project", Doc("_id", 0, count.spec().AsString(), 1));
  return {nullptr, {fields}, {fields}};
}

// $count where it runs once.
Step WholeCount(const Stage& count) {
  Step step = AsWritten(count);
  step.shown = {GroupOfCount(count).shown.front(), FieldOfCount(count).shown.front()};
  return step;
}

// The options of an $unwind of what the $lookup before it joins; null when it is none.
const exec::UnwindOptions* UnwindOfLookup(const Stage* lookup_of, const Stage& unwind_of) {
  const auto* lookup = lookup_of == nullptr ? nullptr : As<LookupStage>(lookup_of);
  const auto* unwind = As<UnwindStage>(&unwind_of);
  return lookup != nullptr && unwind != nullptr && lookup->as().size() == 1 &&
                 unwind->options().path == lookup->as()
             ? &unwind->options()
             : nullptr;
}

// A $lookup is shown with its $unwind, and the $unwind itself is not.
bson::Document Unwinding(bson::View lookup, const exec::UnwindOptions& unwind) {
  return bson::Builder()
      .BeginDocument("$lookup")
      .AppendFields(lookup["$lookup"].AsDocument())
      .BeginDocument("unwinding")
      .Append("preserveNullAndEmptyArrays", unwind.preserve)
      .End()
      .End()
      .Finish();
}

// The states of the shards taken together.
Step Merging(Step step) {
  bson::View spec = step.shown.front().view().front().value().AsDocument();
  bson::Builder out;
  out.BeginDocument(step.shown.front().view().front().name())
      .AppendFields(spec)
      .Append("$doingMerge", true)
      .End();
  step.shown = {out.Finish()};
  return step;
}

// How many rows the cuts from `at` on want at most, and how many of these they skip.
struct Wanted {
  int64_t rows = 0;
  int64_t skipped = 0;
  size_t behind = 0;  // the stage behind the limit
};
std::optional<Wanted> WantedFrom(const Stages& stages, size_t at) {
  Wanted wanted;
  for (; at < stages.size(); ++at) {
    const auto* cut = As<CutStage>(stages[at].get());
    int64_t sum = 0;
    if (cut == nullptr || __builtin_add_overflow(wanted.skipped, cut->count(), &sum)) {
      return std::nullopt;
    }
    if (cut->is_limit()) {
      wanted.rows = sum;
      wanted.behind = at + 1;
      return wanted;
    }
    wanted.skipped = sum;
  }
  return std::nullopt;
}

class Splitter {
 public:
  Splitter(const Stages& stages, const IsLocal& is_local)
      : stages_(stages), is_local_(is_local), at_(SplitPoint(stages, is_local)) {}

  SplitPipeline Run() {
    for (size_t i = 0; i < at_; ++i) {
      shards_.push_back(ShardStep(i));
    }
    DropNearFilter();
    if (at_ < stages_.size()) {
      Divide();
    }
    MoveFinalUnwind();
    LimitShards();
    for (; at_ < stages_.size(); ++at_) {
      AddToMerger(at_);
    }
    LimitFields();
    return Finish();
  }

 private:
  const Stage& stage() const { return *stages_[at_]; }
  // Every stage of the shards but a sink, which runs once.
  Step ShardStep(size_t i) {
    Step step = StepOf(*stages_[i]);
    if (stages_[i]->kind() == StageKind::kSink) {
      sink_ = step.sent;
      step.sent.clear();
    }
    return step;
  }

  // The stage at the split point and what belongs to it.
  void Divide() {
    const bool merged = stage().spread() == Spread::kMerged && StaysHome(stage(), is_local_);
    if (!merged) {
      return;
    }
    switch (stage().kind()) {
      case StageKind::kSort:
        return DivideSort();
      case StageKind::kCut:
        return;  // LimitShards
      case StageKind::kSample:
        joined_ = Joined::kBySortKey;
        shards_.push_back(AsWritten(stage()));
        merger_.push_back(Added(Doc("$limit", stage().spec().AsDocument()["size"])));
        ++at_;
        return;
      case StageKind::kNearFields:
        joined_ = Joined::kBySortKey;
        shards_.push_back(AsWritten(stage()));
        ++at_;
        return DropNearFilter();
      case StageKind::kSource:
        joined_ = Joined::kByTime;
        shards_.push_back(AsWritten(stage()));
        ++at_;
        return;
      case StageKind::kCount:
        joined_ = Joined::kPartials;
        shards_.push_back(GroupOfCount(stage()));
        merger_.push_back(Merging(GroupOfCount(stage())));
        merger_.push_back(FieldOfCount(stage()));
        ++at_;
        return;
      default:
        joined_ = Joined::kPartials;
        shards_.push_back(AsWritten(stage()));
        merger_.push_back(Merging(AsWritten(stage())));
        ++at_;
    }
  }

  void DivideSort() {
    const auto& sort = static_cast<const SortStage&>(stage());
    joined_ = Joined::kBySortKey;
    shards_.push_back(AsWritten(sort));
    ++at_;
    if (std::optional<Wanted> wanted = WantedFrom(stages_, at_)) {
      shards_.back().sent.push_back(Doc("$limit", wanted->rows));
      merger_.push_back(Cut("$limit", wanted->rows));
      if (wanted->skipped > 0) {
        merger_.push_back(Cut("$skip", wanted->skipped));
      }
      at_ = wanted->behind;
      return;
    }
    while (at_ < stages_.size() && PassesSort(sort, stage())) {
      shards_.push_back(StepOf(stage()));
      ++at_;
    }
  }

  // Whether the rows stay in their order by the fields they were sorted by.
  static bool PassesSort(const SortStage& sort, const Stage& next) {
    const bool keeps_rows = next.kind() == StageKind::kMatch ||
                            next.kind() == StageKind::kProject ||
                            next.kind() == StageKind::kAddFields;
    const auto& parts = sort.pattern().parts();
    const bool by_fields =
        std::all_of(parts.begin(), parts.end(), [](const auto& part) { return part.meta.empty(); });
    std::set<std::string> fields;
    sort.AddDependencies(&fields);
    return keeps_rows && by_fields && next.LetsFilterPass(fields);
  }

  // $geoNear is the filter before the stage that has its name, and is sent whole.
  void DropNearFilter() {
    const size_t count = shards_.size();
    if (count >= 2 && shards_[count - 1].stage != nullptr &&
        shards_[count - 1].stage->kind() == StageKind::kNearFields) {
      shards_.erase(shards_.begin() + static_cast<std::ptrdiff_t>(count) - 2);
    }
  }

  // Rows are sent before they are multiplied.
  void MoveFinalUnwind() {
    while (joined_ != Joined::kPartials && !shards_.empty() && shards_.back().stage != nullptr &&
           shards_.back().stage->kind() == StageKind::kUnwind) {
      merger_.insert(merger_.begin(), std::move(shards_.back()));
      shards_.pop_back();
    }
  }

  // No shard has more rows to give than are wanted of all.
  void LimitShards() {
    const std::optional<Wanted> wanted = WantedFrom(stages_, at_);
    if (wanted.has_value() && merger_.empty() && joined_ != Joined::kPartials) {
      shards_.push_back(Cut("$limit", wanted->rows));
    }
  }

  void AddToMerger(size_t i) {
    const bool counts = stages_[i]->kind() == StageKind::kCount;
    Step step = counts ? WholeCount(*stages_[i]) : StepOf(*stages_[i]);
    if (const exec::UnwindOptions* unwind =
            merger_.empty() ? nullptr : UnwindOfLookup(merger_.back().stage, *stages_[i])) {
      merger_.back().shown = {Unwinding(merger_.back().shown.front(), *unwind)};
      step.shown.clear();
    }
    // A $sort is shown with its limit, and the $limit itself is not.
    if (const auto* cut = As<CutStage>(stages_[i].get());
        cut != nullptr && cut->is_limit() && limit_of_sort_) {
      step.shown.clear();
      limit_of_sort_ = false;
    } else if (const auto* sort = As<SortStage>(stages_[i].get())) {
      limit_of_sort_ = sort->limit() > 0;
    }
    merger_.push_back(std::move(step));
  }

  void LimitFields() {
    if (std::any_of(shards_.begin(), shards_.end(), [](const Step& step) {
          return step.stage != nullptr && step.stage->Narrows();
        })) {
      return;
    }
    std::set<std::string> fields;
    for (const Step& step : merger_) {
      if (step.stage == nullptr) {
        continue;
      }
      if (!step.stage->AddDependencies(&fields)) {
        return;
      }
      if (step.stage->Narrows()) {
        return SendOnly(fields);
      }
    }
  }

  void SendOnly(const std::set<std::string>& fields) {
    bson::Builder projection;
    // A projection has to name something: _id stands for nothing at all.
    projection.Append("_id", static_cast<int32_t>(fields.empty() || fields.count("_id") > 0));
    for (const std::string& field : fields) {
      if (field.empty() || field[0] == '$' || field.find('.') != std::string::npos) {
        return;
      }
      if (field != "_id") {
        projection.Append(field, int32_t{1});
      }
    }
    shards_.push_back(Added(Doc("$project", projection.Finish())));
  }

  SplitPipeline Finish() {
    SplitPipeline split;
    split.joined = joined_;
    auto add = [](const std::vector<Step>& steps, std::vector<bson::Document>* sent,
                  std::vector<bson::Document>* shown) {
      for (const Step& step : steps) {
        sent->insert(sent->end(), step.sent.begin(), step.sent.end());
        shown->insert(shown->end(), step.shown.begin(), step.shown.end());
      }
    };
    add(shards_, &split.shards, &split.shards_shown);
    add(merger_, &split.merger, &split.merger_shown);
    split.merger.insert(split.merger.end(), sink_.begin(), sink_.end());
    return split;
  }

  const Stages& stages_;
  const IsLocal& is_local_;
  size_t at_;  // the next stage to be placed
  std::vector<Step> shards_;
  std::vector<Step> merger_;
  std::vector<bson::Document> sink_;
  Joined joined_ = Joined::kAsTheyCome;
  bool limit_of_sort_ = false;
};

}  // namespace

size_t SplitPoint(const Stages& stages, const IsLocal& is_local) {
  auto merges = std::find_if(stages.begin(), stages.end(), [&](const StagePtr& stage) {
    return stage->spread() != Spread::kEach || !StaysHome(*stage, is_local);
  });
  return static_cast<size_t>(merges - stages.begin());
}

SplitPipeline Split(const Stages& stages, const IsLocal& is_local) {
  return Splitter(stages, is_local).Run();
}

}  // namespace quire::pipeline
