// SPDX-License-Identifier: Apache-2.0
//
// Conditions on the whole document: $expr, $where, $sampleRate, $jsonSchema and $text.
#pragma once

#include <memory>
#include <utility>

#include "expr/agg/expression.h"
#include "expr/match/node.h"
#include "expr/regex.h"
#include "expr/schema/schema.h"
#include "expr/text/text.h"
#include "js/script.h"

namespace quire::expr::match {

// {$expr: ...}: an aggregation expression that is true.
class ExprNode final : public Node {
 public:
  ExprNode(std::unique_ptr<agg::Expression> expression, const Context* context)
      : Node(Kind::kExpr), expression_(std::move(expression)), context_(context) {}
  const agg::Expression& expression() const { return *expression_; }
  bool Matches(bson::View document, MatchState& state) const override;
  bool MatchesValue(const bson::Value&, MatchState&) const override { return false; }
  void Serialize(bson::Builder* out) const override { expression_->Serialize("$expr", out); }

 private:
  std::unique_ptr<agg::Expression> expression_;
  const Context* context_;
};

// {$where: <function>}: a script that is true of the document.
class WhereNode final : public Node {
 public:
  explicit WhereNode(js::Function function) : Node(Kind::kWhere), function_(std::move(function)) {}
  bool Matches(bson::View document, MatchState& state) const override;
  bool MatchesValue(const bson::Value&, MatchState&) const override { return false; }
  void Serialize(bson::Builder* out) const override {
    out->Append("$where", bson::Value::Code(std::string_view(function_.source())));
  }

 private:
  js::Function function_;
};

// {$sampleRate: 0.3}: true for that share of the documents, at random.
class SampleRateNode final : public Node {
 public:
  explicit SampleRateNode(double rate) : Node(Kind::kSampleRate), rate_(rate) {}
  bool Matches(bson::View document, MatchState& state) const override;
  bool MatchesValue(const bson::Value&, MatchState&) const override { return false; }
  void Serialize(bson::Builder* out) const override { out->Append("$sampleRate", rate_); }

 private:
  double rate_;
};

// {$jsonSchema: {...}}
class JsonSchemaNode final : public Node {
 public:
  explicit JsonSchemaNode(std::unique_ptr<const schema::Schema> schema)
      : Node(Kind::kJsonSchema), schema_(std::move(schema)) {}
  bool Matches(bson::View document, MatchState& state) const override {
    return MatchesValue(bson::Value(document), state);
  }
  bool MatchesValue(const bson::Value& value, MatchState& state) const override {
    RegexErrorScope errors(&state.error);
    return schema_->Matches(value);
  }
  void Serialize(bson::Builder* out) const override { out->Append("$jsonSchema", schema_->spec()); }

 private:
  std::unique_ptr<const schema::Schema> schema_;
};

// {$text: {$search: ...}}: true for every document, since only the text index can tell; whoever
// reads the index asks text::Query about its candidates.
class TextNode final : public Node {
 public:
  explicit TextNode(text::QueryOptions options) : Node(Kind::kText), options_(std::move(options)) {}
  const text::QueryOptions& options() const { return options_; }
  bool Matches(bson::View, MatchState&) const override { return true; }
  bool MatchesValue(const bson::Value&, MatchState&) const override { return true; }
  void Serialize(bson::Builder* out) const override;

 private:
  text::QueryOptions options_;
};

}  // namespace quire::expr::match
