// SPDX-License-Identifier: Apache-2.0
#include "command/stored_version.h"

#include "base/try.h"
#include "base/version.h"
#include "command/auth/login_state.h"
#include "command/own_documents.h"

namespace quire::command {

Status KeepAuthSchema(engine::Engine& engine) {
  constexpr std::string_view kSchemaId = "authSchema";
  constexpr int32_t kSchema = 5;
  ASSIGN_OR_RETURN(std::optional<bson::Document> stored,
                   LoadOwn(engine, kVersionNs, bson::Value(kSchemaId)));
  if (stored) {
    return Status::Ok();
  }
  bson::Builder out;
  out.Append("_id", kSchemaId).Append("currentVersion", kSchema);
  const bson::Document document = out.Finish();
  return SaveOwn(engine, kVersionNs, document);
}

Status KeepVersion(engine::Engine& engine) {
  ASSIGN_OR_RETURN(std::optional<bson::Document> stored,
                   LoadOwn(engine, kVersionNs, bson::Value(kVersionId)));
  const bson::Value version = stored ? (*stored)["version"] : bson::Value();
  if (!version.is_string() || (version.AsString() != kFeatureCompatibilityVersion &&
                               version.AsString() != kLastFeatureCompatibilityVersion)) {
    bson::Builder out;
    out.Append("_id", kVersionId).Append("version", kFeatureCompatibilityVersion);
    const bson::Document document = out.Finish();
    RETURN_IF_ERROR(SaveOwn(engine, kVersionNs, document));
  }
  for (std::string_view accounts : {kUsers, kRoles}) {
    ASSIGN_OR_RETURN(std::vector<bson::Document> any, LoadOwnAll(engine, accounts, {}, {}));
    if (!any.empty()) {
      return KeepAuthSchema(engine);
    }
  }
  return Status::Ok();
}

}  // namespace quire::command
