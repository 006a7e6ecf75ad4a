// SPDX-License-Identifier: Apache-2.0
//
// The other direction of diff.h: a document and a difference give the changed document.
#pragma once

#include "quire/bson.h"
#include "quire/status.h"

namespace quire::expr::update {

// Changed and new fields that are not there are added, removed ones that are not there are fine, so
// that a difference can be applied twice. FailedToParse for what is no difference.
Result<bson::Document> Patch(bson::View before, bson::View diff);

}  // namespace quire::expr::update
