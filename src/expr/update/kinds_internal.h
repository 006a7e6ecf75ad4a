// SPDX-License-Identifier: Apache-2.0
//
// The three kinds of updates, and what they share.
#pragma once

#include <memory>
#include <string>

#include "expr/update/update.h"

namespace quire::expr::update {

Result<std::unique_ptr<Update>> ParseOperators(bson::View spec, const ParseOptions& options,
                                               const Context* context);
Result<std::unique_ptr<Update>> ParseReplacement(bson::View spec, const ParseOptions& options,
                                                 const Context* context);
Result<std::unique_ptr<Update>> ParsePipeline(bson::View stages, const ParseOptions& options,
                                              const Context* context);

// Rewrites the document that starts at `start` of *out so that _id, if it has one, comes first.
void MoveIdFirst(std::string* out, size_t start);

// `result` (a whole document in place of `document`) checked against the rules every new version
// obeys: _id unchanged (added back when it was left out), size, depth. Appended to *out when it
// differs from `document`.
Result<Outcome> FinishWhole(bson::View document, bson::View result, bool inserting,
                            std::string* out);

}  // namespace quire::expr::update
