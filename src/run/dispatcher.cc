// SPDX-License-Identifier: Apache-2.0
#include "run/dispatcher.h"

#include <array>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "base/error_codes.h"
#include "base/log.h"
#include "base/mutex.h"
#include "bson/number.h"
#include "request/reply.h"
#include "run/backend.h"
#include "run/labels.h"
#include "run/redact.h"
#include "run/running.h"

namespace quire::run {

namespace {

// For doors that cannot park: wakes the thread that waits.
class ThreadWaker : public request::Waker {
 public:
  void Wake() override {
    MutexLock lock(mutex_);
    woken_ = true;
    changed_.notify_one();
  }
  void Wait(std::chrono::steady_clock::time_point until) {
    auto woken = [this]() QUIRE_REQUIRES(mutex_) { return std::exchange(woken_, false); };
    MutexLock lock(mutex_);
    if (until == std::chrono::steady_clock::time_point::max()) {
      changed_.wait(lock.native(), woken);
    } else {
      changed_.wait_until(lock.native(), until, woken);
    }
  }

 private:
  Mutex mutex_;
  std::condition_variable changed_;
  bool woken_ QUIRE_GUARDED_BY(mutex_) = false;
};

// What every reply ends with, put together once: only its two times differ from reply to reply.
class LogicalTimes {
 public:
  LogicalTimes() : fields_(Make()) {
    if (fields_.bytes().size() > kMostBytes) {
      std::abort();  // once, in every build: Append writes there
    }
    const bson::View all = fields_;
    const bson::View gossip = all.Find("$clusterTime").value().AsDocument();
    const bson::View signature = gossip.Find("signature").value().AsDocument();
    cluster_time_ = PlaceOf(gossip.Find("clusterTime"));
    hash_ = PlaceOf(signature.Find("hash")) + kBeforeBinary;
    key_id_ = PlaceOf(signature.Find("keyId"));
    operation_time_ = PlaceOf(all.Find("operationTime"));
  }

  // `signer` null: with the signature that says there is none.
  void Append(bson::Timestamp cluster_time, const auth::TimeSigner* signer,
              bson::Timestamp operation_time, bson::Builder* reply) const {
    std::array<char, kMostBytes> bytes;
    memcpy(bytes.data(), fields_.bytes().data(), fields_.bytes().size());
    Write(cluster_time, bytes.data() + cluster_time_);
    Write(operation_time, bytes.data() + operation_time_);
    if (signer != nullptr) {
      const auth::TimeSigner::Hash hash = signer->Sign(cluster_time);
      const int64_t key_id = signer->key_id();
      memcpy(bytes.data() + hash_, hash.data(), hash.size());
      memcpy(bytes.data() + key_id_, &key_id, sizeof key_id);
    }
    reply->AppendFields(bson::View(bytes.data()));
  }

 private:
  static constexpr size_t kMostBytes = 160;
  static constexpr size_t kBeforeBinary = sizeof(int32_t) + 1;  // length and subtype

  static bson::Document Make() {
    static constexpr char kNoHash[auth::TimeSigner::kHashSize] = {};
    bson::Builder fields;
    fields.BeginDocument("$clusterTime")
        .Append("clusterTime", bson::Timestamp())
        .BeginDocument("signature")
        .Append("hash", bson::Value::Binary({kNoHash, sizeof kNoHash}, 0))
        .Append("keyId", int64_t{0})
        .End()
        .End()
        .Append("operationTime", bson::Timestamp());
    return fields.Finish();
  }
  size_t PlaceOf(const bson::Element& field) const {
    return static_cast<size_t>(field.value_data() - fields_.bytes().data());
  }
  static void Write(bson::Timestamp time, char* out) {
    const uint64_t bits = uint64_t{time.seconds} << 32 | time.increment;
    memcpy(out, &bits, sizeof bits);
  }

