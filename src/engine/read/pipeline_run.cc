// SPDX-License-Identifier: Apache-2.0
#include "engine/read/pipeline_run.h"

#include <algorithm>

#include "base/error_codes.h"
#include "base/try.h"
#include "engine/read/view_graph.h"
#include "engine/read/without_table.h"
#include "engine/sharding.h"
#include "expr/asks_for_meta.h"
#include "pipeline/leading_find.h"
#include "pipeline/parse.h"
#include "pipeline/rewrite.h"
#include "pipeline/stages/group.h"
#include "plan/stages/lower_stages.h"

namespace quire::engine {

namespace {

std::string FullName(const pipeline::Namespace& ns) { return ns.database + "." + ns.collection; }

// The rows of a planned query as an operator.
class QueryRows : public exec::Operator {
 public:
  explicit QueryRows(PlannedQuery* query) : query_(query) {}
  Result<bool> Next(OpContext& op, exec::Row* row) override { return query_->Next(op, row); }

 private:
  PlannedQuery* query_;
};

// A nested pipeline with what it owns.
class NestedRun : public exec::Operator {
 public:
  Result<bool> Next(OpContext& op, exec::Row* row) override { return root->Next(op, row); }

  pipeline::Stages stages;
  std::unique_ptr<PlannedQuery> query;
  std::unique_ptr<exec::Operator> root;
};

// Takes what a pipeline would write when it is only explained.
class NoSink : public plan::DocumentSink {
 public:
  Status Write(OpContext&, bson::View) override { return Status::Ok(); }
  Status Finish(OpContext&) override { return Status::Ok(); }
};

// What MongoDB's planner sees of the stages behind a pipeline's find: the order that $densify and
// windows need, or the groups and plain joins that it runs with the find.
std::string ExplainedStages(const pipeline::Stages& stages) {
  bson::Builder seen;
  for (const auto& stage : stages) {
    const bson::Value spec = stage->spec();
    switch (stage->kind()) {
      case pipeline::StageKind::kGroup:
        seen.Append("group", spec);
        continue;
      case pipeline::StageKind::kCount:
        seen.Append("count", 1);
        break;
      case pipeline::StageKind::kLookup:
        if (spec.is_document() && !spec.AsDocument().Has("pipeline")) {
          seen.Append("join", spec);
          continue;
        }
        break;
      case pipeline::StageKind::kDensify:
        seen.Append("order", spec);
        break;
      case pipeline::StageKind::kWindow:
        if (spec.is_document() && spec.AsDocument().Has("sortBy")) {
          seen.Append("order", spec.AsDocument()["sortBy"]);
        }
        break;
      default:
        break;
    }
    break;
  }
  const bson::Document document = seen.Finish();
  return document.empty() ? "" : document.bytes();
}

bool StartsWithStream(bson::View pipeline) {
  return !pipeline.empty() && pipeline.front().type() == bson::Type::kDocument &&
         pipeline.front().value().AsDocument().Has("$changeStream");
}

// The filter of the $match a pipeline begins with; empty when it begins with something else.
bson::View LeadingMatch(bson::View pipeline) {
  if (pipeline.empty()) {
    return bson::View();
  }
  bson::Value match = pipeline.front().value().AsDocument()["$match"];
  return match.is_document() ? match.AsDocument() : bson::View();
}

// What tells a router to read it by itself.
Status ForRouter(const ResolvedView& resolved, const std::string& ns) {
  bson::Builder extra;
  extra.BeginDocument("resolvedView")
      .Append("ns", resolved.collection == nullptr ? ns : resolved.collection->ns())
      .BeginArray("pipeline");
  for (const bson::Document& stage : resolved.stages) {
    extra.Push(stage);
  }
  extra.End();
  if (resolved.collator != nullptr) {
    extra.Append("collation", resolved.collator->spec());
  }
  extra.End();
  return Status(kCommandOnShardedViewNotSupportedOnMongod,
                "Reading " + ns + " needs collections that lie on several shards")
      .WithExtra(std::string(extra.Finish().bytes()));
}

// Whether what an index holds for `path` is what the documents hold: no arrays taken apart, and
// strings as they are.
bool KeysAreValues(const store::CollectionInfo& collection, const std::string& path,
                   const expr::Context& context) {
  if (path.empty() || context.collator != nullptr) {
    return false;
  }
  for (const auto& index : collection.indexes) {
    for (const auto& part : index->keys.parts) {
      bool plain = part.kind == &store::kOrderedKind && index->collator == nullptr &&
                   index->state->multikey_steps.load() == 0;
      if (part.path == path && !plain) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace

PipelineRun::PipelineRun(const Operation& operation, pipeline::Namespace ns, bson::View pipeline,
                         bool allow_disk_use, bool bypass_validation)
    : engine_(operation.engine),
      session_(operation.in_transaction ? operation.session : nullptr),
      caller_(operation.caller == nullptr ? std::nullopt : std::optional(*operation.caller)),
      durability_(operation.durability),
      ns_(std::move(ns)),
      pipeline_(pipeline),
      allow_disk_use_(allow_disk_use),
      bypass_validation_(bypass_validation),
      sharding_(RouterScope::Current()) {
  uint64_t off = engine_.rewrites_off;
  for (size_t i = 0; off != 0; ++i, off >>= 1) {
    if ((off & 1) != 0) {
      rewrites_off_.emplace(pipeline::RewriteNames()[i]);
    }
  }
}

PipelineRun::~PipelineRun() = default;

Operation PipelineRun::MakeOperation(OpContext& op) const {
  Operation operation{engine_, op};
  operation.session = session_;
  operation.caller = caller_ ? &*caller_ : nullptr;
  operation.in_transaction = session_ != nullptr;
  operation.durability = durability_;
  operation.began = context_.now;
  operation.cluster_time = context_.cluster_time;
  return operation;
}

Status PipelineRun::Open(const Operation& operation, bson::View collation, bson::View let,
                         const bson::Value& hint) {
  hint_ = bson::OwnedValue(hint);
  ResolvedView resolved;
  if (!ns_.collection.empty()) {
    ASSIGN_OR_RETURN(resolved, ResolveView(operation, FullName(ns_)));
  }
  bool stream = StartsWithStream(pipeline_);
  if (stream) {
    RETURN_IF_ERROR(CheckStream(operation, resolved));
    resolved = ResolvedView();  // a stream outlives its collection and does not take its collation
  }
  collection_ = resolved.collection;
  if (!collation.empty()) {
    ASSIGN_OR_RETURN(collator_, expr::Collator::Parse(collation));
    if (resolved.is_view && !SameCollation(collator_.get(), resolved.collator.get())) {
      return {kOptionNotSupportedOnView,
              "Cannot override a view's default collation: " + FullName(ns_)};
    }
  } else {
    collator_ = resolved.collator;
  }
  context_.collator = collator_.get();
  RETURN_IF_ERROR(FillContext(operation, let, &context_));
  if (sharding_ != nullptr) {
    elsewhere_ = ForRouter(resolved, FullName(ns_));
    ownership_ = resolved.is_view ? nullptr : CurrentOwnership(FullName(ns_));
  }
  if (resolved.is_view && IsElsewhere(collection_.get())) {
    return elsewhere_;
  }
  pipeline::PipelineOptions options;
  if (!resolved.stages.empty()) {
    options.view_stages = resolved.stages.size();
    for (const bson::Element& e : pipeline_.view()) {
      resolved.stages.emplace_back(e.value().AsDocument());
    }
    pipeline_ = PipelineOf(resolved.stages);
  }
  options.ns = ns_;
  options.internal = internal_;
  ASSIGN_OR_RETURN(stages_, pipeline::ParsePipeline(pipeline_, options, &context_));
  RETURN_IF_ERROR(CheckOtherViews(operation));
  RETURN_IF_ERROR(pipeline::RewriteStages(&stages_, &context_, rewrites_off_));
  RETURN_IF_ERROR(DivideGroup());
  txn_ = SessionTransaction(operation);
  if (txn_ == nullptr && !stream) {  // an idle stream holds no snapshot
    ASSIGN_OR_RETURN(own_txn_, operation.BeginRead());
    txn_ = own_txn_.get();
  }
  std::unique_ptr<exec::Operator> input;
  bool is_oplog = collection_ != nullptr && collection_->is_oplog;
  bool without_table = is_oplog || resolved.lists_views;
  if (is_oplog && !explained_) {
    auto oplog =
        std::make_unique<OplogRows>(engine_, OplogStart(LeadingMatch(pipeline_)), backwards_);
    oplog_ = oplog.get();
    input = std::move(oplog);
  } else if (resolved.lists_views && !explained_ && !pipeline::StartsWithSource(stages_)) {
    input = std::make_unique<ListRows>(ViewDefinitions(operation, ns_.database));
  } else if (!pipeline::StartsWithSource(stages_)) {
    ASSIGN_OR_RETURN(query_, PlanLeading(operation, collection_, &stages_, context_, hint_.value(),
                                         without_table));
    input = std::make_unique<QueryRows>(query_.get());
  }
  if (is_oplog) {
    collection_ = nullptr;
  }
  ASSIGN_OR_RETURN(root_, plan::LowerStages(operation.op, stages_, std::move(input), *this,
                                            keep_operators_ ? &operators_ : nullptr));
  if (stream && stages_.back()->kind() == pipeline::StageKind::kSplitLargeEvent) {
    splitter_ = std::make_unique<EventSplitter>();
  }
  return Status::Ok();
}

bool PipelineRun::IsElsewhere(const store::CollectionInfo* other) const {
  return sharding_ != nullptr && other != nullptr && sharding_->PlacementOf(other->ns()) != nullptr;
}

Status PipelineRun::DivideGroup() {
  if (!wish_.partials) {
    return Status::Ok();
  }
  auto* group =
      stages_.empty() ? nullptr : pipeline::As<pipeline::GroupStage>(stages_.back().get());
  if (group == nullptr) {
    return {kBadValue, "partialGroup needs a $group at the pipeline's end"};
  }
  group->set_part(pipeline::GroupStage::Part::kGivesPartials);
  return Status::Ok();
}

Status PipelineRun::CheckStream(const Operation& operation, const ResolvedView& resolved) {
  if (operation.in_transaction) {
    return {kOperationNotSupportedInTransaction, "$changeStream cannot be used in a transaction"};
  }
  if (resolved.is_view) {
    return {kCommandNotSupportedOnView,
            "$changeStream cannot be opened on a view: " + FullName(ns_)};
  }
  return Status::Ok();
}

Result<std::unique_ptr<PlannedQuery>> PipelineRun::PlanLeading(
    const Operation& operation, const store::CollectionPtr& collection, pipeline::Stages* stages,
    const expr::Context& context, const bson::Value& hint, bool without_table) {
  bool near = std::any_of(stages->begin(), stages->end(), [](const auto& stage) {
    return stage->kind() == pipeline::StageKind::kNearFields;
  });
  if (near && collection == nullptr) {
    return Status(kNamespaceNotFound,
                  "$geoNear requires a geo index to run, but the collection does not exist");
  }
  pipeline::LeadingFind leading = pipeline::TakeLeadingFind(stages, rewrites_off_);
  plan::QuerySpec spec;
  spec.collection = collection;
  spec.filter_spec = leading.filter;
  spec.sort_spec = leading.sort;
  spec.projection_spec = leading.projection;
  spec.projection_optional = leading.only_needs;
  spec.no_fields = leading.no_fields;
  if (explained_) {
    spec.explained_stages = ExplainedStages(*stages);
  }
  if (collection != nullptr && KeysAreValues(*collection, leading.distinct_path, context)) {
    spec.distinct_path = leading.distinct_path;
  }
  spec.skip = leading.skip;
  spec.limit = leading.limit;
  spec.hint = hint;
  spec.context = &context;
  spec.allow_disk_use = allow_disk_use_;
  spec.wants_text_score = true;
  spec.wants_sort_key = wish_.rows;
  if (collection != nullptr && collection == collection_) {
    spec.ownership = ownership_;
  }
  spec.wants_index_key = expr::AsksForMeta(bson::Value::Array(pipeline_), "indexKey");
  if (without_table) {
    ScanWithoutTable(operation, ns_.database, &spec);
  }
  return PlannedQuery::Make(operation, std::move(spec), txn_);
}

Result<bool> PipelineRun::NextEvent(OpContext& op, exec::Row* row) {
  if (splitter_ != nullptr && splitter_->Next(row)) {
    return true;
  }
  ASSIGN_OR_RETURN(bool more, root_->Next(op, row));
  if (!more) {
    return false;
  }
  bson::Value id = row->document["_id"];
  if (!id.is_document() || id.AsDocument().bytes() != stream_->last_id().bytes()) {
    return Status(kChangeStreamFatalError,
                  "Encountered an event whose _id field, which contains the resume token, was "
                  "modified by the pipeline. Modifying the _id field of an event makes it "
                  "impossible to resume the stream from that point. Only transformations that "
                  "retain the unmodified _id field are allowed.");
  }
  if (splitter_ != nullptr) {
    RETURN_IF_ERROR(splitter_->Split(row, stream_->fragments_to_skip()));
  }
  stream_->FragmentsSkipped();
  return true;
}

Result<bool> PipelineRun::Next(OpContext& op, exec::Row* row) {
  constexpr uint32_t kMaxDocument = (16 << 20) + (16 << 10);  // room around a stored document
  ASSIGN_OR_RETURN(bool more, is_stream() ? NextEvent(op, row) : root_->Next(op, row));
  if (more && row->document.size() > kMaxDocument) {
    return Status(kBSONObjectTooLarge, "BSONObj size: " + std::to_string(row->document.size()) +
                                           " is invalid. Size must be between 0 and " +
                                           std::to_string(kMaxDocument));
  }
  return more;
}

Status PipelineRun::Refresh(OpContext&) { return Status::Ok(); }

Bell* PipelineRun::News() {
  return is_stream() || oplog_ != nullptr ? &engine_.log().grown : nullptr;
}

bool PipelineRun::HasNews() const {
  return is_stream() ? stream_->HasNews() : oplog_ != nullptr && oplog_->HasNews();
}

bool PipelineRun::Ended() const { return is_stream() && stream_->ended(); }

void PipelineRun::Returned(bson::View document) {
  if (is_stream()) {
    stream_->Returned(document);
  }
}

bool PipelineRun::HasRead(uint64_t time) const { return is_stream() && stream_->HasRead(time); }

bson::Document PipelineRun::StreamState() const {
  return is_stream() ? stream_->State() : bson::Document();
}

Status PipelineRun::Check() const {
  if (collection_ != nullptr && collection_->state->dropped) {
    return {kQueryPlanKilled,
            "collection dropped. UUID changed or namespace was dropped: " + collection_->ns()};
  }
  return Status::Ok();
}

std::string PipelineRun::PlanSummary() const {
  return query_ != nullptr ? query_->plan().Summary() : "";
}

exec::Counters PipelineRun::Totals() const {
  return query_ != nullptr ? query_->plan().Totals() : exec::Counters();
}

bson::Document PipelineRun::ResumeToken() const {
  return is_stream() ? stream_->ResumeToken() : bson::Document();
}

Status PipelineRun::CheckOtherViews(const Operation& operation) const {
  RETURN_IF_ERROR(CheckViewsRead(operation, stages_));
  std::vector<pipeline::Namespace> others;
  pipeline::AddNamespaces(stages_, &others);
  for (const pipeline::Namespace& other : others) {
    ASSIGN_OR_RETURN(store::CollectionPtr info, operation.Find(FullName(other)));
    ASSIGN_OR_RETURN(const ResolvedView resolved, ResolveView(operation, FullName(other)));
    if (IsElsewhere(resolved.collection.get())) {
      return elsewhere_;
    }
    if (info != nullptr && info->is_view() &&
        !SameCollation(context_.collator, info->collator.get())) {
      return {kOptionNotSupportedOnView,
              "Cannot read the view " + FullName(other) + " with a collation other than its own"};
    }
  }
  return Status::Ok();
}

Result<std::unique_ptr<exec::Operator>> PipelineRun::OpenPipeline(OpContext& op,
                                                                  const pipeline::Namespace& ns,
                                                                  pipeline::Stages stages,
                                                                  const expr::Context& context) {
  Operation operation = MakeOperation(op);
  ASSIGN_OR_RETURN(ResolvedView resolved, ResolveView(operation, FullName(ns)));
  if (resolved.collection != nullptr && resolved.collection->is_oplog) {
    return Status(kIllegalOperation, "The oplog can only be read on its own");
  }
  if (IsElsewhere(resolved.collection.get())) {
    return elsewhere_;
  }
  auto nested = std::make_unique<NestedRun>();
  if (!resolved.stages.empty()) {
    bson::Document view_pipeline = PipelineOf(resolved.stages);
    pipeline::PipelineOptions options;
    options.ns = ns;
    options.place = pipeline::PipelinePlace::kView;
    ASSIGN_OR_RETURN(nested->stages, pipeline::ParsePipeline(view_pipeline, options, &context));
  }
  for (pipeline::StagePtr& stage : stages) {
    nested->stages.push_back(std::move(stage));
  }
  std::unique_ptr<exec::Operator> input;
  if (resolved.lists_views && !pipeline::StartsWithSource(nested->stages)) {
    input = std::make_unique<ListRows>(ViewDefinitions(operation, ns.database));
  } else if (!pipeline::StartsWithSource(nested->stages)) {
    ASSIGN_OR_RETURN(nested->query, PlanLeading(operation, resolved.collection, &nested->stages,
                                                context, bson::Value(), false));
    input = std::make_unique<QueryRows>(nested->query.get());
  }
  ASSIGN_OR_RETURN(nested->root, plan::LowerStages(op, nested->stages, std::move(input), *this));
  return std::unique_ptr<exec::Operator>(std::move(nested));
}

bool PipelineRun::HasIndexOn(const pipeline::Namespace& ns, std::string_view path) {
  store::CollectionPtr collection = engine_.catalog().Find(FullName(ns));
  if (collection == nullptr || collection->is_view()) {
    return false;
  }
  for (const auto& index : collection->indexes) {
    bool same_collation = index->collator == nullptr && context_.collator == nullptr;
    if (index->keys.parts.front().path == path && !index->hidden && !index->sparse &&
        index->keys.special == nullptr && index->keys.wildcard == nullptr &&
        index->partial_filter == nullptr && same_collation) {
      return true;
    }
  }
  return false;
}

Result<std::unique_ptr<exec::Operator>> PipelineRun::OpenSource(OpContext& op,
                                                                std::string_view stage,
                                                                const bson::Value& spec) {
  if (stage == "$changeStream") {
    ASSIGN_OR_RETURN(StreamSpec parsed,
                     StreamSpec::Parse(ns_, spec.AsDocument(), engine_.log().Visible()));
    auto stream = std::make_unique<ChangeStream>(engine_, std::move(parsed));
    stream_ = stream.get();
    return std::unique_ptr<exec::Operator>(std::move(stream));
  }
  Operation operation = MakeOperation(op);
  // The indexes and plans of a view are those of what it is on; its statistics are its own.
  bool of_collection = collection_ != nullptr && stage != "$collStats";
  pipeline::Namespace ns =
      of_collection ? pipeline::Namespace{collection_->database, collection_->name} : ns_;
  ASSIGN_OR_RETURN(auto documents, SourceDocuments(operation, ns, stage, spec));
  return std::unique_ptr<exec::Operator>(std::make_unique<ListRows>(std::move(documents)));
}

Result<std::unique_ptr<plan::DocumentSink>> PipelineRun::OpenSink(
    OpContext& op, const pipeline::SinkOptions& options) {
  if (explained_) {
    RETURN_IF_ERROR(CheckSink(*this, options));
    return std::unique_ptr<plan::DocumentSink>(std::make_unique<NoSink>());
  }
  return MakeSink(op, *this, options);
}

}  // namespace quire::engine
