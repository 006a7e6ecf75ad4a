// SPDX-License-Identifier: Apache-2.0
//
// The rules that keep a set's promises, one switch each.
//
// All are on, always, but in the tests that show what is lost without one (README.md has the
// table).
#pragma once

namespace quire::repl {

// X(name, what it says)
#define QUIRE_REPL_RULES(X)                                                                       \
  X(refuse_old_epochs, "a member that accepted an epoch refuses the ones before")                 \
  X(compare_leader, "a change of the in-sync set compares the key `leader`, too")                 \
  X(ack_after_sync, "only what is synced is acknowledged")                                        \
  X(leader_counts_synced, "the leader counts its own log as far as it is synced")                 \
  X(boot_ends_leadership, "a new process never resumes a leadership")                             \
  X(check_previous, "a follower appends only behind the slot that came before")                   \
  X(cut_holes_at_start, "at a start the log is cut at its first broken link")                     \
  X(cut_holes_at_step_down, "a leader that steps down cuts its log at the first broken link")     \
  X(count_open_additions, "who is being added to the in-sync set counts at once")                 \
  X(count_open_removals, "who is being removed from the in-sync set counts until confirmed")      \
  X(open_until_decided, "a write of the keys without an answer stays open until it is decided")   \
  X(refusal_decides_nothing, "a refused write of the keys may have happened before")              \
  X(join_at_commit, "who joins the in-sync set has reached the commit point")                     \
  X(join_at_epoch_start, "who joins the in-sync set has reached the log's end at the election")   \
  X(join_after_handshake, "a position counts after the divergence handshake of this epoch")       \
  X(cut_by_epochs, "a follower cuts its log where the epochs part, not at its commit point")      \
  X(only_in_sync_lead, "only members of the in-sync set are candidates")                          \
  X(data_ids, "the in-sync set names data folders; a wiped member is not in it")                  \
  X(positions_by_data, "positions and acknowledgements belong to a data folder")                  \
  X(floor, "a candidate's log reaches the floor written in the in-sync set")                      \
  X(acked_file, "a log that ends before what was acknowledged is not used")                       \
  X(waiters_by_epoch, "a write waits for its slot in its epoch; leaving the epoch ends the wait") \
  X(empty_replies_wait, "a reply that wrote nothing waits for the last slot handed out")          \
  X(sync_generations, "a sync begun before a cut counts for nothing after it")                    \
  X(commit_after_join, "a commit point counts after the handshake, up to the own log's end")      \
  X(former_leader_reads, "majority reads never show what a former leader applied beyond commit")  \
  X(linearizable_writes, "a linearizable read waits for a slot written after it")                 \
  X(numbers_wait_for_commit, "w: n with n >= majority waits for the commit point, too")           \
  X(numbers_wait_for_apply, "w: n counts members that show the write to their readers")           \
  X(compare_nonces, "a write of the keys compares what they say, not their revisions alone")      \
  X(ack_counters, "an acknowledgement counts with the counter of the in-sync set it is for")      \
  X(ballot_counters, "a candidate whose view of the keys is older than a member's stops")         \
  X(epoch_known_by_majority, "a leader writes when a majority has accepted its epoch")            \
  X(epoch_before_changes, "the in-sync set stays until a majority has accepted the epoch")        \
  X(removal_by_reconfig_counts, "who a reconfig removes counts until it is confirmed")            \
  X(reconfig_adds_nobody, "a reconfig adds nobody to the in-sync set")                            \
  X(recover_longest, "recovery takes the longest log of a majority")                              \
  X(recover_fences, "recovery first makes its majority refuse older epochs")

struct Rules {
#define QUIRE_REPL_RULE(name, text) bool name = true;
  QUIRE_REPL_RULES(QUIRE_REPL_RULE)
#undef QUIRE_REPL_RULE
};

}  // namespace quire::repl
