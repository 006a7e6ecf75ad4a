// SPDX-License-Identifier: Apache-2.0
#include "repl/core/proposals.h"

#include <algorithm>
#include <utility>

namespace quire::repl {

void Proposals::Reset(const View& confirmed) {
  confirmed_ = confirmed;
  open_.reset();
  Count();
}

void Proposals::Open(Proposal proposal) {
  open_ = std::move(proposal);
  Count();
}

void Proposals::Forget() {
  open_.reset();
  Count();
}

void Proposals::Count() {
  largest_ = confirmed_.isr.members;
  if (!open_) return;
  const InSyncSet& wanted = open_->wanted.isr.members;
  if (rules_.count_open_additions)
    for (const InSyncMember& member : wanted) largest_.Include(member);
  bool keep = open_->reconfig ? rules_.removal_by_reconfig_counts : rules_.count_open_removals;
  if (keep) return;
  for (const InSyncMember& member : confirmed_.isr.members)
    if (!wanted.Contains(member.member)) largest_.Remove(member.member);
}

int Proposals::Needed() const {
  int needed = confirmed_.set().MinInSync();
  return open_ ? std::max(needed, open_->wanted.set().MinInSync()) : needed;
}

int Proposals::SmallestMajority() const {
  int majority = confirmed_.set().Majority();
  return open_ ? std::min(majority, open_->wanted.set().Majority()) : majority;
}

std::optional<Proposal> Proposals::Learn(const View& now) {
  if (Misses(now.stamp, confirmed_.stamp)) return {};
  std::optional<Proposal> decided;
  if (open_ && open_->expected != VersionsOf(now)) decided = std::exchange(open_, {});
  confirmed_ = now;
  Count();
  return decided;
}

}  // namespace quire::repl
