// SPDX-License-Identifier: Apache-2.0
#include "engine/map_reduce.h"

#include "base/try.h"
#include "command/command.h"
#include "request/crud.h"

namespace quire::command {

namespace {

Status RunMapReduce(Invocation& i) {
  ASSIGN_OR_RETURN(auto request, request::MapReduceRequest::Parse(i.body()));
  ASSIGN_OR_RETURN(i.call.summary.ns, request::Namespace(i.database(), request.collection));
  return engine::MapReduce(i.operation, i.database(), request, &i.reply());
}

}  // namespace

std::span<const Row> MapReduceRows() {
  using namespace request;  // NOLINT(google-build-using-namespace): the flags below
  static constexpr Row kRows[] = {
      {{"mapReduce", "mapreduce", kRead | kReadConcern | kWriteConcern,
        "groups what a script makes of each document and reduces it by another"},
       RunMapReduce},
  };
  return kRows;
}

}  // namespace quire::command
