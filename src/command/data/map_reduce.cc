// SPDX-License-Identifier: Apache-2.0
#include "engine/read/map_reduce.h"

#include "base/try.h"
#include "command/authorise.h"
#include "command/command.h"
#include "command/parsed_row.h"
#include "request/crud.h"

namespace quire::command {

namespace {

Result<request::MapReduceRequest> ParseMapReduce(Invocation& i) {
  return request::MapReduceRequest::Parse(i.body());
}

Status RunMapReduce(Invocation& i, const request::MapReduceRequest& request) {
  ASSIGN_OR_RETURN(i.call.summary.ns, request::Namespace(i.database(), request.collection));
  i.writes = request.out.kind != request::MapReduceOutput::Kind::kInline;
  return engine::MapReduce(i.operation, i.database(), request, &i.reply());
}

}  // namespace

Status StateMapReduce(Invocation& i, const request::MapReduceRequest& request, auth::Needs* needs) {
  using Kind = request::MapReduceOutput::Kind;
  needs->Add(Action::find, auth::Collection(i.database(), request.collection));
  const request::MapReduceOutput& out = request.out;
  if (out.kind == Kind::kInline) {
    return Status::Ok();
  }
  const auth::Resource target =
      auth::Collection(out.database.empty() ? i.database() : out.database, out.collection);
  needs->Add(Action::insert, target);
  needs->Add(out.kind == Kind::kReplace ? Action::remove : Action::update, target);
  if (request.bypass_validation) {
    needs->Add(Action::bypassDocumentValidation, target);
  }
  return Status::Ok();
}

std::span<const Row> MapReduceRows() {
  using namespace request;  // NOLINT(google-build-using-namespace): the flags below
  static constexpr Row kRows[] = {
      ParsedRow<ParseMapReduce, StateMapReduce, RunMapReduce>(
          {"mapReduce", "mapreduce", kRead | kReadConcern | kWriteConcern | kByKey,
           "groups what a script makes of each document and reduces it by another"}),
  };
  return kRows;
}

}  // namespace quire::command
