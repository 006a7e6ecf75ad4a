// SPDX-License-Identifier: Apache-2.0
#include "expr/update/patch.h"

#include <charconv>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/error_codes.h"
#include "base/keyed_hash.h"
#include "base/try.h"
#include "bson/number.h"
#include "bson/walk/field_table.h"

namespace quire::expr::update {

namespace {

// No index further than this beyond what is there: a hostile one would only cost memory.
constexpr size_t kLongestArray = 1'500'000;

Status Malformed(std::string_view what) {
  return {kFailedToParse, "Not the difference of an update: " + std::string(what)};
}

Status AppendPatched(std::string_view name, const bson::Value& before, bson::View diff,
                     bson::Builder* out);

bson::View Section(bson::View diff, std::string_view name) {
  bson::Value section = diff[name];
  return section.is_document() ? section.AsDocument() : bson::View();
}

// The differences inside fields, by the fields' names.
std::unordered_map<std::string_view, bson::View, KeyedStringHash> InsideOf(bson::View diff) {
  std::unordered_map<std::string_view, bson::View, KeyedStringHash> inside;
  for (const bson::Element& e : diff) {
    if (e.name().starts_with('s')) {
      inside.emplace(e.name().substr(1), e.value().AsDocument());
    }
  }
  return inside;
}

Status AppendDocument(bson::View before, bson::View diff, bson::Builder* out) {
  for (const bson::Element& e : diff) {
    bool known = e.name() == "d" || e.name() == "u" || e.name() == "i" || e.name().starts_with('s');
    if (!known || !e.value().is_document()) {
      return Malformed(e.name());
    }
  }
  const bson::View removed = Section(diff, "d");
  const bson::View changed = Section(diff, "u");
  const bson::View added = Section(diff, "i");
  const size_t fields = before.Count();
  const bson::FieldTable is_removed(removed, fields);
  const bson::FieldTable is_changed(changed, fields);
  const bson::FieldTable is_added(added, fields);
  const auto inside = InsideOf(diff);
  for (const bson::Element& e : before) {
    if (!is_removed[e.name()].missing() || !is_added[e.name()].missing()) {
      continue;
    }
    const bson::Value change = is_changed[e.name()];
    if (!change.missing()) {
      out->Append(e.name(), change);
    } else if (auto deeper = inside.find(e.name()); deeper != inside.end()) {
      RETURN_IF_ERROR(AppendPatched(e.name(), e.value(), deeper->second, out));
    } else {
      out->Append(e);
    }
  }
  const bson::FieldTable old_fields(before, changed.Count());
  for (const bson::Element& e : changed) {
    if (old_fields[e.name()].missing()) {
      out->Append(e);
    }
  }
  out->AppendFields(added);
  return Status::Ok();
}

// The index in "u12" or "s12".
Result<size_t> IndexIn(std::string_view name) {
  size_t index = 0;
  auto [end, error] = std::from_chars(name.data() + 1, name.data() + name.size(), index);
  if (error != std::errc() || end != name.data() + name.size() || index > kLongestArray) {
    return Malformed(name);
  }
  return index;
}

Status AppendArray(bson::View before, bson::View diff, bson::Builder* out) {
  std::vector<bson::Value> elements;
  for (const bson::Element& e : before) {
    elements.push_back(e.value());
  }
  if (bson::Value length = diff["l"]; length.is_number()) {
    int64_t wanted = bson::ClampedInt64(length);
    if (wanted < 0 || wanted > static_cast<int64_t>(kLongestArray)) {
      return Malformed("l");
    }
    elements.resize(static_cast<size_t>(wanted), bson::Value::Null());
  }
  std::map<size_t, bson::View> inside;
  for (const bson::Element& e : diff) {
    if (e.name() == "a" || e.name() == "l") {
      continue;
    }
    bool change = e.name().starts_with('u');
    if (!change && !(e.name().starts_with('s') && e.value().is_document())) {
      return Malformed(e.name());
    }
    ASSIGN_OR_RETURN(size_t index, IndexIn(e.name()));
    if (index >= elements.size()) {
      elements.resize(index + 1, bson::Value::Null());
    }
    if (change) {
      elements[index] = e.value();
    } else {
      inside.emplace(index, e.value().AsDocument());
    }
  }
  for (size_t at = 0; at < elements.size(); ++at) {
    auto deeper = inside.find(at);
    if (deeper != inside.end()) {
      RETURN_IF_ERROR(AppendPatched(std::to_string(at), elements[at], deeper->second, out));
    } else {
      out->Append(std::to_string(at), elements[at]);
    }
  }
  return Status::Ok();
}

// Where the document does not have what the difference goes into, it stays as it is.
Status AppendPatched(std::string_view name, const bson::Value& before, bson::View diff,
                     bson::Builder* out) {
  bool array = diff.Has("a");
  if (array && before.is_array()) {
    out->BeginArray(name);
    RETURN_IF_ERROR(AppendArray(before.AsArray(), diff, out));
    out->End();
  } else if (!array && before.is_document()) {
    out->BeginDocument(name);
    RETURN_IF_ERROR(AppendDocument(before.AsDocument(), diff, out));
    out->End();
  } else {
    out->Append(name, before);
  }
  return Status::Ok();
}

}  // namespace

Result<bson::Document> Patch(bson::View before, bson::View diff) {
  bson::Builder out;
  RETURN_IF_ERROR(AppendDocument(before, diff, &out));
  return out.Finish();
}

}  // namespace quire::expr::update
