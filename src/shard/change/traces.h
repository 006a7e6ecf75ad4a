// SPDX-License-Identifier: Apache-2.0
//
// What a shard has in its log of a change while it is being prepared, so that whoever undoes the
// change finds what it has made, wherever the process has ended.
#pragma once

#include "quire/bson.h"
#include "quire/status.h"
#include "shard/change/change.h"
#include "shard/change/context.h"

namespace quire::shard {

// Of one step. The names of the step are held by the caller.
class Traces {
 public:
  Traces(Context& context, const StepRequest& step) : context_(context), step_(step) {}

  // What was kept when this change came before; empty when it did not.
  bson::Document kept() const;
  // For Part::Undo. Called before anything is made: with what is about to be.
  Status Keep(const bson::Document& made);

 private:
  Context& context_;
  const StepRequest& step_;
};

// What Undo has to be given; nothing when the shard has nothing of that change.
std::optional<bson::Document> LeftToUndo(const NameRecord& record, const Stamp& stamp);

}  // namespace quire::shard
