// SPDX-License-Identifier: Apache-2.0
//
// $regexMatch, $regexFind and $regexFindAll by PCRE2.
#include <optional>

#include "base/try.h"
#include "expr/agg/operators_internal.h"
#include "expr/agg/result_internal.h"
#include "expr/agg/text_internal.h"
#include "expr/pcre_internal.h"

namespace quire::expr::agg {

namespace {

constexpr size_t kMaxPattern = 32764;

class Pattern {
 public:
  static Result<std::shared_ptr<const Pattern>> Compile(std::string_view pattern, uint32_t flags,
                                                        std::string_view op) {
    std::string error;
    auto code = PcrePattern::Compile(pattern, flags, &error);
    if (code == nullptr) {
      return Status(51111, "Invalid Regex in " + std::string(op) + ": " + error);
    }
    auto compiled = std::make_shared<Pattern>();
    compiled->code_ = std::move(code);
    pcre2_pattern_info(compiled->code_->code(), PCRE2_INFO_CAPTURECOUNT, &compiled->captures_);
    return std::shared_ptr<const Pattern>(std::move(compiled));
  }

  const PcrePattern& code() const { return *code_; }
  uint32_t captures() const { return captures_; }

 private:
  std::unique_ptr<const PcrePattern> code_;
  uint32_t captures_ = 0;
};

// One search through one input.
class Matcher {
 public:
  explicit Matcher(const Pattern& pattern)
      : pattern_(pattern),
        data_(pcre2_match_data_create_from_pattern(pattern.code().code(), nullptr)) {}

  // The first search of an input checks it as UTF-8, those from further on do not again.
  Result<bool> Find(std::string_view input, size_t from, std::string_view op) {
    ASSIGN_OR_RETURN(int found, pattern_.code().Match(input, from, data_.get()));
    if (found < 0 && found != PCRE2_ERROR_NOMATCH) {
      return PcreFailure(found, op);
    }
    return found >= 0;
  }
  // Group `i` of the last match; nothing when it took no part.
  std::optional<std::string_view> Group(std::string_view input, uint32_t i) const {
    const PCRE2_SIZE* at = pcre2_get_ovector_pointer(data_.get());
    if (at[2 * i] == PCRE2_UNSET) {
      return std::nullopt;
    }
    return input.substr(at[2 * i], at[2 * i + 1] - at[2 * i]);
  }
  size_t start() const { return pcre2_get_ovector_pointer(data_.get())[0]; }
  size_t end() const { return pcre2_get_ovector_pointer(data_.get())[1]; }

 private:
  const Pattern& pattern_;
  PcreMatchData data_;
};

class RegexCall final : public Expression {
 public:
  RegexCall(const OperatorRow& row, Operands operands)
      : row_(row), operands_(std::move(operands)) {}

  // Compiles a constant pattern once.
  Status Prepare(const ParseScope& scope) {
    bool constant = operands_[1]->constant() != nullptr &&
                    (operands_[2] == nullptr || operands_[2]->constant() != nullptr);
    if (!constant) {
      return Status::Ok();
    }
    Arena arena;
    EvalContext eval;
    eval.context = scope.context;
    eval.arena = &arena;
    ASSIGN_OR_RETURN(prepared_, CompilePattern(eval));
    prepared_done_ = true;
    return Status::Ok();
  }
  bool AllConstant() const { return prepared_done_ && operands_[0]->constant() != nullptr; }

  Result<Value> Evaluate(EvalContext& eval) const override {
    ASSIGN_OR_RETURN(Value input, operands_[0]->Evaluate(eval));
    if (!input.nullish() && !input.is_string()) {
      return Status(51104, std::string(row_.name) + " needs 'input' to be of type string");
    }
    std::shared_ptr<const Pattern> pattern = prepared_;
    if (!prepared_done_) {
      ASSIGN_OR_RETURN(pattern, CompilePattern(eval));
    }
    bool null = input.nullish() || pattern == nullptr;
    if (row_.name == "$regexMatch") {
      return null ? Result<Value>(Value(false)) : Match(*pattern, input.AsString());
    }
    if (row_.name == "$regexFind") {
      return null ? Result<Value>(Value::Null()) : Find(*pattern, input.AsString(), eval);
    }
    return null ? Result<Value>(ArrayResult().Finish(eval))
                : FindAll(*pattern, input.AsString(), eval);
  }
  bool AddDependencies(std::set<std::string>* fields) const override {
    for (const ExpressionPtr& operand : operands_) {
      if (operand != nullptr && !operand->AddDependencies(fields)) {
        return false;
      }
    }
    return true;
  }
  void Serialize(std::string_view name, bson::Builder* out) const override {
    out->BeginDocument(name).BeginDocument(row_.name);
    operands_[0]->Serialize("input", out);
    operands_[1]->Serialize("regex", out);
    if (operands_[2] != nullptr) {
      operands_[2]->Serialize("options", out);
    }
    out->End().End();
  }

