// SPDX-License-Identifier: Apache-2.0
#include "run/operations.h"

namespace quire::run {

namespace {

void End(const RunningOp& op, int code) {
  op.op->Kill(code);
  if (op.waker != nullptr) {
    op.waker->Wake();
  }
}

}  // namespace

Operations::Registration::Registration(Operations* all, const request::Call* call, OpContext* op)
    : all_(all), bucket_(static_cast<size_t>(call->client.id()) % kBuckets) {
  Bucket& bucket = all_->buckets_[bucket_];
  int64_t id = all_->next_id_.fetch_add(1, std::memory_order_relaxed);
  MutexLock lock(bucket.mutex);
  at_ = bucket.ops.insert(bucket.ops.end(),
                          RunningOp{id, call, op, std::chrono::steady_clock::now()});
}

Operations::Registration::~Registration() {
  Bucket& bucket = all_->buckets_[bucket_];
  MutexLock lock(bucket.mutex);
  bucket.ops.erase(at_);
}

bool Operations::Kill(int64_t id, int code) {
  bool found = false;
  ForEach([&](const RunningOp& op) {
    if (op.id == id) {
      End(op, code);
      found = true;
    }
  });
  return found;
}

void Operations::KillClient(const request::Client& client, int code) {
  ForEach([&](const RunningOp& op) {
    if (&op.call->client == &client) {
      End(op, code);
    }
  });
}

void Operations::KillSession(std::string_view lsid, int code) {
  ForEach([&](const RunningOp& op) {
    if (op.call->generic.lsid == lsid) {
      End(op, code);
    }
  });
}

void Operations::KillIf(bool (*which)(const RunningOp& op), int code) {
  ForEach([&](const RunningOp& op) {
    if (which(op)) {
      End(op, code);
    }
  });
}

void Operations::KillAll(int code) {
  ForEach([&](const RunningOp& op) { End(op, code); });
}

}  // namespace quire::run
