// SPDX-License-Identifier: Apache-2.0
#include "cluster/members.h"

#include <future>
#include <memory>
#include <thread>

#include "auth/key_file.h"
#include "base/error_codes.h"
#include "base/try.h"
#include "peer/pool.h"
#include "quire/quire.h"
#include "request/reply.h"

namespace quire::apps {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// By a plain connection, as members ask each other: a driver would not use a server that is no
// member of a set yet.
Result<bson::Document> Ask(const std::string& host, bson::Document command, milliseconds limit,
                           const peer::Login& login) {
  peer::PoolOptions options;
  options.application = "quire cluster";
  options.connect_timeout = limit;
  options.login = login;
  ASSIGN_OR_RETURN(std::unique_ptr<peer::Pool> pool, peer::Pool::Start(std::move(options)));
  bson::Builder request;
  for (const bson::Element& field : command.view()) {
    request.Append(field);
  }
  request.Append("$db", "admin");
  std::promise<Result<bson::Document>> answered;
  auto answer = answered.get_future();
  pool->Send(host, "", request.Finish(), steady_clock::now() + limit,
             [&](Result<bson::Document> reply) { answered.set_value(std::move(reply)); });
  ASSIGN_OR_RETURN(bson::Document reply, answer.get());
  RETURN_IF_ERROR(request::StatusOf(reply));
  return reply;
}

std::string RoleOf(bson::View hello) {
  if (hello["msg"].is_string()) {
    return "router";
  }
  if (hello["isWritablePrimary"].AsBool()) {
    return "primary";
  }
  if (hello["secondary"].AsBool()) {
    return "secondary";
  }
  return hello["isreplicaset"].AsBool() ? "starting" : "recovering";
}

}  // namespace

std::optional<MemberReport> AskMember(const std::string& host, milliseconds limit) {
  auto hello = Ask(host, Doc("hello", 1), limit, {});
  if (!hello.ok()) {
    return std::nullopt;
  }
  MemberReport report;
  report.role = RoleOf(*hello);
  report.settled = report.role == "primary" || report.role == "secondary";
  if (bson::Value last = (*hello)["lastWrite"]; last.is_document()) {
    if (bson::Value time = last.AsDocument()["opTime"]; time.is_document()) {
      report.written_seconds = time.AsDocument()["ts"].AsTimestamp().seconds;
    }
  }
  return report;
}

Result<peer::Login> LoginTo(const ClusterLayout& layout) {
  peer::Login login;
  if (const std::string path = layout.KeyFile(); !path.empty()) {
    login.kind = peer::Login::Kind::kKey;
    ASSIGN_OR_RETURN(login.key, auth::ReadKeyFile(path));
  }
  return login;
}

Status InitiateSet(const std::string& set, const std::vector<Process*>& members,
                   const peer::Login& login) {
  constexpr auto kLimit = std::chrono::seconds(60);
  std::vector<bson::Document> configs;
  for (const Process* member : members) {
    configs.push_back(Doc("_id", static_cast<int>(configs.size()), "host", member->host));
  }
  const bson::Document config = Doc("_id", set, "members", ListOf(configs));
  const auto until = steady_clock::now() + kLimit;
  while (true) {
    Status status =
        Ask(members.front()->host, Doc("replSetInitiate", config), kLimit, login).status();
    if (status.ok() || status.code() == kAlreadyInitialized) {
      return Status::Ok();
    }
    // The store was not reached, or has not answered in time: it may be busy starting.
    const bool passing = status.code() == kHostUnreachable || status.code() == kNetworkTimeout;
    if (!passing || steady_clock::now() >= until) {
      return status;
    }
    std::this_thread::sleep_for(milliseconds(200));
  }
}

Status AwaitSet(const std::vector<Process*>& members, std::chrono::seconds limit,
                const peer::Login& login) {
  constexpr auto kTimeout = milliseconds(2000);
  const auto until = steady_clock::now() + limit;
  std::string late;
  while (steady_clock::now() < until) {
    late.clear();
    std::string primary;
    for (const Process* member : members) {
      const std::optional<MemberReport> report = AskMember(member->host, kTimeout);
      if (!report || !report->settled) {
        late +=
            (late.empty() ? "" : ", ") + member->name + " is " + (report ? report->role : "silent");
      } else if (report->role == "primary") {
        primary = member->host;
      }
    }
    if (late.empty() && !primary.empty()) {
      const bson::Document everybody =
          Doc("w", static_cast<int>(members.size()), "wtimeout", kTimeout.count());
      auto written = Ask(primary,
                         Doc("appendOplogNote", 1, "data", Doc("msg", "the cluster is up"),
                             "writeConcern", everybody),
                         2 * kTimeout, login);
      // Members that are new to the set have no vote before they are in sync.
      auto status = Ask(primary, Doc("replSetGetStatus", 1), kTimeout, login);
      if (written.ok() && (*written)["writeConcernError"].missing() && status.ok() &&
          (*status)["votingMembersCount"].AsInt64() == static_cast<int64_t>(members.size())) {
        return Status::Ok();
      }
      late = "a write did not reach every member, or not all are in sync" +
             (written.ok() ? std::string() : ": " + written.status().message());
    } else if (late.empty()) {
      late = "there is no primary";
    }
    std::this_thread::sleep_for(milliseconds(100));
  }
  return {kExceededTimeLimit, late};
}

Status AddShard(const Process& router, const std::string& address, const peer::Login& login) {
  constexpr auto kLimit = std::chrono::seconds(30);
  return Ask(router.host, Doc("addShard", address), kLimit, login).status();
}

}  // namespace quire::apps
