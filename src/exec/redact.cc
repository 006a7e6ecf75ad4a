// SPDX-License-Identifier: Apache-2.0
#include "exec/redact.h"

#include <algorithm>

#include "base/try.h"

namespace quire::exec {

namespace {
constexpr std::string_view kDescend = "descend";
constexpr std::string_view kPrune = "prune";
constexpr std::string_view kKeep = "keep";
}  // namespace

Redact::Redact(std::unique_ptr<Operator> input, const expr::agg::Expression* expression,
               const RedactVariables& variables, const expr::Context* context)
    : Unary(std::move(input)),
      expression_(expression),
      variables_(variables),
      evaluation_(context) {
  auto& slots = evaluation_.eval().variables;
  slots.resize(std::max({variables.descend, variables.prune, variables.keep, variables.current}) +
               1);
  slots[variables.descend] = bson::Value(kDescend);
  slots[variables.prune] = bson::Value(kPrune);
  slots[variables.keep] = bson::Value(kKeep);
}

Result<bool> Redact::Produce(OpContext& op, Row* row) {
  for (;;) {
    RETURN_IF_ERROR(op.CheckInterrupt());
    ASSIGN_OR_RETURN(bool more, input_->Next(op, row));
    if (!more) {
      return false;
    }
    evaluation_.Start(*row);
    document_.clear();
    ASSIGN_OR_RETURN(Verdict verdict, Judge(row->document));
    if (verdict == Verdict::kKeep) {
      return true;
    }
    if (verdict == Verdict::kDescend) {
      bson::Builder builder(&document_);
      RETURN_IF_ERROR(WriteFields(row->document, &builder));
      builder.Close();
      charge_.Set(document_.capacity());
      row->document = bson::View(document_.data());
      return true;
    }
  }
}

Result<Redact::Verdict> Redact::Judge(bson::View document) {
  evaluation_.eval().variables[variables_.current] = bson::Value(document);
  ASSIGN_OR_RETURN(bson::Value verdict, expression_->Evaluate(evaluation_.eval()));
  if (verdict.is_string()) {
    std::string_view which = verdict.AsString();
    if (which == kDescend) {
      return Verdict::kDescend;
    }
    if (which == kPrune) {
      return Verdict::kPrune;
    }
    if (which == kKeep) {
      return Verdict::kKeep;
    }
  }
  return Status(17053,
                "$redact's expression should not return anything aside from the variables "
                "$$KEEP, $$DESCEND, and $$PRUNE, but returned " +
                    bson::ToJson(verdict));
}

Status Redact::WriteFields(bson::View document, bson::Builder* out) {
  for (const bson::Element& element : document) {
    if (element.type() == bson::Type::kDocument) {
      bson::View inner = element.value().AsDocument();
      ASSIGN_OR_RETURN(Verdict verdict, Judge(inner));
      if (verdict == Verdict::kKeep) {
        out->Append(element);
      } else if (verdict == Verdict::kDescend) {
        out->BeginDocument(element.name());
        RETURN_IF_ERROR(WriteFields(inner, out));
        out->End();
      }
    } else if (element.type() == bson::Type::kArray) {
      out->BeginArray(element.name());
      RETURN_IF_ERROR(WriteElements(element.value().AsArray(), out));
      out->End();
    } else {
      out->Append(element);
    }
  }
  return Status::Ok();
}

Status Redact::WriteElements(bson::View array, bson::Builder* out) {
  for (const bson::Element& element : array) {
    if (element.type() == bson::Type::kDocument) {
      bson::View inner = element.value().AsDocument();
      ASSIGN_OR_RETURN(Verdict verdict, Judge(inner));
      if (verdict == Verdict::kKeep) {
        out->Push(element.value());
      } else if (verdict == Verdict::kDescend) {
        out->PushDocument();
        RETURN_IF_ERROR(WriteFields(inner, out));
        out->End();
      }
    } else if (element.type() == bson::Type::kArray) {
      out->PushArray();
      RETURN_IF_ERROR(WriteElements(element.value().AsArray(), out));
      out->End();
    } else {
      out->Push(element.value());
    }
  }
  return Status::Ok();
}

}  // namespace quire::exec
