// SPDX-License-Identifier: Apache-2.0
#include "store/log/document_key.h"

namespace quire::store {

DocumentKey::DocumentKey(bson::View fields) : fields_(fields) {
  constexpr std::string_view kId = "_id";
  bool has_id = false;
  for (const bson::Element& e : fields) {
    paths_.emplace_back(e.name());
    has_id = has_id || e.name() == kId;
  }
  if (!has_id) {
    paths_.emplace_back(kId);
  }
}

void DocumentKey::Append(bson::View document, bson::Builder* out) const {
  for (const bson::FieldPath& path : paths_) {
    if (const bson::Value value = bson::GetPath(document, path); !value.missing()) {
      out->Append(path.text(), value);
    }
  }
}

}  // namespace quire::store
