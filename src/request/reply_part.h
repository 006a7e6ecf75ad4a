// SPDX-License-Identifier: Apache-2.0
//
// Replies that are parts of another one.
#pragma once

#include "quire/bson.h"

namespace quire::request {

// The reply without what each has once ($clusterTime, operationTime, topologyVersion).
bson::Document AsPart(bson::View reply);

}  // namespace quire::request
