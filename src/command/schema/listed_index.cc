// SPDX-License-Identifier: Apache-2.0
#include "command/schema/listed_index.h"

#include <cstdint>
#include <string_view>

#include "bson/number.h"

namespace quire::command {

namespace {

enum class Shown : uint8_t { kAsIs, kFlag, kInt, kDouble };

struct ListedOption {
  std::string_view name;
  Shown shown;
};
constexpr ListedOption kListed[] = {{"v", Shown::kInt},
                                    {"key", Shown::kAsIs},
                                    {"name", Shown::kAsIs},
                                    {"background", Shown::kFlag},
                                    {"unique", Shown::kFlag},
                                    {"hidden", Shown::kFlag},
                                    {"partialFilterExpression", Shown::kAsIs},
                                    {"sparse", Shown::kFlag},
                                    {"expireAfterSeconds", Shown::kInt},
                                    {"storageEngine", Shown::kAsIs},
                                    {"weights", Shown::kAsIs},
                                    {"default_language", Shown::kAsIs},
                                    {"language_override", Shown::kAsIs},
                                    {"textIndexVersion", Shown::kInt},
                                    {"2dsphereIndexVersion", Shown::kInt},
                                    {"bits", Shown::kInt},
                                    {"min", Shown::kDouble},
                                    {"max", Shown::kDouble},
                                    {"bucketSize", Shown::kDouble},
                                    {"collation", Shown::kAsIs},
                                    {"wildcardProjection", Shown::kAsIs},
                                    {"coarsestIndexedLevel", Shown::kInt},
                                    {"finestIndexedLevel", Shown::kInt},
                                    {"dropDups", Shown::kFlag},
                                    {"clustered", Shown::kFlag},
                                    {"prepareUnique", Shown::kFlag}};

bson::Value As(Shown shown, const bson::Value& value) {
  if (!value.is_number()) {
    return value;
  }
  switch (shown) {
    case Shown::kAsIs:
      return value;
    case Shown::kFlag:
      return bson::Value(bson::ToDouble(value) != 0);
    case Shown::kInt:
      return bson::NarrowInt(bson::ClampedInt64(value));
    case Shown::kDouble:
      return bson::Value(bson::ToDouble(value));
  }
  return value;
}

}  // namespace

bson::Document ListedIndex(bson::View spec) {
  bson::Builder out;
  for (const ListedOption& option : kListed) {
    if (bson::Value value = spec[option.name]; !value.missing()) {
      out.Append(option.name, As(option.shown, value));
    }
  }
  return out.Finish();
}

}  // namespace quire::command
