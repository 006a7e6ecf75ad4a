// SPDX-License-Identifier: Apache-2.0
//
// bulkWrite: inserts, updates and deletes on many collections, each answered on its own.
#pragma once

#include "engine/engine.h"
#include "request/bulk_write.h"
#include "request/bulk_write_reply.h"
#include "request/call.h"

namespace quire::engine {

// An error that ends the whole command (rather than one operation) comes back as the Status.
Result<request::BulkWriteReply> BulkWrite(const Operation& operation,
                                          const request::BulkWriteRequest& request,
                                          request::OpSummary* summary);

}  // namespace quire::engine
