// SPDX-License-Identifier: Apache-2.0
#include "base/try.h"
#include "command/diagnostic.h"
#include "run/fail_point.h"

namespace quire::command {
namespace {

// testVersion2 and its like do nothing: what counts is which versions of the stable API have them.
Status RunNothing(Invocation&) { return Status::Ok(); }

Status RunConfigureFailPoint(Invocation& i) {
  ASSIGN_OR_RETURN(int64_t met, i.commands.fail_points().Configure(i.body()));
  i.reply().Append("count", met);
  return Status::Ok();
}

}  // namespace

std::span<const Row> FailPointRows() {
  using namespace request;  // NOLINT(google-build-using-namespace): the flags below
  static constexpr Row kAll[] = {
      {{"configureFailPoint", "", kAdminOnly | kTestOnly,
        "makes commands fail, for the tests of clients"},
       RunConfigureFailPoint,
       OnCluster(Action::configureFailPoint)},
      {{"testVersion2", "", kTestOnly | kStableApi2, "for tests: in version 2 of the stable API"},
       RunNothing,
       kAnyone},
      {{"testVersions1And2", "", kTestOnly | kStableApi | kStableApi2,
        "for tests: in both versions of the stable API"},
       RunNothing,
       kAnyone},
      {{"testDeprecation", "", kTestOnly | kStableApi | kDeprecated,
        "for tests: deprecated in version 1 of the stable API"},
       RunNothing,
       kAnyone},
      {{"testDeprecationInVersion2", "", kTestOnly | kStableApi | kStableApi2 | kDeprecated,
        "for tests: deprecated in version 2 of the stable API"},
       RunNothing,
       kAnyone},
  };
  return kAll;
}

}  // namespace quire::command
