// SPDX-License-Identifier: Apache-2.0
//
// A request that a router runs on shards.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "command/command.h"
#include "command/parsed_row.h"
#include "router/catalog/route.h"
#include "router/core.h"
#include "router/flow/flow.h"
#include "router/remote/ask.h"

namespace quire::router {

class Routed final : public Flow {
 public:
  Routed(Core* core_of, command::Invocation* invocation_of);

  Core& core;
  command::Invocation& invocation;
  // The command, kept: the request's own bytes may move while it waits.
  const bson::Document body;
  const std::string database;

  // What is sent writes, though the command may be one that reads: it is done at most once.
  bool writes = false;

  // The cluster time that it reads all shards at (data/snapshot.h); nothing: each as it is now.
  std::optional<bson::Timestamp> snapshot_time;

  // What is known of the request's namespaces turned out to be of a database that is not there any
  // more: nothing has been done, and run again it finds none.
  bool database_gone = false;

  // The namespace that the command's first field names.
  Result<std::string> Namespace() const;

  // What is known of the namespace, now or once the store has answered; waits while it is being
  // dropped. Error: NamespaceNotFound, unless the database is made.
  Task<Result<RoutePtr>> Find(std::string ns, bool create);
  // The same for what no shard checks: from the store, when a change is hinted at.
  Task<Result<RoutePtr>> FindCurrent(std::string ns);
  // After a shard's refusal. A database that the request makes is made again.
  Task<Result<RoutePtr>> Refresh(RoutePtr seen, bson::View error);

  // The command as it is sent to a shard: what the client may not say left out, time and session
  // put in, then what `more` appends.
  bson::Document Outgoing(const bson::Argument& command, std::string_view database_of,
                          const std::function<void(bson::Builder*)>& more) const;
  // Session and transaction, for getMores.
  bson::Document SessionFields() const;

  // Makes the shard the one that the request's transaction runs on; *begins: its first statement
  // goes there. Without a transaction nothing happens. OperationNotSupportedInTransaction when that
  // is another shard, which is told to abort.
  Status Enlist(const placement::ShardName& shard, bool* begins);
  // The shard has refused the request as out of date: when the transaction was to begin with it, it
  // may begin elsewhere; else it is aborted, and the error says that it may be run again.
  Status AfterRefusal(bool begins, const Status& refusal);

  // Appends {startTransaction, readConcern} where it begins.
  void AppendBegin(bool begins, bson::Builder* out);

  Task<Result<std::vector<Heard>>> Ask(std::vector<Asked> asked);
  // The same with options of the caller's.
  Task<Result<std::vector<Heard>>> Ask(std::vector<Asked> asked, AskOptions options);
  // Counts the shards that the command has gone to.
  void CountTargets();
  // How this command's requests are sent: by its read preference, again where that does no harm.
  Result<AskOptions> Options() const;

  // Appends a shard's reply to the client's, without what each reply has of its own.
  void AppendReply(const bson::Argument& reply);
  // Ends the command with what one shard answered: its error, its reply, or a cursor on its own.
  Status Deliver(Heard heard, std::function<bool(bson::View)> shows = nullptr);
  // Runs the row on the router's own, which has none of the cluster's data: the answer of a server
  // where nothing is.
  Status RunHere();

 private:
  Task<Result<RoutePtr>> Await(std::string ns, bool create);
  void AbortOn(const placement::ShardName& shard);
  void NoteTimes(const std::vector<Heard>& heard);
  bson::View FixedLet(bson::View let) const;

  std::unique_ptr<command::Parsed> parsed_;
  std::vector<placement::ShardName> targets_;  // that were asked, each once
  std::set<std::string, std::less<>> makes_;   // databases
  bool dated_ = false;                         // a shard has told its time
  mutable std::optional<bson::Document> let_;
};

// The read concern of a read at that time.
bson::Document SnapshotConcern(bson::Timestamp time);

// What runs a command on shards.
using Routine = Task<Status> (*)(Routed& request);
struct RoutineRow {
  std::string_view name;
  Routine routine;
};

}  // namespace quire::router