 private:
  // Null when the regex is null.
  Result<std::shared_ptr<const Pattern>> CompilePattern(EvalContext& eval) const {
    std::string op(row_.name);
    ASSIGN_OR_RETURN(Value regex, operands_[1]->Evaluate(eval));
    Value options;
    if (operands_[2] != nullptr) {
      ASSIGN_OR_RETURN(options, operands_[2]->Evaluate(eval));
    }
    if (!options.nullish() && !options.is_string()) {
      return Status(51106, op + " needs 'options' to be of type string");
    }
    if (!regex.nullish() && !regex.is_string() && regex.type() != Type::kRegex) {
      return Status(51105, op + " needs 'regex' to be of type string or regex");
    }
    std::string_view flags = options.is_string() ? options.AsString() : std::string_view();
    std::string_view pattern = regex.is_string() ? regex.AsString() : std::string_view();
    if (regex.type() == Type::kRegex) {
      if (options.is_string() && !regex.RegexOptions().empty()) {
        return Status(51107, op + ": found regex option(s) specified in both 'regex' and "
                                  "'option' fields");
      }
      pattern = regex.RegexPattern();
      flags = flags.empty() ? regex.RegexOptions() : flags;
    }
    if (pattern.size() > kMaxPattern) {
      return Status(51111, "Invalid Regex in " + op + ": the pattern is too long");
    }
    if (pattern.find('\0') != std::string_view::npos) {
      return Status(51109, op + ": regular expression cannot contain an embedded null byte");
    }
    if (flags.find('\0') != std::string_view::npos) {
      return Status(51110, op + ": regular expression options cannot contain an embedded null "
                                "byte");
    }
    if (regex.nullish()) {
      return std::shared_ptr<const Pattern>();
    }
    std::optional<uint32_t> bits = PcreFlags(flags);
    if (!bits) {
      return Status(51108, op + " invalid flag in regex options: " + std::string(flags));
    }
    return Pattern::Compile(pattern, *bits, op);
  }

  Result<Value> Match(const Pattern& pattern, std::string_view input) const {
    Matcher matcher(pattern);
    ASSIGN_OR_RETURN(bool found, matcher.Find(input, 0, row_.name));
    return Value(found);
  }

  static void AppendMatch(const Pattern& pattern, const Matcher& matcher, std::string_view input,
                          int32_t index, bson::Builder* out) {
    out->Append("match", *matcher.Group(input, 0)).Append("idx", index).BeginArray("captures");
    for (uint32_t i = 1; i <= pattern.captures(); ++i) {
      auto group = matcher.Group(input, i);
      out->Push(group ? Value(*group) : Value::Null());
    }
    out->End();
  }

  Result<Value> Find(const Pattern& pattern, std::string_view input, EvalContext& eval) const {
    Matcher matcher(pattern);
    ASSIGN_OR_RETURN(bool found, matcher.Find(input, 0, row_.name));
    if (!found) {
      return Value::Null();
    }
    DocumentResult result;
    auto index = static_cast<int32_t>(CountCodePoints(input.substr(0, matcher.start())));
    AppendMatch(pattern, matcher, input, index, &result.builder());
    return result.Finish(eval);
  }

  Result<Value> FindAll(const Pattern& pattern, std::string_view input, EvalContext& eval) const {
    Matcher matcher(pattern);
    ArrayResult result;
    size_t from = 0;
    size_t counted = 0;
    int32_t index = 0;
    do {
      ASSIGN_OR_RETURN(bool found, matcher.Find(input, from, row_.name));
      if (!found) {
        break;
      }
      size_t start = std::max(matcher.start(), counted);
      index += static_cast<int32_t>(CountCodePoints(input.substr(counted, start - counted)));
      counted = start;
      result.builder().PushDocument();
      AppendMatch(pattern, matcher, input, index, &result.builder());
      result.builder().End();
      RETURN_IF_ERROR(CheckBudget(eval, row_.name, result.size()));
      from = matcher.end();
      if (matcher.end() == matcher.start()) {
        from += from < input.size() ? CodePointSize(input, from) : 1;
      }
    } while (from < input.size());
    return result.Finish(eval);
  }

  const OperatorRow& row_;
  Operands operands_;
  std::shared_ptr<const Pattern> prepared_;
  bool prepared_done_ = false;
};

}  // namespace

Result<ExpressionPtr> ParseRegex(const OperatorRow& row, const Value& spec, ParseScope& scope) {
  std::string op(row.name);
  if (!spec.is_document()) {
    return Status(51103, op + " expects an object of named arguments but found: " + TypeText(spec));
  }
  Operands operands(3);
  for (const bson::Element& element : spec.AsDocument()) {
    size_t i = element.name() == "input" ? 0 : element.name() == "regex" ? 1 : 2;
    if (i == 2 && element.name() != "options") {
      return Status(31024, op + " found an unknown argument: " + std::string(element.name()));
    }
    ASSIGN_OR_RETURN(operands[i], ParseExpression(element.value(), scope));
  }
  if (operands[0] == nullptr) {
    return Status(31022, op + " requires 'input' parameter");
  }
  if (operands[1] == nullptr) {
    return Status(31023, op + " requires 'regex' parameter");
  }
  auto call = std::make_unique<RegexCall>(row, std::move(operands));
  if (Status prepared = call->Prepare(scope); !prepared.ok()) {
    return FailConstant(prepared, scope);
  }
  if (call->AllConstant()) {
    return FoldConstant(*call, scope);
  }
  return ExpressionPtr(std::move(call));
}

}  // namespace quire::expr::agg
