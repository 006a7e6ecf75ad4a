// SPDX-License-Identifier: Apache-2.0
//
// What the command mapReduce adds to pipelines: {$_internalMapReduce: {map, reduce}} gives a
// document {_id: <key>, value: <reduced>} per key.
#include "exec/group/group.h"
#include "exec/map.h"
#include "expr/accumulate/reduce.h"
#include "expr/script.h"
#include "pipeline/stages/parsing.h"

namespace quire::pipeline {

namespace {

class MapReduceStage : public StageOf<StageKind::kMapReduce> {
 public:
  using StageOf::StageOf;

  Status Parse(const StageContext&) {
    bson::View fields = spec().AsDocument();
    js::ScopePtr scope = expr::ScriptScope(*context());
    map_ = std::make_unique<js::Function>(scope, std::string(fields["map"].AsString()));
    reduce_ = expr::MakeReduce(js::Function(scope, std::string(fields["reduce"].AsString())));
    ASSIGN_OR_RETURN(key_, ParseExpression(bson::Value("$k"), context()));
    return Status::Ok();
  }

  Result<OperatorPtr> Build(OpContext&, OperatorPtr input,
                            const BuildOptions& build) const override {
    exec::GroupOptions options;
    options.id = key_.get();
    options.fields.push_back({"value", reduce_.get()});
    options.context = context();
    options.allow_disk = build.allow_disk_use;
    auto pairs = std::make_unique<exec::Map>(std::move(input), map_.get());
    return OperatorPtr(std::make_unique<exec::Group>(std::move(pairs), std::move(options)));
  }
  // Where the command's scripts are.
  Spread spread() const override { return Spread::kOnce; }

 private:
  std::unique_ptr<js::Function> map_;
  std::unique_ptr<expr::Accumulator> reduce_;
  std::unique_ptr<expr::agg::Expression> key_;
};

}  // namespace

Result<Stages> ParseMapReduce(const bson::Element& spec, const StageContext& context) {
  return MakeStage<MapReduceStage>(spec, context);
}

}  // namespace quire::pipeline
