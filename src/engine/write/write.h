// SPDX-License-Identifier: Apache-2.0
//
// Writing documents. Each function runs its statements in storage transactions of their own
// (retried on conflict) or, inside a multi-document transaction, in that one.
#pragma once

#include <string>

#include "engine/engine.h"
#include "request/call.h"
#include "request/crud.h"
#include "request/write_reply.h"

namespace quire::engine {

// The commands insert, update and delete with all their statements. An error that ends the whole
// command (rather than one statement) comes back as the Status.
Result<request::WriteReply> Insert(const Operation& operation, const std::string& ns,
                                   const request::InsertRequest& request);
Result<request::WriteReply> Update(const Operation& operation, const std::string& ns,
                                   const request::UpdateRequest& request,
                                   request::OpSummary* summary);
Result<request::WriteReply> Delete(const Operation& operation, const std::string& ns,
                                   const request::DeleteRequest& request,
                                   request::OpSummary* summary);

// Appends the reply of findAndModify: lastErrorObject and value.
Status FindAndModify(const Operation& operation, const std::string& ns,
                     const request::FindAndModifyRequest& request, request::OpSummary* summary,
                     bson::Builder* reply);

}  // namespace quire::engine
