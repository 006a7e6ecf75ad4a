// SPDX-License-Identifier: Apache-2.0
#include "repl/core/testing/store.h"

#include <algorithm>
#include <utility>

namespace quire::repl {
namespace {

bool Same(const KeyVersion& now, const KeyVersion& expected, bool nonces) {
  return nonces ? now == expected : now.revision == expected.revision;
}

}  // namespace

Store::Store(View first) : now_(std::move(first)) {
  now_.leader.version.revision = now_.isr.version.revision = now_.config.version.revision = 1;
}

bool Store::Write(const WriteKeys& write) {
  const Versions& expected = write.expected;
  bool same =
      Same(now_.isr.version, expected.isr, write.compare_nonces) &&
      Same(now_.config.version, expected.config, write.compare_nonces) &&
      (!write.compare_leader || Same(now_.leader.version, expected.leader, write.compare_nonces));
  if (!same) return false;
  constexpr size_t kRemembered = 4;
  past_.push_back(now_);
  if (past_.size() > kRemembered) past_.pop_front();
  ++revision_;
  KeyVersion version{revision_, write.nonce};
  if (write.leader) {
    now_.leader = write.wanted.leader;
    now_.leader.version = version;
  }
  if (write.isr) {
    now_.isr = write.wanted.isr;
    now_.isr.version = version;
  }
  if (write.config) {
    now_.config = write.wanted.config;
    now_.config.version = version;
  }
  now_.stamp = {write.wanted.stamp.counter, write.nonce};
  return true;
}

const View& Store::Past(size_t back) const {
  return back == 0 || past_.empty() ? now_ : past_[past_.size() - std::min(back, past_.size())];
}

Time Store::LowestFloor() const {
  Time lowest = now_.isr.floor;
  for (const View& view : past_) lowest = std::min(lowest, view.isr.floor);
  return lowest;
}

void Store::GoBack(size_t back, bool revisions_too) {
  back = std::min(back, past_.size());
  if (back == 0) return;
  View old = Past(back);
  past_.resize(past_.size() - back);
  if (revisions_too) {
    revision_ = std::max(
        {old.leader.version.revision, old.isr.version.revision, old.config.version.revision});
  }
  now_ = std::move(old);
}

}  // namespace quire::repl
