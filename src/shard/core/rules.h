// SPDX-License-Identifier: Apache-2.0
//
// The rules that keep a sharded cluster's promises, one switch each.
//
// All are on, always, but in the tests that show what is lost without one (README.md has the
// table).
#pragma once

namespace quire::shard {

// X(name, what it says)
#define QUIRE_SHARD_RULES(X)                                                                       \
  X(unsharded_is_a_version, "a request for an unsharded name is refused where it is sharded")      \
  X(refuse_older, "a request with an older version than the shard's is refused")                   \
  X(compare_majors, "the major of a shard's last move is compared, too")                           \
  X(generations_survive_drops, "a generation that is gone is not taken for a newer one")           \
  X(adopt_facts, "what a shard adopts is what a transaction of the store has shown")               \
  X(block_before_decision, "who loses a range or a name blocks it before the decision")            \
  X(gain_after_decision, "who gains a range opens it after the decision")                          \
  X(blocked_until_outcome, "a new primary stays blocked until it is told the outcome")             \
  X(block_is_logged, "a block is in the log of a majority before it is counted on")                \
  X(pass_with_check, "a version is checked and the gate entered in one step")                      \
  X(drain_before_look, "emptiness is looked at when the writes under way have ended")              \
  X(drain_before_drop, "a collection goes when the writes under way have ended")                   \
  X(direct_writes_pass, "writes without a version pass the same gate")                             \
  X(answers_go_first, "who loses a range has told its new owner before which writes it has run")   \
  X(refuse_old_steps, "a step of an earlier change, or of an earlier attempt, is refused")         \
  X(undo_what_was_prepared, "a shard undoes only what it has prepared for this change")            \
  X(numbers_for_ever, "the numbers of changes of a name grow for ever")                            \
  X(steps_name_uuids, "steps name the collection by its uuid")                                     \
  X(settle_by_write, "a write of the lock without an answer is open until another one settles it") \
  X(all_prepared, "nothing is decided before all shards are prepared")                             \
  X(finish_forward, "after the decision every step is sent until it is answered")                  \
  X(answer_after_finish, "the client is answered when all shards have finished")

struct Rules {
#define QUIRE_SHARD_RULE(name, text) bool name = true;
  QUIRE_SHARD_RULES(QUIRE_SHARD_RULE)
#undef QUIRE_SHARD_RULE
};

}  // namespace quire::shard
