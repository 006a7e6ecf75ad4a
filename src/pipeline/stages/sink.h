// SPDX-License-Identifier: Apache-2.0
//
// The stages that write: $out and $merge.
#pragma once

#include <string>
#include <vector>

#include "pipeline/stage.h"

namespace quire::pipeline {

// How $merge treats documents; $out is the mode kOut, where `target` and `timeseries` count.
struct SinkOptions {
  enum class Mode { kOut, kMerge };
  enum class Matched { kReplace, kKeepExisting, kMerge, kFail, kPipeline };
  enum class NotMatched { kInsert, kDiscard, kFail };
  Mode mode = Mode::kOut;
  Namespace target;
  std::vector<std::string> on;  // empty: _id (the shard key)
  Matched matched = Matched::kMerge;
  NotMatched not_matched = NotMatched::kInsert;
  bson::Document timeseries;  // options of the new collection; empty: a plain one
  bson::Document pipeline;    // of kPipeline, as an array
  bson::Document let;         // of kPipeline: names to expressions over the new document
};

class SinkStage : public StageOf<StageKind::kSink> {
 public:
  using StageOf::StageOf;
  // $merge writes what each shard has by itself; $out fills one collection.
  Spread spread() const override {
    return options_.mode == SinkOptions::Mode::kMerge ? Spread::kEach : Spread::kOnce;
  }

  const SinkOptions& options() const { return options_; }

 protected:
  SinkOptions options_;
};

}  // namespace quire::pipeline
