// SPDX-License-Identifier: Apache-2.0
#include "request/reply_part.h"

#include <string_view>

namespace quire::request {

bson::Document AsPart(bson::View reply) {
  bson::Builder out;
  for (const bson::Element& field : reply) {
    const std::string_view name = field.name();
    if (name != "$clusterTime" && name != "operationTime" && name != "topologyVersion") {
      out.Append(field);
    }
  }
  return out.Finish();
}

}  // namespace quire::request
