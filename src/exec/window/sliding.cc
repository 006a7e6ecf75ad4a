// SPDX-License-Identifier: Apache-2.0
//
// $sum, $avg, $count, $min and $max over windows whose beginning moves: nothing is added up again
// for every row.
#include <algorithm>

#include "base/current_op.h"
#include "bson/compare.h"
#include "exec/window/function_internal.h"
#include "expr/collation/collator.h"
#include "expr/summation.h"

namespace quire::exec {

namespace {

class SumState {
 public:
  void Add(const bson::Value& value, const expr::Collator*) {
    if (value.is_number()) {
      sum_.Add(value);
    }
  }
  void Append(const SumState& later, const expr::Collator*) { sum_.Add(later.sum_); }
  bson::Value Finish() const { return sum_.Sum(); }

 private:
  expr::Summation sum_;
};

class MeanState {
 public:
  void Add(const bson::Value& value, const expr::Collator*) {
    if (value.is_number()) {
      sum_.AddAsDouble(value);
    }
  }
  void Append(const MeanState& later, const expr::Collator*) { sum_.Add(later.sum_); }
  bson::Value Finish() const { return sum_.count() == 0 ? bson::Value::Null() : sum_.Mean(); }

 private:
  expr::Summation sum_;
};

// The first of the best values. kSign 1: the largest; -1: the smallest.
template <int kSign>
class BestState {
 public:
  void Add(const bson::Value& value, const expr::Collator* collator) {
    if (!value.nullish() &&
        (best_.nullish() || kSign * bson::Compare(value, best_, collator) > 0)) {
      best_ = value;
    }
  }
  void Append(const BestState& later, const expr::Collator* collator) {
    Add(later.best_, collator);
  }
  bson::Value Finish() const { return best_.nullish() ? bson::Value::Null() : best_; }

 private:
  bson::Value best_;  // of the partition's inputs
};

// A window is held in two parts. Of the first part every end piece has a state of its own, so that
// rows leave it by stepping to the next piece; rows enter the second. When the first is used up,
// the second becomes the first. REQUIRES: neither end of the frames moves back.
template <typename State>
class SlidingWindow final : public WholePartitionFunction {
 public:
  SlidingWindow(std::unique_ptr<expr::agg::Expression> input, WindowBounds bounds)
      : input_(std::move(input)), bounds_(std::move(bounds)) {}

  Status Compute(Partition& partition, CountedValues* results) const override {
    static const std::vector<bson::Value> kNoKeys;
    const expr::Collator* collator = partition.context()->collator;
    ASSIGN_OR_RETURN(auto frames, ComputeFrames(bounds_, partition.size(),
                                                bounds_.range ? partition.keys() : kNoKeys));
    CountedValues inputs;
    RETURN_IF_ERROR(partition.EvaluateAll(*input_, &inputs));
    std::vector<State> pieces;  // of the first part; the last is the longest
    size_t middle = 0;          // where the second part begins
    size_t end = 0;
    State second;
    for (const Frame& frame : frames) {
      RETURN_IF_ERROR(CheckCurrentOp());
      if (frame.first >= middle) {
        pieces.clear();
        second = State();
        for (size_t i = frame.second; i > frame.first; --i) {
          State piece;
          piece.Add(inputs[i - 1], collator);
          if (!pieces.empty()) {
            piece.Append(pieces.back(), collator);
          }
          pieces.push_back(std::move(piece));
        }
        middle = std::max(middle, frame.second);
      } else {
        pieces.erase(pieces.begin() + static_cast<long>(middle - frame.first), pieces.end());
        for (size_t i = std::max(end, middle); i < frame.second; ++i) {
          second.Add(inputs[i], collator);
        }
      }
      end = frame.second;
      State whole = pieces.empty() ? State() : pieces.back();
      whole.Append(second, collator);
      RETURN_IF_ERROR(results->Add(whole.Finish()));
    }
    return Status::Ok();
  }

 private:
  std::unique_ptr<expr::agg::Expression> input_;
  WindowBounds bounds_;
};

template <typename State>
WindowFunctionPtr Make(std::unique_ptr<expr::agg::Expression> input, const WindowBounds& bounds) {
  return std::make_unique<SlidingWindow<State>>(std::move(input), bounds);
}

struct SlidingRow {
  std::string_view name;
  WindowFunctionPtr (*make)(std::unique_ptr<expr::agg::Expression> input,
                            const WindowBounds& bounds);
};
constexpr SlidingRow kSliding[] = {
    {"$sum", Make<SumState>},     {"$avg", Make<MeanState>},     {"$count", Make<SumState>},
    {"$max", Make<BestState<1>>}, {"$min", Make<BestState<-1>>},
};

}  // namespace

Result<WindowFunctionPtr> ParseSliding(const WindowSpec& spec) {
  for (const SlidingRow& row : kSliding) {
    if (row.name == spec.function.name()) {
      bson::Value argument =
          spec.function.name() == "$count" ? bson::Value(int32_t{1}) : spec.function.value();
      ASSIGN_OR_RETURN(auto input, ParseWindowExpression(argument, spec.context));
      return row.make(std::move(input), *spec.bounds);
    }
  }
  return WindowFunctionPtr();
}

}  // namespace quire::exec
