// SPDX-License-Identifier: Apache-2.0
//
// The rows of the commands about replica sets.
#include "command/authorise.h"
#include "command/diagnostic.h"
#include "command/repl/commands.h"
#include "request/route.h"

namespace quire::command {

std::span<const Row> ReplicaSetRows() {
  using request::kAdminOnly;
  static constexpr Row kRows[] = {
      {{"replSetGetStatus", "", kAdminOnly, "the set as this member sees it"},
       repl::GetStatus,
       OnCluster(Action::replSetGetStatus)},
      {{"replSetGetConfig", "", kAdminOnly, "the set's configuration"},
       repl::GetConfig,
       OnCluster(Action::replSetGetConfig)},
      {{"replSetGetRBID", "", kAdminOnly, "a number that every rollback raises"},
       repl::GetRollbackId,
       OnCluster(Action::internal)},
      {{"replSetInitiate", "", kAdminOnly, "founds the set"},
       repl::Initiate,
       OnCluster(Action::replSetConfigure)},
      {{"replSetReconfig", "", kAdminOnly, "sets the configuration"},
       repl::Reconfig,
       OnCluster(Action::replSetConfigure)},
      {{"replSetStepDown", "", kAdminOnly, "lets another member become primary"},
       repl::StepDown,
       OnCluster(Action::replSetStateChange)},
      {{"replSetStepUp", "", kAdminOnly, "lets this member become primary"},
       repl::StepUp,
       OnCluster(Action::replSetStateChange)},
      {{"replSetFreeze", "", kAdminOnly, "keeps a secondary from becoming primary for a while"},
       repl::Freeze,
       OnCluster(Action::replSetStateChange)},
      {{"replSetMaintenance", "", kAdminOnly, "lets a secondary refuse reads"},
       repl::Maintenance,
       OnCluster(Action::replSetStateChange)},
      {{"replSetSyncFrom", "", kAdminOnly, "tells whom a secondary follows"},
       repl::SyncFrom,
       OnCluster(Action::replSetStateChange)},
      {{"replSetResizeOplog", "", kAdminOnly, "sets the bounds of the change log"},
       repl::ResizeOplog,
       OnCluster(Action::replSetResizeOplog)},
      {{"replSetAbortPrimaryCatchUp", "", kAdminOnly, "a new primary waits for nobody"},
       repl::AbortPrimaryCatchUp,
       OnCluster(Action::replSetStateChange)},
      {{"appendOplogNote", "", kAdminOnly | request::kWriteConcern | request::kOnPrimary,
        "writes a note into the change log"},
       repl::AppendOplogNote,
       OnCluster(Action::appendOplogNote)},
      {{"replSetMessage", "", kAdminOnly | request::kNoLogicalTime | request::kNoFailPoint,
        "a message of another member"},
       repl::Message,
       OnCluster(Action::internal)},
  };
  return kRows;
}

}  // namespace quire::command
