// SPDX-License-Identifier: Apache-2.0
#include "shard/cluster/shard_peers.h"

#include <algorithm>
#include <future>
#include <utility>

#include "base/error_codes.h"
#include "base/try.h"
#include "request/reply.h"

namespace quire::shard {

namespace {

// Errors after which another member may be the primary.
bool IsAboutMember(const Status& status) {
  switch (status.code()) {
    case kHostUnreachable:
    case kHostNotFound:
    case kNetworkTimeout:
    case kShutdownInProgress:
    case kInterruptedAtShutdown:
    case kNotWritablePrimary:
    case kNotPrimaryNoSecondaryOk:
    case kNotPrimaryOrSecondary:
    case kPrimarySteppedDown:
    case kInterruptedDueToReplStateChange:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::vector<std::string> HostsOf(const std::string& connection_string) {
  std::vector<std::string> hosts;
  const size_t slash = connection_string.find('/');
  size_t begin = slash == std::string::npos ? 0 : slash + 1;
  while (begin < connection_string.size()) {
    const size_t end = std::min(connection_string.find(',', begin), connection_string.size());
    hosts.push_back(connection_string.substr(begin, end - begin));
    begin = end + 1;
  }
  return hosts;
}

Result<std::unique_ptr<ShardPeers>> ShardPeers::Start(peer::PoolOptions options) {
  ASSIGN_OR_RETURN(auto pool, peer::Pool::Start(std::move(options)));
  return std::unique_ptr<ShardPeers>(new ShardPeers(std::move(pool)));
}

void ShardPeers::Stop() {
  MutexLock lock(mutex_);
  stopped_ = true;
  for (const peer::RequestId id : under_way_) {
    pool_->Cancel(id);
  }
}

Result<bson::Document> ShardPeers::Call(const placement::ShardRecord& shard,
                                        const bson::Document& command,
                                        std::chrono::milliseconds timeout) {
  std::vector<std::string> hosts = HostsOf(shard.host);
  {
    MutexLock lock(mutex_);
    const auto known = std::find(hosts.begin(), hosts.end(), primaries_[shard.name]);
    if (known != hosts.end()) {
      std::rotate(hosts.begin(), known, known + 1);
    }
  }
  Status last(kHostUnreachable, "shard " + shard.name + " has no hosts");
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  for (const std::string& host : hosts) {
    auto reply = CallHost(host, command, deadline);
    if (reply.ok()) {
      MutexLock lock(mutex_);
      primaries_[shard.name] = host;
      return reply;
    }
    last = reply.status();
    if (!IsAboutMember(last)) {
      return last;
    }
  }
  return Status(kHostUnreachable,
                "no primary of shard " + shard.name + " answers: " + last.message());
}

Result<bson::Document> ShardPeers::CallHost(const std::string& host, const bson::Document& command,
                                            peer::Deadline deadline) {
  const std::string lane = TakeLane();
  auto answered = std::make_shared<std::promise<Result<bson::Document>>>();
  auto answer = answered->get_future();
  peer::RequestId id = 0;
  {
    MutexLock lock(mutex_);
    if (stopped_) {
      return Status(kShutdownInProgress, "The server is shutting down");
    }
    id = pool_->Send(host, lane, command, deadline, [answered](Result<bson::Document> reply) {
      answered->set_value(std::move(reply));
    });
    under_way_.insert(id);
  }
  Result<bson::Document> reply = answer.get();
  {
    MutexLock lock(mutex_);
    under_way_.erase(id);
  }
  GiveLane(lane);
  RETURN_IF_ERROR(reply.status());
  if (heard) {
    heard(*reply);
  }
  RETURN_IF_ERROR(request::StatusOf(*reply));
  return reply;
}

// Each call has a connection of its own: a server runs the commands of one in turn.
std::string ShardPeers::TakeLane() {
  MutexLock lock(mutex_);
  if (free_lanes_.empty()) {
    return "shard" + std::to_string(++lanes_);
  }
  std::string lane = *free_lanes_.begin();
  free_lanes_.erase(free_lanes_.begin());
  return lane;
}

void ShardPeers::GiveLane(const std::string& lane) {
  MutexLock lock(mutex_);
  free_lanes_.insert(lane);
}

}  // namespace quire::shard
