// SPDX-License-Identifier: Apache-2.0
//
// validate: a collection against its indexes.
#include "engine/schema/validate.h"

#include <array>

#include "base/error_codes.h"
#include "base/try.h"
#include "command/diagnostic.h"
#include "engine/statistics.h"
#include "request/crud.h"

namespace quire::command {
namespace {

using engine::AppendInteger;

// The switches take any value; a field that is not known is no error either.
struct Switches {
  bool full = false;
  bool background = false;
  bool metadata = false;
  bool repair = false;
  bool conformance = false;
};

Result<Switches> ReadSwitches(bson::View body) {
  Switches out;
  const std::array<std::pair<std::string_view, bool*>, 6> kNames = {
      {{"full", &out.full},
       {"background", &out.background},
       {"metadata", &out.metadata},
       {"repair", &out.repair},
       {"fixMultikey", &out.repair},
       {"checkBSONConformance", &out.conformance}}};
  for (const auto& [name, target] : kNames) {
    *target = *target || Truthy(body[name]);
  }
  if (out.repair) {
    return Status(kInvalidOptions, "validate cannot repair: restore from a backup instead");
  }
  if (out.background && out.full) {
    return Status(kInvalidOptions,
                  "Running the validate command with both { background: true } and "
                  "{ full: true } is not supported.");
  }
  if (out.metadata && (out.full || out.background || out.conformance)) {
    return Status(kInvalidOptions,
                  "validate with {metadata: true} takes no other option: it reads no documents");
  }
  return out;
}

void AppendIndexes(const store::CollectionInfo& info, bool valid, bson::Builder* out) {
  out->BeginDocument("indexDetails");
  for (const auto& index : info.indexes) {
    out->BeginDocument(index->name).Append("valid", valid).Append("spec", index->spec).End();
  }
  out->End();
}

// MongoDB shows the entries themselves; here each problem is a line of "errors", and these tell how
// many there are.
void AppendEntries(std::string_view name, int64_t count, bson::Builder* out) {
  out->BeginArray(name);
  if (count > 0) {
    out->PushDocument().Append("count", count).End();
  }
  out->End();
}

void AppendOutcome(const engine::ValidateResult& result, bson::Builder* out) {
  out->Append("valid", result.valid()).Append("repaired", false).Append("repairMode", "None");
  out->BeginArray("warnings").End().BeginArray("errors");
  for (const std::string& error : result.errors) {
    out->Push(error);
  }
  out->End();
  AppendEntries("extraIndexEntries", result.extra_keys, out);
  AppendEntries("missingIndexEntries", result.missing_keys, out);
  out->BeginArray("corruptRecords").End();
}

Status RunValidate(Invocation& i) {
  ASSIGN_OR_RETURN(auto name, request::CollectionName("validate", i.body()));
  ASSIGN_OR_RETURN(std::string ns, request::Namespace(i.database(), name));
  ASSIGN_OR_RETURN(Switches asked, ReadSwitches(i.body()));
  engine::ValidateResult result;
  store::CollectionPtr info = i.engine.catalog().Find(ns);
  if (!asked.metadata || info == nullptr || info->is_view()) {
    ASSIGN_OR_RETURN(result, engine::ValidateCollection(i.operation, ns));
    info = i.engine.catalog().Find(ns);
  }
  if (info == nullptr) {
    return {kNamespaceNotFound, "Collection '" + ns + "' does not exist to validate."};
  }
  bson::Builder& out = i.reply();
  out.Append("ns", ns).Append(
      "uuid", bson::Value::Binary(
                  {reinterpret_cast<const char*>(info->uuid.data()), info->uuid.size()}, 4));
  if (!asked.metadata) {
    AppendInteger(&out, "nInvalidDocuments", result.invalid_documents);
    out.Append("nNonCompliantDocuments", 0);
    AppendInteger(&out, "nrecords", result.records);
  }
  AppendInteger(&out, "nIndexes", static_cast<int64_t>(info->indexes.size()));
  if (!asked.metadata) {
    out.BeginDocument("keysPerIndex");
    for (const auto& [index, keys] : result.keys_per_index) {
      AppendInteger(&out, index, keys);
    }
    out.End();
  }
  AppendIndexes(*info, result.valid(), &out);
  AppendOutcome(result, &out);
  return Status::Ok();
}

}  // namespace

std::span<const Row> ValidateRows() {
  static constexpr Row kRows[] = {
      {{"validate", "", request::kRead | request::kOnEveryMember | request::kToShards,
        "checks a collection against its indexes"},
       RunValidate,
       OnCollection(Action::validate)},
  };
  return kRows;
}

}  // namespace quire::command
