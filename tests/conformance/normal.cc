// SPDX-License-Identifier: Apache-2.0
#include "normal.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace quire::conformance {

namespace {

using bson::Builder;
using bson::Document;
using bson::Element;
using bson::Type;
using bson::Value;
using bson::View;

const std::set<std::string_view> kVolatile = {
    "$clusterTime", "operationTime", "opTime",       "electionId",      "lastCommittedOpTime",
    "$gleStats",    "localTime",     "connectionId", "topologyVersion", "$configServerState",
    "timeMillis",   "warning",       "notes",        "$recoveryToken",  "recoveryToken",
    "readOnly",     "numYields"};

using Fields = std::vector<std::pair<std::string, bson::OwnedValue>>;

Fields FieldsOf(View document) {
  Fields fields;
  for (const Element& field : document) {
    fields.emplace_back(field.name(), field.value());
  }
  return fields;
}

void SortByName(Fields* fields) {
  std::sort(fields->begin(), fields->end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
}

Document ToDocument(const Fields& fields) {
  Builder out;
  for (const auto& [name, value] : fields) {
    out.Append(name, value.value());
  }
  return out.Finish();
}

bool IsNumber(const Value& value) {
  return value.type() == Type::kInt32 || value.type() == Type::kInt64 ||
         value.type() == Type::kDouble;
}

double NumberOf(const Value& value) {
  return value.type() == Type::kDouble ? value.AsDouble() : static_cast<double>(value.AsInt64());
}

std::string ReplaceAll(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  for (size_t at; (at = text.find(from)) != text.npos; text.remove_prefix(at + from.size())) {
    out += text.substr(0, at);
    out += to;
  }
  return out += text;
}

void AppendStripped(View document, std::string_view database, Builder* out);

// The value with the database's name replaced, NaN in one form, and what drivers read alike alike.
void AppendStripped(std::string_view name, const Value& value, std::string_view database,
                    Builder* out) {
  switch (value.type()) {
    case Type::kDocument:
    case Type::kArray:
      value.is_array() ? out->BeginArray(name) : out->BeginDocument(name);
      AppendStripped(value.AsDocument(), database, out);
      out->End();
      return;
    case Type::kString:
    case Type::kSymbol:
      out->Append(name, ReplaceAll(value.AsString(), database, "@db"));
      return;
    case Type::kUndefined:
      out->AppendNull(name);
      return;
    case Type::kDouble:
      out->Append(name, std::isnan(value.AsDouble()) ? std::numeric_limits<double>::quiet_NaN()
                                                     : value.AsDouble());
      return;
    default:
      out->Append(name, value);
  }
}

void AppendStripped(View document, std::string_view database, Builder* out) {
  for (const Element& field : document) {
    AppendStripped(field.name(), field.value(), database, out);
  }
}

Document Stripped(View document, std::string_view database) {
  Builder out;
  AppendStripped(document, database, &out);
  return out.Finish();
}

Document SortedArray(View array) {
  std::vector<std::pair<std::string, Value>> values;
  for (const Element& element : array) {
    std::string key;
    element.value().AppendTo(&key);
    values.emplace_back(std::move(key), element.value());
  }
  std::sort(values.begin(), values.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  Builder out;
  int index = 0;
  for (const auto& [key, value] : values) {
    out.Append(std::to_string(index++), value);
  }
  return out.Finish();
}

// The document with the arrays of those names in a canonical order.
Document WithSortedArrays(View document, const std::set<std::string_view>& names) {
  Builder out;
  for (const Element& field : document) {
    if (names.contains(field.name()) && field.value().is_array()) {
      Document sorted = SortedArray(field.value().AsArray());
      out.AppendArray(field.name(), sorted);
    } else {
      out.Append(field);
    }
  }
  return out.Finish();
}

Document OnlyFields(View document, std::initializer_list<std::string_view> names) {
  Builder out;
  for (std::string_view name : names) {
    Value value = document[name];
    value.missing() ? out.AppendNull(name) : out.Append(name, value);
  }
  return out.Finish();
}

Document WriteErrors(View errors) {
  Builder out;
  int index = 0;
  for (const Element& error : errors) {
    out.Append(std::to_string(index++), OnlyFields(error.value().AsDocument(), {"index", "code"}));
  }
  return out.Finish();
}

Document CursorFields(View cursor) {
  Fields fields = FieldsOf(cursor);
  SortByName(&fields);
  for (auto& [name, value] : fields) {
    if (name == "id") {
      value = bson::OwnedValue(Value(NumberOf(value.value()) == 0 ? 0 : 1));
    }
  }
  return ToDocument(fields);
}

bson::OwnedValue Owned(const Document& document) {
  return bson::OwnedValue(Value(document.view()));
}

bson::OwnedValue OwnedArray(const Document& array) {
  return bson::OwnedValue(Value::Array(array.view()));
}

// One top-level field of a reply in its compared form.
bson::OwnedValue TopField(std::string_view name, const Value& value) {
  if (name == "writeErrors" && value.is_array()) {
    return OwnedArray(WriteErrors(value.AsArray()));
  }
  if (!value.is_document()) {
    return bson::OwnedValue(IsNumber(value) ? Value(NumberOf(value)) : value);
  }
  View document = value.AsDocument();
  if (name == "writeConcernError") {
    return Owned(OnlyFields(document, {"code"}));
  }
  if (name == "lastErrorObject") {
    Fields fields = FieldsOf(document);
    SortByName(&fields);
    return Owned(ToDocument(fields));
  }
  if (name == "cursor" && document.Has("id")) {
    return Owned(CursorFields(document));
  }
  return bson::OwnedValue(value);
}

Document InAnyOrder(View reply) {
  Document lists = WithSortedArrays(reply, {"values", "results"});
  Value cursor = lists["cursor"];
  if (!cursor.is_document()) {
    return lists;
  }
  Document batches = WithSortedArrays(cursor.AsDocument(), {"firstBatch", "nextBatch"});
  Builder out;
  for (const Element& field : lists.view()) {
    field.name() == "cursor" ? out.Append("cursor", batches) : out.Append(field);
  }
  return out.Finish();
}

void AppendStages(View stage, Builder* out) {
  for (std::string_view name : {"stage", "indexName", "direction", "isMultiKey", "indexBounds",
                                "sortPattern", "limitAmount", "skipAmount", "filter"}) {
    out->Append(name, stage[name]);
  }
  if (Value input = stage["inputStage"]; input.is_document()) {
    out->BeginDocument("inputStage");
    AppendStages(input.AsDocument(), out);
    out->End();
  }
  if (Value inputs = stage["inputStages"]; inputs.is_array()) {
    out->BeginArray("inputStages");
    for (const Element& input : inputs.AsArray()) {
      out->PushDocument();
      AppendStages(input.value().AsDocument(), out);
      out->End();
    }
    out->End();
  }
}

void AppendPlan(View reply, Builder* out) {
  Value planner = reply["queryPlanner"];
  if (!planner.is_document()) {
    out->BeginArray("stages");
    if (Value stages = reply["stages"]; stages.is_array()) {
      for (const Element& stage : stages.AsArray()) {
        out->Push(stage.value().AsDocument().front().name());
      }
    }
    out->End();
    return;
  }
  out->BeginDocument("winningPlan");
  if (Value winning = planner.AsDocument()["winningPlan"]; winning.is_document()) {
    AppendStages(winning.AsDocument(), out);
  }
  out->End();
  if (Value stats = reply["executionStats"]; stats.is_document()) {
    for (std::string_view name : {"nReturned", "totalKeysExamined", "totalDocsExamined"}) {
      if (Value count = stats.AsDocument()[name]; IsNumber(count)) {
        out->Append(name, static_cast<int32_t>(NumberOf(count)));
      }
    }
  }
}

Document PlanOf(View reply, std::string_view database) {
  Builder plan;
  AppendPlan(reply, &plan);
  Document tree = plan.Finish();
  Builder out;
  out.Append("ok", 1).Append("plan", Stripped(tree, database));
  return out.Finish();
}

Document KeysOf(const Fields& fields) {
  Builder out;
  out.Append("ok", 1).BeginArray("keys");
  for (const auto& [name, value] : fields) {
    out.Push(name);
  }
  out.End();
  return out.Finish();
}

Document ErrorOf(const Status& status) {
  Builder out;
  out.Append("ok", 0).Append("code", status.code()).Append("codeName", status.code_name());
  return out.Finish();
}

}  // namespace

Document Normal(const Result<Document>& reply, std::string_view check, std::string_view database) {
  if (!reply.ok()) {
    return ErrorOf(reply.status());
  }
  if (check == "ok") {
    Builder out;
    return out.Append("ok", 1).Finish();
  }
  if (check == "plan") {
    return PlanOf(*reply, database);
  }
  Fields fields;
  for (const Element& field : reply->view()) {
    if (!kVolatile.contains(field.name())) {
      fields.emplace_back(field.name(), TopField(field.name(), field.value()));
    }
  }
  SortByName(&fields);
  if (check == "keys") {
    return KeysOf(fields);
  }
  Document compared = ToDocument(fields);
  Document whole = Stripped(compared, database);
  return check == "set" ? InAnyOrder(whole) : std::move(whole);
}

Document NormalWant(View want, std::string_view check) {
  Document stripped = Stripped(want, "@db");
  return check == "set" ? InAnyOrder(stripped) : std::move(stripped);
}

}  // namespace quire::conformance
