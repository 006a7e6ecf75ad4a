// SPDX-License-Identifier: Apache-2.0
//
// From a request to the row that answers it, and from a Status to a reply: the only place where
// either happens. In between a request passes the gates (gates.h).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "quire/bson.h"
#include "quire/status.h"
#include "request/call.h"
#include "request/request.h"
#include "run/default_concern.h"
#include "run/fail_point.h"
#include "run/gates.h"
#include "run/operations.h"
#include "run/profiler.h"
#include "run/running.h"
#include "run/top.h"

namespace quire::run {

class Backend;

// Finished commands of one name.
struct Tally {
  std::atomic<int64_t> total{0};
  std::atomic<int64_t> failed{0};
  std::atomic<int64_t> micros{0};
};

// Runs requests. Safe for concurrent use.
class Dispatcher : public request::Handler {
 public:
  // `commands` and `backend` outlive it. The backend is not called before the first request.
  Dispatcher(std::vector<const request::CommandInfo*> commands, Backend* backend);

  request::Outcome Run(request::Client& client, const request::Request& request,
                       std::string* reply) override;
  void Disconnected(request::Client& client) override;
  void Stopping() override;

  const std::vector<const request::CommandInfo*>& commands() const { return commands_; }
  Backend& backend() { return backend_; }
  Operations& operations() { return operations_; }
  FailPoints& fail_points() { return fail_points_; }
  Profiler& profiler() { return profiler_; }
  TopTable& top() { return top_; }
  DefaultConcerns& default_concerns() { return default_concerns_; }
  // Of commands()[row], for serverStatus.
  const Tally& tally(size_t row) const { return tallies_[row]; }

  // Operations slower than this are logged; negative: none.
  std::atomic<int64_t> slow_millis{100};
  // Set while memory runs out: commands that read or write are refused.
  std::atomic<bool> short_of_memory{false};
  // Clients that do not name a version of the stable API are refused.
  std::atomic<bool> require_api_version{false};

  // --- For Running ---
  const std::vector<Gate>& GatesOf(size_t row) const { return gates_[row]; }
  // Runs the request on to its end, or until it is parked.
  request::Outcome Drive(std::unique_ptr<Running> running, std::string* reply);
  // Appends what every reply carries ($clusterTime, operationTime).
  void FinishReply(const request::Call* call, bson::Builder* reply);
  // Appends the call's writeConcernError, if it has one, with its labels.
  void AppendConcernError(const Running& running, bson::Builder* reply);
  // Appends the whole reply that an error is. `running` may be null: no command was found.
  void AppendFailure(const Status& status, const Running* running, std::string* reply);
  // Takes note of a command that has ended: tallies, top, audit, slow log, profiler.
  void Record(const Running& running, std::chrono::microseconds took);

 private:
  request::Outcome Refuse(const Status& status, std::string* reply);
  void LogIfSlow(const request::Call& call, const Status& status, std::chrono::microseconds took);

  const std::vector<const request::CommandInfo*> commands_;
  Backend& backend_;
  std::unordered_map<std::string_view, size_t> by_name_;
  std::vector<std::vector<Gate>> gates_;  // by row
  std::unique_ptr<Tally[]> tallies_;      // by row
  Operations operations_;
  FailPoints fail_points_;
  Profiler profiler_;
  TopTable top_;
  DefaultConcerns default_concerns_;
};

}  // namespace quire::run
