// SPDX-License-Identifier: Apache-2.0
//
// $redact: keeps, prunes or enters documents at every level.
#pragma once

#include <string>

#include "base/memory_charge.h"
#include "exec/evaluation.h"
#include "exec/unary.h"

namespace quire::exec {

// The slots of the variables an expression of $redact may use beside the usual ones.
struct RedactVariables {
  size_t descend = 0;
  size_t prune = 0;
  size_t keep = 0;
  size_t current = 0;  // CURRENT, the document being judged
};

// `expression` and `context` outlive it. Error 17053 when the expression gives something else than
// one of its three variables.
class Redact final : public Unary {
 public:
  Redact(std::unique_ptr<Operator> input, const expr::agg::Expression* expression,
         const RedactVariables& variables, const expr::Context* context);

 protected:
  Result<bool> Produce(OpContext& op, Row* row) override;

 private:
  enum class Verdict { kDescend, kPrune, kKeep };
  Result<Verdict> Judge(bson::View document);
  Status WriteFields(bson::View document, bson::Builder* out);
  Status WriteElements(bson::View array, bson::Builder* out);

  const expr::agg::Expression* expression_;
  RedactVariables variables_;
  Evaluation evaluation_;
  std::string document_;
  MemoryCharge charge_;
};

}  // namespace quire::exec
