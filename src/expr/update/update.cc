// SPDX-License-Identifier: Apache-2.0
#include "expr/update/update.h"

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/compare.h"
#include "expr/update/kinds_internal.h"
#include "expr/update/limits_internal.h"

namespace quire::expr::update {

Result<std::unique_ptr<Update>> Update::Parse(const bson::Value& spec, const ParseOptions& options,
                                              const Context* context) {
  if (spec.is_array()) {
    return ParsePipeline(spec.AsArray(), options, context);
  }
  if (!spec.is_document()) {
    return Status(kFailedToParse, "Update argument must be either an object or an array, but was " +
                                      std::string(bson::TypeName(spec.type())));
  }
  if (!options.constants.empty()) {
    return Status(51198, "Constant values may only be specified for pipeline updates");
  }
  bson::View fields = spec.AsDocument();
  if (!fields.empty() && !fields.front().name().empty() && fields.front().name()[0] == '$') {
    return ParseOperators(fields, options, context);
  }
  return ParseReplacement(fields, options, context);
}

void MoveIdFirst(std::string* out, size_t start) {
  bson::View document(out->data() + start);
  bson::Element id = document.Find("_id");
  if (!id.present() || id.raw().data() == document.data() + 4) {
    return;
  }
  std::string first(id.raw());
  size_t before = static_cast<size_t>(id.raw().data() - (document.data() + 4));
  char* fields = out->data() + start + 4;
  memmove(fields + first.size(), fields, before);
  memcpy(fields, first.data(), first.size());
}

Result<Outcome> FinishWhole(bson::View document, bson::View result, bool inserting,
                            std::string* out) {
  size_t start = out->size();
  bson::Element old_id = document.Find("_id");
  bson::Element new_id = result.Find("_id");
  if (old_id.present() && new_id.present() && bson::Compare(old_id.value(), new_id.value()) != 0) {
    return Status(kImmutableField,
                  "After applying the update, the (immutable) field '_id' was found to have been "
                  "altered to _id: " +
                      bson::ToJson(new_id.value()));
  }
  Outcome outcome;
  if (result.bytes() == document.bytes()) {
    return outcome;
  }
  bson::Builder builder(out);
  if (old_id.present() && !new_id.present()) {
    builder.Append(old_id);
  }
  builder.AppendFields(result);
  builder.Close();
  MoveIdFirst(out, start);
  bson::View made(out->data() + start);
  Status checked = CheckSize(made.size(), inserting);
  if (checked.ok()) {
    checked = CheckDepth(bson::Value(made), 0);
  }
  if (!checked.ok()) {
    out->resize(start);
    return checked;
  }
  outcome.modified = true;
  outcome.all = true;
  return outcome;
}

}  // namespace quire::expr::update
