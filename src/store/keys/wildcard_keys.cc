// SPDX-License-Identifier: Apache-2.0
#include "store/keys/wildcard_keys.h"

#include <algorithm>

#include "base/try.h"
#include "bson/key_tuples.h"
#include "store/keys/wildcard.h"

namespace quire::store {

namespace {

class Walk {
 public:
  Walk(const IndexKeySpec& spec, std::vector<bson::Value> others, IndexKeySet* out)
      : spec_(spec), values_(std::move(others)), out_(*out) {
    auto at = values_.begin() + static_cast<std::ptrdiff_t>(spec.path_part);
    values_.insert(at, 2, bson::Value::MinKey());
  }

  void Document(bson::View document, bool is_array) {
    bool kept = is_array || path_.empty();
    for (const bson::Element& e : document) {
      size_t length = path_.size();
      if (!is_array) {
        path_ += (path_.empty() ? "" : ".") + std::string(e.name());
        kept = kept || spec_.wildcard->Meets(path_);
      }
      Value(e.value(), is_array);
      path_.resize(length);
    }
    if (!kept) {
      // The projection leaves an empty document.
      bson::Document empty = bson::Builder().Finish();
      Add(bson::Value(empty.view()));
    }
  }

  void Finish() {
    if (spec_.parts.size() > 2 && out_.keys.empty()) {
      out_.keys.push_back(MakeKey(spec_, values_));
    }
    SortKeys(&out_.keys);
    std::sort(out_.array_paths.begin(), out_.array_paths.end());
    out_.array_paths.erase(std::unique(out_.array_paths.begin(), out_.array_paths.end()),
                           out_.array_paths.end());
  }

 private:
  void Value(const bson::Value& value, bool in_array) {
    if (value.is_array() && !in_array) {
      if (spec_.wildcard->Meets(path_)) {
        out_.array_paths.push_back(path_);
      }
      value.AsArray().empty() ? Add(bson::Value::Undefined()) : Document(value.AsArray(), true);
    } else if (value.is_document() && !value.AsDocument().empty()) {
      Document(value.AsDocument(), false);
    } else {
      if (value.is_array() && spec_.wildcard->Meets(path_)) {
        out_.array_paths.push_back(NestedArrayMark(path_));
      }
      Add(value);
    }
  }

  void Add(const bson::Value& value) {
    if (!spec_.wildcard->Holds(path_)) {
      return;
    }
    std::vector<bson::Value> values = values_;
    values[spec_.path_part] = bson::Value(std::string_view(path_));
    values[spec_.path_part + 1] = value;
    out_.keys.push_back(MakeKey(spec_, values));
  }

  const IndexKeySpec& spec_;
  std::vector<bson::Value> values_;  // one per part; MinKey for the path and its value
  IndexKeySet& out_;
  std::string path_;
};

// The values of the parts beside the wildcard.
Result<std::vector<bson::Value>> OtherValues(const IndexKeySpec& spec, bson::View document) {
  std::vector<bson::FieldPath> paths;
  for (size_t part = 0; part < spec.parts.size(); ++part) {
    if (!spec.IsPath(part) && !spec.IsWildcard(part)) {
      paths.push_back(spec.paths[part]);
    }
  }
  std::vector<bson::Value> values;
  if (paths.empty()) {
    return values;
  }
  uint64_t arrays = 0;
  RETURN_IF_ERROR(bson::ForEachKeyTuple(paths, document, &arrays,
                                        [&](std::span<const bson::Value> tuple, bool) {
                                          values.assign(tuple.begin(), tuple.end());
                                        }));
  if (arrays != 0) {
    return Status(7246301, "Non-wildcard fields of a compound wildcard index cannot hold arrays");
  }
  return values;
}

}  // namespace

Status WildcardKeys(const IndexKeySpec& spec, bson::View document, IndexKeySet* out) {
  ASSIGN_OR_RETURN(std::vector<bson::Value> others, OtherValues(spec, document));
  Walk walk(spec, std::move(others), out);
  walk.Document(document, false);
  walk.Finish();
  return Status::Ok();
}

}  // namespace quire::store
