// SPDX-License-Identifier: Apache-2.0
//
// Why a document failed validation.
#pragma once

#include "expr/context.h"
#include "quire/bson.h"
#include "quire/status.h"

namespace quire::expr::schema {

// errInfo of DocumentValidationFailure: {failingDocumentId, details: {operatorName, ...}}.
// REQUIRES: `validator` parses and does not match `document`.
bson::Document ExplainFailure(bson::View validator, bson::View document, const Context* context);

}  // namespace quire::expr::schema
