// SPDX-License-Identifier: Apache-2.0
//
// $rank, $denseRank, $documentNumber and $shift.
#include "bson/number.h"
#include "exec/window/function_internal.h"

namespace quire::exec {

namespace {

enum class RankKind { kRank, kDense, kNumber };

class RankWindow final : public WholePartitionFunction {
 public:
  explicit RankWindow(RankKind kind) : kind_(kind) {}

  Status Compute(Partition& partition, CountedValues* results) const override {
    int64_t rank = 0;
    for (size_t i = 0; i < partition.size(); ++i) {
      bool same = false;
      if (kind_ != RankKind::kNumber && i > 0) {
        ASSIGN_OR_RETURN(same, partition.SameAsPrevious(i));
      }
      if (!same) {
        rank = kind_ == RankKind::kDense ? rank + 1 : static_cast<int64_t>(i) + 1;
      }
      RETURN_IF_ERROR(results->Add(bson::NarrowInt(rank)));
    }
    return Status::Ok();
  }

 private:
  RankKind kind_;
};

Result<WindowFunctionPtr> ParseRankKind(const WindowSpec& spec, RankKind kind) {
  std::string name(spec.function.name());
  if (spec.bounds) {
    return Status(5371601, "Rank style window functions take no other arguments");
  }
  bool empty =
      spec.function.type() == bson::Type::kDocument && spec.function.value().AsDocument().empty();
  if (!empty) {
    return Status(5371603, name + " must be specified with '{}' as the value");
  }
  if (spec.sort.fields != 1) {
    return Status(5371602, name +
                               " must be specified with a top level sortBy expression with "
                               "exactly one element");
  }
  return WindowFunctionPtr(std::make_unique<RankWindow>(kind));
}

class ShiftWindow final : public WholePartitionFunction {
 public:
  ShiftWindow(std::unique_ptr<expr::agg::Expression> output, int64_t by, bson::OwnedValue fallback)
      : output_(std::move(output)), by_(by), fallback_(std::move(fallback)) {}

  Status Compute(Partition& partition, CountedValues* results) const override {
    auto size = static_cast<int64_t>(partition.size());
    for (int64_t i = 0; i < size; ++i) {
      int64_t at = 0;
      if (__builtin_add_overflow(i, by_, &at) || at < 0 || at >= size) {
        RETURN_IF_ERROR(results->Add(fallback_.value()));
        continue;
      }
      ASSIGN_OR_RETURN(bson::Value value, output_->Evaluate(partition.At(static_cast<size_t>(at))));
      RETURN_IF_ERROR(results->Add(value.missing() ? bson::Value::Null() : value));
    }
    return Status::Ok();
  }

 private:
  std::unique_ptr<expr::agg::Expression> output_;
  int64_t by_;
  bson::OwnedValue fallback_;
};

}  // namespace

Result<WindowFunctionPtr> ParseRank(const WindowSpec& spec) {
  return ParseRankKind(spec, RankKind::kRank);
}
Result<WindowFunctionPtr> ParseDenseRank(const WindowSpec& spec) {
  return ParseRankKind(spec, RankKind::kDense);
}
Result<WindowFunctionPtr> ParseDocumentNumber(const WindowSpec& spec) {
  return ParseRankKind(spec, RankKind::kNumber);
}

Result<WindowFunctionPtr> ParseShift(const WindowSpec& spec) {
  if (spec.bounds || spec.function.type() != bson::Type::kDocument) {
    return Status(kFailedToParse, "Argument to $shift must be an object, without a window");
  }
  std::unique_ptr<expr::agg::Expression> output;
  std::optional<int64_t> by;
  bson::OwnedValue fallback(bson::Value::Null());
  for (const bson::Element& field : spec.function.value().AsDocument()) {
    if (field.name() == "output") {
      ASSIGN_OR_RETURN(output, ParseWindowExpression(field.value(), spec.context));
    } else if (field.name() == "by") {
      by = bson::ExactInt32(field.value());
      if (!by) {
        return Status(kFailedToParse, "'$shift:by' field must be an integer, but found " +
                                          bson::ToJson(field.value()));
      }
    } else if (field.name() == "default") {
      ASSIGN_OR_RETURN(auto expression, ParseWindowExpression(field.value(), spec.context));
      ASSIGN_OR_RETURN(const bson::Value* value, expr::agg::ConstantValue(*expression));
      if (!value) {
        return Status(kFailedToParse, "'$shift:default' expression must yield a constant value");
      }
      fallback = bson::OwnedValue(*value);
    } else {
      return Status(kFailedToParse, "Unknown argument in $shift: " + std::string(field.name()));
    }
  }
  if (!output || !by) {
    return Status(kFailedToParse, "$shift requires an output expression and an integer 'by'.");
  }
  if (!spec.sort.given) {
    return Status(5371602, "$shift requires a sortBy");
  }
  return WindowFunctionPtr(
      std::make_unique<ShiftWindow>(std::move(output), *by, std::move(fallback)));
}

}  // namespace quire::exec
