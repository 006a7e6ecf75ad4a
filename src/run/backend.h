// SPDX-License-Identifier: Apache-2.0
//
// What the gates ask of whoever runs the commands: a node with its engine, or a router.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "auth/time_signature.h"
#include "quire/bson.h"
#include "quire/status.h"
#include "request/call.h"
#include "run/session.h"

namespace quire::run {

struct Arrival;
class Running;

// What is there at one moment.
struct Namespaces {
  uint64_t version;  // another one when namespaces have come or gone
  std::function<bool(std::string_view ns)> has;
};

// Safe for concurrent use. Each function about a request is called by the gate that its comment
// names, at most once unless it says otherwise.
class Backend {
 public:
  virtual ~Backend() = default;

  // The state of a request: a Running, or what is derived from it.
  virtual std::unique_ptr<Running> Begin(const Arrival& arrival) = 0;

  // Cluster time: the latest known, a later one to go on from, and the time up to which a read
  // that begins now sees everything.
  virtual bson::Timestamp Now() = 0;
  virtual void AdvanceClock(bson::Timestamp time) = 0;
  virtual bson::Timestamp Visible() = 0;

  virtual SessionTable& sessions() = 0;
  // Whether clients log in, and do what their roles allow.
  virtual bool access_control() const = 0;

  // "audit begins": an error refuses the command.
  virtual Status AuditBegins(const request::Call& call) = 0;
  // "parse": reads the row's request; the error is the command's. Once more when a request that
  // was parked before it ran goes on.
  virtual Status Parse(Running& running) = 0;
  // "access": Ok, Unauthorized, or the error of a request that cannot be read. Asked only where
  // there is access control.
  virtual Status Authorise(Running& running) = 0;
  // "member": refuses what this member of a replica set does not run in its present role, and waits
  // while that is being decided. Once more when it has left a suspension.
  virtual Status AllowHere(Running& running) = 0;
  // "writes": refuses what may not write now, and leaves a suspension where writes wait. Once more
  // when it has left one.
  virtual Status AllowWrite(Running& running) = 0;
  // "default time limit": of reads that give none; 0: none.
  virtual std::chrono::milliseconds default_read_time() const = 0;
  // "limits and concerns": memory, durability, what a read sees according to its concern. The
  // session is known. Leaves a suspension when that has to be waited for.
  virtual Status Prepare(Running& running) = 0;
  // "transaction": the session is checked out; enters the transaction or retryable write that the
  // request names.
  virtual Status EnterTransaction(Running& running) = 0;
  // "run": the row's function.
  virtual Status Run(Running& running) = 0;
  // "read": the command read and did not fail; leaves a suspension when what it read has to be
  // confirmed before it is told.
  virtual Status ConfirmRead(Running& running) = 0;
  // "abort": the command failed; ends the transaction it ran in. Whether there was one.
  virtual bool AbortTransaction(Running& running) = 0;
  // "written": the command wrote and did not fail.
  virtual void Written(Running& running) = 0;
  // "write concern": the session is given back. Leaves a suspension (run/condition.h) in the call
  // when the reply has to wait. Asked for commands that failed, too: what they found written by
  // others may not hold yet either.
  virtual Status AwaitWriteConcern(Running& running) = 0;

  // Signs the cluster times that clients get, and knows those they may bring. Null: none is signed.
  virtual const auth::TimeSigner* time_signer() const = 0;
  // Whether the client is believed without a signature, as a member is.
  virtual bool MaySetClock(Running& running) = 0;
  // How far beyond the wall clock a client may move the cluster time where clients log in and none
  // is signed: other members' clocks may be ahead.
  virtual std::chrono::seconds most_ahead() const = 0;
  // Whether a reply's operationTime is that of its end (Visible), not of its beginning.
  virtual bool dates_replies_at_end() const = 0;
  // Whether a retryable write that failed so may be sent again.
  virtual bool MayBeRepeated(int code) const = 0;
  // Whether OpContext::may_have_written tells of all writes of a command; not where others write.
  virtual bool knows_writes() const = 0;
  // What clients are told of an error of the node that runs the command: a router tells of no
  // change of another's role.
  virtual Status ForClients(const Status& status) const = 0;
  // Appends what a client has to know of the node when an error tells of a change of its role or of
  // its end.
  virtual void AppendTopology(bson::Builder* reply) = 0;

  // After the end of a command.
  virtual void AuditEnds(const request::Call& call, const Status& status) = 0;
  // Puts an entry into the database's system.profile.
  virtual void KeepProfile(std::string_view database, const bson::Document& entry) = 0;
  // The namespaces there are, for tables that are kept by namespace.
  virtual Namespaces namespaces() = 0;
};

}  // namespace quire::run
