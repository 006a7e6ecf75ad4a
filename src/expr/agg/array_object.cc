// SPDX-License-Identifier: Apache-2.0
//
// $arrayToObject, $objectToArray, $mergeObjects, $getField, $setField, $unsetField.
#include <unordered_map>

#include "base/error_codes.h"
#include "base/keyed_hash.h"
#include "base/try.h"
#include "expr/agg/operators_internal.h"
#include "expr/agg/result_internal.h"

namespace quire::expr::agg {

namespace {

// Fields in the order of their first mention, each with its last value.
class FieldList {
 public:
  void Set(std::string_view name, const Value& value) {
    auto [it, inserted] = index_.emplace(name, fields_.size());
    if (inserted) {
      fields_.emplace_back(name, value);
    } else {
      fields_[it->second].second = value;
    }
  }
  void SetAll(bson::View document) {
    for (const bson::Element& element : document) {
      Set(element.name(), element.value());
    }
  }
  Value Finish(EvalContext& eval) const {
    DocumentResult result;
    for (const auto& [name, value] : fields_) {
      result.builder().Append(name, value);
    }
    return result.Finish(eval);
  }

 private:
  std::vector<std::pair<std::string_view, Value>> fields_;
  std::unordered_map<std::string_view, size_t, KeyedStringHash> index_;
};

Status AddPair(bson::View pair, FieldList* out) {
  Value parts[2];
  size_t n = 0;
  for (const bson::Element& element : pair) {
    if (n < 2) {
      parts[n] = element.value();
    }
    ++n;
  }
  if (n != 2) {
    return Status(40397, "$arrayToObject requires an array of size 2 arrays,found array of size: " +
                             std::to_string(n));
  }
  if (!parts[0].is_string()) {
    return Status(40395,
                  "$arrayToObject requires an array of key-value pairs, where the key must "
                  "be of type string. Found key type: " +
                      TypeText(parts[0]));
  }
  if (parts[0].AsString().find('\0') != std::string_view::npos) {
    return Status(4940400, "Key field cannot contain an embedded null byte");
  }
  out->Set(parts[0].AsString(), parts[1]);
  return Status::Ok();
}

Status AddKeyValue(bson::View document, FieldList* out) {
  if (document.Count() != 2) {
    return Status(40392,
                  "$arrayToObject requires an object keys of 'k' and 'v'. Found incorrect "
                  "number of keys:" +
                      std::to_string(document.Count()));
  }
  bson::Element key = document.Find("k");
  bson::Element value = document.Find("v");
  if (!key.present() || !value.present()) {
    return Status(40393,
                  "$arrayToObject requires an object with keys 'k' and 'v'. Missing either "
                  "or both keys from: " +
                      bson::ToJson(document));
  }
  if (key.type() != Type::kString) {
    return Status(40394,
                  "$arrayToObject requires an object with keys 'k' and 'v', where the value "
                  "of 'k' must be of type string. Found type: " +
                      TypeText(key.value()));
  }
  if (key.value().AsString().find('\0') != std::string_view::npos) {
    return Status(4940401, "Key field cannot contain an embedded null byte");
  }
  out->Set(key.value().AsString(), value.value());
  return Status::Ok();
}

}  // namespace

Result<Value> EvalArrayToObject(const Call& call, EvalContext& eval) {
  ASSIGN_OR_RETURN(Value array, call.Get(0, eval));
  if (array.nullish()) {
    return Value::Null();
  }
  if (!array.is_array()) {
    return Status(40386, "$arrayToObject requires an array input, found: " + TypeText(array));
  }
  FieldList fields;
  Type form = Type::kMissing;
  for (const bson::Element& element : array.AsArray()) {
    Value item = element.value();
    if (!item.is_array() && !item.is_document()) {
      return Status(form == Type::kMissing ? 40398
                    : form == Type::kArray ? 40396
                                           : 40391,
                    "Unrecognised input type format for $arrayToObject: " + TypeText(item));
    }
    if (form != Type::kMissing && form != item.type()) {
      return Status(form == Type::kArray ? 40396 : 40391,
                    "$arrayToObject requires a consistent input format. Elements must all be "
                    "arrays or all be objects.");
    }
    form = item.type();
    RETURN_IF_ERROR(item.is_array() ? AddPair(item.AsArray(), &fields)
                                    : AddKeyValue(item.AsDocument(), &fields));
  }
  return fields.Finish(eval);
}

Result<Value> EvalObjectToArray(const Call& call, EvalContext& eval) {
  ASSIGN_OR_RETURN(Value object, call.Get(0, eval));
  if (object.nullish()) {
    return Value::Null();
  }
  if (!object.is_document()) {
    return Status(40390, "$objectToArray requires a document input, found: " + TypeText(object));
  }
  ArrayResult result;
  for (const bson::Element& element : object.AsDocument()) {
    result.builder().PushDocument().Append("k", element.name()).Append("v", element.value()).End();
  }
  return result.Finish(eval);
}

Result<Value> EvalMergeObjects(const Call& call, EvalContext& eval) {
  FieldList fields;
  for (size_t i = 0; i < call.size(); ++i) {
    ASSIGN_OR_RETURN(Value value, call.Get(i, eval));
    if (value.nullish()) {
      continue;
    }
    if (value.is_array() && call.size() == 1) {
      for (const bson::Element& element : value.AsArray()) {
        Value item = element.value();
        if (item.nullish()) {
          continue;
        }
        if (!item.is_document()) {
          return Status(40400, "$mergeObjects requires object inputs, but input is of type " +
                                   TypeText(item));
        }
        fields.SetAll(item.AsDocument());
      }
      continue;
    }
    if (!value.is_document()) {
      return Status(40400, "$mergeObjects requires object inputs, but input " + Show(value) +
                               " is of type " + TypeText(value));
    }
    fields.SetAll(value.AsDocument());
  }
  return fields.Finish(eval);
}

Result<Value> EvalGetField(const Call& call, EvalContext& eval) {
  ASSIGN_OR_RETURN(Value field, call.Get(0, eval));
  ASSIGN_OR_RETURN(Value input, call.Get(1, eval));
  if (!field.is_string()) {
    return Status(
        3041704, "$getField requires 'field' to evaluate to type String, found " + TypeText(field));
  }
  if (input.nullish()) {
    return input.missing() ? Value() : Value::Null();
  }
  return input.is_document() ? input.AsDocument()[field.AsString()] : Value();
}

Result<ExpressionPtr> ParseGetField(const OperatorRow& row, const Value& spec, ParseScope& scope) {
  Operands operands(2);
  bool named = spec.is_document() &&
               (spec.AsDocument().empty() || !spec.AsDocument().front().name().starts_with('$'));
  if (!named) {
    ASSIGN_OR_RETURN(operands[0], ParseExpression(spec, scope));
    ASSIGN_OR_RETURN(operands[1], ParseFieldPath("$$CURRENT", scope));
  } else {
    for (const bson::Element& element : spec.AsDocument()) {
      if (element.name() == "field") {
        ASSIGN_OR_RETURN(operands[0], ParseExpression(element.value(), scope));
      } else if (element.name() == "input") {
        ASSIGN_OR_RETURN(operands[1], ParseExpression(element.value(), scope));
      } else {
        return Status(3041701,
                      "$getField found an unknown argument: " + std::string(element.name()));
      }
    }
    if (operands[0] == nullptr) {
      return Status(3041702, "$getField requires 'field' to be specified");
    }
    if (operands[1] == nullptr) {
      return Status(3041703, "$getField requires 'input' to be specified");
    }
  }
  const Value* field = operands[0]->constant();
  if (field != nullptr && !field->is_string()) {
    return Status(3041704,
                  "$getField requires 'field' to evaluate to type String, found " + Show(*field));
  }
  return MakeCall(row, std::move(operands), scope);
}

namespace {

// Whether a field name is anything but a literal.
bool IsComputed(const Value& spec) {
  if (!spec.is_document()) {
    return spec.is_array();
  }
  bson::View document = spec.AsDocument();
  return !document.empty() && document.front().name() != "$literal" &&
         document.front().name() != "$const";
}

}  // namespace

Result<Value> EvalSetField(const Call& call, EvalContext& eval) {
  ASSIGN_OR_RETURN(Value input, call.Get(1, eval));
  ASSIGN_OR_RETURN(Value value, call.Get(2, eval));
  if (input.nullish()) {
    return Value::Null();
  }
  if (!input.is_document()) {
    return Status(4161105,
                  std::string(call.name()) + " requires 'input' to evaluate to type Object");
  }
  std::string_view name = call.operand(0).constant()->AsString();
  DocumentResult result;
  bool placed = false;
  for (const bson::Element& element : input.AsDocument()) {
    if (element.name() == name) {
      result.builder().Append(name, value);
      placed = true;
    } else {
      result.builder().Append(element);
    }
  }
  if (!placed) {
    result.builder().Append(name, value);
  }
  return result.Finish(eval);
}

Result<ExpressionPtr> ParseSetField(const OperatorRow& row, const Value& spec, ParseScope& scope) {
  std::string op(row.name);
  bool sets = op == "$setField";
  if (!spec.is_document()) {
    return Status(4161100, op + " only supports an object as its argument");
  }
  Operands operands(3);
  Value name;  // judged last: what is wrong with the other operands comes first
  for (const bson::Element& element : spec.AsDocument()) {
    if (element.name() == "field") {
      name = element.value();
      ASSIGN_OR_RETURN(operands[0], ParseExpression(element.value(), scope));
    } else if (element.name() == "input") {
      ASSIGN_OR_RETURN(operands[1], ParseExpression(element.value(), scope));
    } else if (element.name() == "value" && sets) {
      ASSIGN_OR_RETURN(operands[2], ParseExpression(element.value(), scope));
    } else {
      return Status(4161101, op + " found an unknown argument: " + std::string(element.name()));
    }
  }
  if (operands[0] == nullptr) {
    return Status(4161102, op + " requires 'field' to be specified");
  }
  if (sets && operands[2] == nullptr) {
    return Status(4161103, op + " requires 'value' to be specified");
  }
  if (operands[1] == nullptr) {
    return Status(4161109, op + " requires 'input' to be specified");
  }
  if (name.is_string() && name.AsString().starts_with('$')) {
    return Status(4161108, "'field' must be a constant; a field path is not allowed: " +
                               std::string(name.AsString()));
  }
  if (IsComputed(name)) {
    return Status(4161106, op + " requires 'field' to evaluate to a constant");
  }
  const Value* field = operands[0]->constant();
  if (field == nullptr) {
    return Status(4161106, op + " requires 'field' to evaluate to a constant");
  }
  if (!field->is_string()) {
    return Status(4161107, op + " requires 'field' to evaluate to type String");
  }
  if (field->AsString().find('\0') != std::string_view::npos) {
    return Status(9534700, op + " requires 'field' to contain no null byte");
  }
  return MakeCall(row, std::move(operands), scope);
}

}  // namespace quire::expr::agg