  const bson::Document fields_;
  size_t cluster_time_;
  size_t hash_;
  size_t key_id_;
  size_t operation_time_;
};

}  // namespace

Dispatcher::Dispatcher(std::vector<const request::CommandInfo*> commands, Backend* backend)
    : commands_(std::move(commands)),
      backend_(*backend),
      tallies_(std::make_unique<Tally[]>(commands_.size())) {
  for (size_t i = 0; i < commands_.size(); ++i) {
    gates_.push_back(GatesFor(*commands_[i]));
    by_name_.emplace(commands_[i]->name, i);
    if (!commands_[i]->alias.empty()) {
      by_name_.emplace(commands_[i]->alias, i);
    }
  }
}

request::Outcome Dispatcher::Run(request::Client& client, const request::Request& request,
                                 std::string* reply) {
  if (request.body.empty()) {
    return Refuse({kFailedToParse, "The command document is empty"}, reply);
  }
  const std::string_view name = request.body.front().name();
  const auto row = by_name_.find(name);
  if (row == by_name_.end()) {
    return Refuse({kCommandNotFound, "no such command: '" + std::string(name) + "'"}, reply);
  }
  return Drive(backend_.Begin({*this, row->second, client, request, reply}), reply);
}

request::Outcome Dispatcher::Refuse(const Status& status, std::string* reply) {
  AppendFailure(status, nullptr, reply);
  return {};
}

request::Outcome Dispatcher::Drive(std::unique_ptr<Running> running, std::string* reply) {
  try {
    running->Advance();
    if (running->suspended()) [[unlikely]] {
      if (request::Waker* door = running->call.request->waker; door != nullptr) {
        while (running->suspended()) {
          if (running->Park(door)) {
            reply->clear();
            request::Outcome outcome;
            outcome.parked = std::move(running);
            return outcome;
          }
          running->Advance();
        }
      }
      for (ThreadWaker waker; running->suspended(); running->Advance()) {
        if (running->Listen(&waker)) {
          waker.Wait(running->until());
        }
      }
    }
    running->Complete();
  } catch (const std::bad_alloc&) {
    running->call.suspension.reset();
    running->status = Status(kExceededMemoryLimit, "not enough memory to run the command");
  }
  return running->Finish(reply);
}

void Dispatcher::FinishReply(const request::Call* call, bson::Builder* reply) {
  if (call != nullptr && call->command.Is(request::kNoLogicalTime)) {
    return;
  }
  static const LogicalTimes times;
  const bool ran = call != nullptr && call->operation_time != bson::Timestamp();
  // For strangers, too: a driver brings to one server, logged in, what it heard of another before.
  times.Append(backend_.Now(), backend_.time_signer(),
               ran ? call->operation_time : backend_.Visible(), reply);
}

void Dispatcher::AppendConcernError(const Running& running, bson::Builder* reply) {
  const request::Call& call = running.call;
  if (call.write_concern_error.empty()) {
    return;
  }
  reply->Append("writeConcernError", call.write_concern_error);
  const int code = static_cast<int>(bson::ClampedInt64(call.write_concern_error["code"]));
  if (backend_.MayBeRepeated(code) && IsRetryableWrite(call)) {
    reply->BeginArray("errorLabels").Push("RetryableWriteError").End();
  }
  if (IsStateChange(code) && !running.failure) {
    backend_.AppendTopology(reply);
  }
}

// Drivers take an error of a topology they know already for an old one, and a fail point's changes
// none: its errors tell of no topology.
void Dispatcher::AppendFailure(const Status& status, const Running* running, std::string* reply) {
  bson::Builder out(reply);
  request::AppendError(status, &out);
  if (IsStateChange(status.code()) && (running == nullptr || !running->failure)) {
    backend_.AppendTopology(&out);
  }
  if (running != nullptr && !running->call.write_concern_error.empty()) {
    out.Append("writeConcernError", running->call.write_concern_error);
  }
  FinishReply(nullptr, &out);
  out.Close();
}

void Dispatcher::Record(const Running& running, std::chrono::microseconds took) {
  const request::Call& call = running.call;
  const Status& status = running.status;
  Tally& tally = tallies_[running.row];
  tally.total.fetch_add(1, std::memory_order_relaxed);
  tally.failed.fetch_add(status.ok() ? 0 : 1, std::memory_order_relaxed);
  tally.micros.fetch_add(took.count(), std::memory_order_relaxed);
  top_.Record(call, took, backend_);
  backend_.AuditEnds(call, status);
  LogIfSlow(call, status, took);
  profiler_.Record(call, status, took, slow_millis.load(std::memory_order_relaxed), backend_);
}

void Dispatcher::LogIfSlow(const request::Call& call, const Status& status,
                           std::chrono::microseconds took) {
  const int64_t limit = slow_millis.load(std::memory_order_relaxed);
  if (limit < 0 || took < std::chrono::milliseconds(limit) ||
      call.command.Is(request::kHandshake)) {
    return;
  }
  const std::string command = bson::ToJson(ShownCommand(call.body).view());
  log::Info("COMMAND", "Slow query",
            {{"type", "command"},
             {"ns", call.summary.ns},
             {"remote", call.client.remote()},
             {"command", log::Json{command}},
             {"planSummary", call.summary.plan},
             {"keysExamined", call.summary.keys_examined},
             {"docsExamined", call.summary.docs_examined},
             {"nreturned", call.summary.returned},
             {"errName", status.ok() ? std::string() : status.code_name()},
             {"durationMillis", static_cast<int64_t>(took.count() / 1000)}});
}

void Dispatcher::Disconnected(request::Client& client) {
  operations_.KillClient(client, kInterrupted);
}

void Dispatcher::Stopping() { operations_.KillAll(kInterruptedAtShutdown); }

}  // namespace quire::run
