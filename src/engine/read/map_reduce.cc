// SPDX-License-Identifier: Apache-2.0
#include "engine/read/map_reduce.h"

#include "base/error_codes.h"
#include "base/try.h"
#include "engine/read/pipeline_run.h"
#include "engine/read/stored_functions.h"

namespace quire::engine {

namespace {

using request::MapReduceRequest;
using Kind = request::MapReduceOutput::Kind;

// An array is opened; appends {$project: {value: <body called with the key and `second`>}}.
void PushCall(const bson::Value& body, const bson::Document& arguments, bson::Builder* out) {
  out->PushDocument().BeginDocument("$project").BeginDocument("value").BeginDocument("$function");
  out->Append("body", body.AsString());
  out->AppendArray("args", arguments.view());
  out->Append("lang", "js").End().End().End().End();
}

bson::Document FinalizeArguments() {
  bson::Builder arguments;
  arguments.Append("0", "$_id").Append("1", "$value");
  return arguments.Finish();
}

bson::Document ReduceArguments() {
  bson::Builder arguments;
  arguments.Append("0", "$_id");
  arguments.BeginArray("1").Push("$value").Push("$$new.value").End();
  return arguments.Finish();
}

void PushMerge(std::string_view database, const MapReduceRequest& request, bson::Builder* out) {
  out->PushDocument().BeginDocument("$merge");
  out->BeginDocument("into").Append("db", database).Append("coll", request.out.collection).End();
  if (request.out.kind == Kind::kMerge) {
    out->Append("whenMatched", "replace");
  } else {
    out->BeginArray("whenMatched");
    PushCall(request.reduce, ReduceArguments(), out);
    if (!request.finalize.missing()) {
      PushCall(request.finalize, FinalizeArguments(), out);
    }
    out->End();
  }
  out->Append("whenNotMatched", "insert").End().End();
}

// A mapReduce ready to run, with what its scripts need.
class Job {
 public:
  Job(const Operation& operation, std::string_view database, const MapReduceRequest& request)
      : stored_(&operation.engine, database),
        target_(request.out.database.empty() ? database : request.out.database),
        pipeline_(MapReducePipeline(target_, request)),
        run_(operation, {std::string(database), std::string(request.collection)},
             pipeline_["pipeline"].AsArray(), /*allow_disk_use=*/true, request.bypass_validation) {}

  Status Open(const Operation& operation, const MapReduceRequest& request) {
    ASSIGN_OR_RETURN(auto collection,
                     operation.Find(run_.ns().database + "." + run_.ns().collection));
    if (collection != nullptr && collection->is_view() && !collection->is_oplog) {
      return {kCommandNotSupportedOnView, "mapReduce on a view is not supported"};
    }
    run_.UseScripts(js::Scope::Make(bson::Document(request.scope), &stored_));
    return run_.Open(operation, request.collation, bson::View(), bson::Value());
  }

  PipelineRun& run() { return run_; }

 private:
  SystemJs stored_;
  std::string target_;
  bson::Document pipeline_;
  PipelineRun run_;
};

Status CheckScripts() {
  if (!js::Enabled()) {
    return {31264, "Cannot run server-side javascript without the javascript engine enabled"};
  }
  return Status::Ok();
}

}  // namespace

bson::Document MapReducePipeline(std::string_view database, const MapReduceRequest& request) {
  bson::Builder whole;
  whole.BeginArray("pipeline");
  if (!request.query.empty()) {
    whole.PushDocument().Append("$match", request.query).End();
  }
  if (!request.sort.empty()) {
    whole.PushDocument().Append("$sort", request.sort).End();
  }
  if (request.limit > 0) {
    whole.PushDocument().Append("$limit", request.limit).End();
  }
  whole.PushDocument().BeginDocument("$_internalMapReduce");
  whole.Append("map", request.map).Append("reduce", request.reduce).End().End();
  if (!request.finalize.missing()) {
    PushCall(request.finalize, FinalizeArguments(), &whole);
  }
  if (request.out.kind == Kind::kReplace) {
    whole.PushDocument().BeginDocument("$out");
    whole.Append("db", database).Append("coll", request.out.collection).End().End();
  } else if (request.out.kind != Kind::kInline) {
    PushMerge(database, request, &whole);
  }
  whole.End();
  return whole.Finish();
}

std::shared_ptr<const js::Scope> MapReduceScope(const MapReduceRequest& request) {
  return js::Scope::Make(bson::Document(request.scope));
}

void AppendMapReduceTarget(const MapReduceRequest& request, bson::Builder* reply) {
  if (request.out.database.empty()) {
    reply->Append("result", request.out.collection);
    return;
  }
  reply->BeginDocument("result").Append("db", request.out.database);
  reply->Append("collection", request.out.collection).End();
}

Status MapReduce(const Operation& operation, std::string_view database,
                 const MapReduceRequest& request, bson::Builder* reply) {
  constexpr size_t kMaxReply = size_t{16} << 20;
  RETURN_IF_ERROR(CheckScripts());
  Job job(operation, database, request);
  RETURN_IF_ERROR(job.Open(operation, request));
  bool inline_results = request.out.kind == Kind::kInline;
  if (inline_results) {
    reply->BeginArray("results");
  }
  exec::Row row;
  while (true) {
    RETURN_IF_ERROR(operation.op.CheckInterrupt());
    ASSIGN_OR_RETURN(bool more, job.run().Next(operation.op, &row));
    if (!more) {
      break;
    }
    reply->Push(row.document);
    if (reply->size() > kMaxReply) {
      return {kBSONObjectTooLarge, "the results of mapReduce are too large to be returned inline"};
    }
  }
  if (inline_results) {
    reply->End();
  } else {
    AppendMapReduceTarget(request, reply);
  }
  return Status::Ok();
}

Status ExplainMapReduce(const Operation& operation, std::string_view database,
                        const MapReduceRequest& request, std::string_view verbosity,
                        bson::Builder* reply) {
  RETURN_IF_ERROR(CheckScripts());
  Job job(operation, database, request);
  RETURN_IF_ERROR(job.Open(operation, request));
  return ExplainRun(operation, job.run(), verbosity, reply);
}

}  // namespace quire::engine
