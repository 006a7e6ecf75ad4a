// SPDX-License-Identifier: Apache-2.0
#include "engine/write/write.h"

#include <chrono>

#include "base/error_codes.h"
#include "base/try.h"
#include "engine/write/modify.h"
#include "engine/write/write_unit.h"

namespace quire::engine {

namespace {

// What a retried statement answers again.
bson::Document StatementAnswer(const ModifyResult& result) {
  bson::Builder answer;
  answer.Append("n", result.n).Append("nModified", result.modified);
  if (result.upserted) {
    answer.Append("upserted", result.upserted->value());
  }
  return answer.Finish();
}

// Adds what the statement answered when it was first run; false when it was not.
bool AddRemembered(const Operation& operation, int32_t i, request::WriteReply* result) {
  if (!operation.retryable) {
    return false;
  }
  const bson::Document* answer = operation.session->Remembered(operation.StatementId(i));
  if (answer == nullptr) {
    return false;
  }
  result->retried.push_back(operation.StatementId(i));
  result->n += (*answer)["n"].AsInt64();
  result->modified += (*answer)["nModified"].AsInt64();
  if (bson::Value id = (*answer)["upserted"]; !id.missing()) {
    result->upserted.push_back({i, bson::OwnedValue(id)});
  }
  return true;
}

void Count(const ModifySpec& spec, const ModifyResult& result, request::OpSummary* summary) {
  if (spec.update.missing()) {
    summary->deleted = result.n;
    return;
  }
  summary->upserted = result.upserted ? 1 : 0;
  summary->matched = result.n - summary->upserted;
  summary->modified = result.modified;
}

// Runs one statement and adds what it did to the summary.
Result<ModifyResult> RunStatement(const Operation& operation, const std::string& ns,
                                  const ModifySpec& spec, int32_t i, request::OpSummary* summary) {
  if (!summary->profiled) {
    return Modify(operation, ns, spec, i, StatementAnswer, summary);
  }
  auto started = std::chrono::steady_clock::now();
  request::OpSummary did;
  Result<ModifyResult> done = Modify(operation, ns, spec, i, StatementAnswer, &did);
  if (done.ok()) {
    Count(spec, *done, &did);
  }
  summary->plan = did.plan;
  summary->keys_examined += did.keys_examined;
  summary->docs_examined += did.docs_examined;
  summary->statements.push_back({i, done.ok() ? done->stopped : done.status(),
                                 std::chrono::duration_cast<std::chrono::microseconds>(
                                     std::chrono::steady_clock::now() - started),
                                 std::move(did)});
  return done;
}

// What changes many documents cannot be done at most once.
Status CheckRetryable(const Operation& operation, const ModifySpec& spec) {
  if (!operation.retryable || !spec.multi) {
    return Status::Ok();
  }
  return {kInvalidOptions, spec.update.missing() ? "Cannot use retryable writes with limit=0"
                                                 : "Cannot use retryable writes with multi=true"};
}

Result<request::WriteReply> RunEach(const Operation& operation, const std::string& ns,
                                    const std::vector<ModifySpec>& statements, bool ordered,
                                    request::OpSummary* summary) {
  request::WriteReply result;
  for (size_t at = 0; at < statements.size(); ++at) {
    auto i = static_cast<int32_t>(at);
    if (AddRemembered(operation, i, &result)) {
      continue;
    }
    Status status = CheckRetryable(operation, statements[at]);
    Result<ModifyResult> done = status.ok()
                                    ? RunStatement(operation, ns, statements[at], i, summary)
                                    : Result<ModifyResult>(status);
    status = done.ok() ? done->stopped : done.status();
    if (status.ok()) {
      result.n += done->n;
      result.modified += done->modified;
      if (done->upserted) {
        result.upserted.push_back({i, *done->upserted});
      }
    }
    if (!status.ok()) {
      if (!IsDocumentError(status)) {
        return status;
      }
      result.errors.push_back({i, status});
      if (ordered || operation.in_transaction) {
        break;
      }
    }
  }
  return result;
}

Result<request::WriteReply> RunStatements(const Operation& operation, const std::string& ns,
                                          const std::vector<ModifySpec>& statements, bool ordered,
                                          request::OpSummary* summary) {
  const auto run = [&](const Operation& own) {
    return RunEach(own, ns, statements, ordered, summary);
  };
  return statements.size() > 1 ? WithOneSync(operation, run) : run(operation);
}

}  // namespace

Result<request::WriteReply> Update(const Operation& operation, const std::string& ns,
                                   const request::UpdateRequest& request,
                                   request::OpSummary* summary) {
  std::vector<ModifySpec> statements;
  for (const request::UpdateStatement& s : request.updates) {
    statements.push_back(SpecOf(request, s));
  }
  return RunStatements(operation, ns, statements, request.ordered, summary);
}

Result<request::WriteReply> Delete(const Operation& operation, const std::string& ns,
                                   const request::DeleteRequest& request,
                                   request::OpSummary* summary) {
  std::vector<ModifySpec> statements;
  for (const request::DeleteStatement& s : request.deletes) {
    ModifySpec spec;
    spec.query = QueryOf(s);
    spec.query.let = request.let;
    spec.multi = s.limit == 0;
    statements.push_back(std::move(spec));
  }
  return RunStatements(operation, ns, statements, request.ordered, summary);
}

Status FindAndModify(const Operation& operation, const std::string& ns,
                     const request::FindAndModifyRequest& request, request::OpSummary* summary,
                     bson::Builder* reply) {
  if (operation.retryable) {
    const bson::Document* answer = operation.session->Remembered(operation.StatementId(0));
    if (answer != nullptr) {
      reply->AppendFields(*answer);
      reply->Append("retriedStmtId", operation.StatementId(0));
      return Status::Ok();
    }
  }
  const ModifySpec spec = SpecOf(request);
  auto answer = [&](const ModifyResult& result) {
    bson::Builder out;
    out.BeginDocument("lastErrorObject").Append("n", static_cast<int32_t>(result.n));
    if (!request.remove) {
      out.Append("updatedExisting", result.n > 0 && !result.upserted);
    }
    if (result.upserted) {
      out.Append("upserted", result.upserted->value());
    }
    out.End();
    if (result.document) {
      out.Append("value", *result.document);
    } else {
      out.AppendNull("value");
    }
    return out.Finish();
  };
  ASSIGN_OR_RETURN(ModifyResult result, Modify(operation, ns, spec, 0, answer, summary));
  Count(spec, result, summary);
  bson::Document fields = answer(result);
  reply->AppendFields(fields);
  return Status::Ok();
}

}  // namespace quire::engine
