// SPDX-License-Identifier: Apache-2.0
#include "expr/update/diff.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/keyed_hash.h"
#include "bson/walk/field_table.h"

namespace quire::expr::update {

namespace {

using bson::Builder;
using bson::Document;
using bson::Element;
using bson::Type;
using bson::Value;
using bson::View;

bool Same(const Value& a, const Value& b) { return a.type() == b.type() && a.BinaryEquals(b); }

// The order of paths component by component: what lies below a path follows it at once.
bool ComponentsBefore(std::string_view a, std::string_view b) {
  auto rank = [](std::string_view path, size_t at) {
    return at == path.size() ? 0 : path[at] == '.' ? 1 : 2 + static_cast<unsigned char>(path[at]);
  };
  size_t at = 0;
  while (at < a.size() && at < b.size() && a[at] == b[at]) {
    ++at;
  }
  return rank(a, at) < rank(b, at);
}

// Paths an update touched that begin alike, in the order of their components; how they begin is
// left out of account.
class Paths {
 public:
  // One component of them: a path that ends with it is touched as a whole.
  struct Component;

  // REQUIRES: the paths are in order.
  explicit Paths(std::span<const std::string_view> paths) : Paths(paths, 0) {}

  bool empty() const { return paths_.empty(); }
  size_t size() const { return paths_.size(); }
  // Takes the first component and all paths that have it. REQUIRES: !empty().
  Component Next();

 private:
  Paths(std::span<const std::string_view> paths, size_t at) : paths_(paths), at_(at) {}

  std::span<const std::string_view> paths_;
  size_t at_;
};

struct Paths::Component {
  std::string_view name;
  bool whole;
  Paths below;
};

Paths::Component Paths::Next() {
  const std::string_view first = paths_[0].substr(at_);
  const std::string_view name = first.substr(0, first.find('.'));
  const size_t end = at_ + name.size();
  const bool whole = paths_[0].size() == end;
  auto has = [&](std::string_view path) {
    return path.substr(at_).starts_with(name) && (path.size() == end || path[end] == '.');
  };
  size_t count = 1;
  while (count < paths_.size() && has(paths_[count])) {
    ++count;
  }
  const size_t begin = whole ? 1 : 0;
  Component component{name, whole, Paths(paths_.subspan(begin, count - begin), end + 1)};
  paths_ = paths_.subspan(count);
  return component;
}

// Collects the parts of one document's difference in the order in which they are shown.
class DocumentDiff {
 public:
  void Removed(std::string_view name) { Open(&removed_).Append(name, false); }
  void Changed(std::string_view name, const Value& value) { Open(&changed_).Append(name, value); }
  void Added(std::string_view name, const Value& value) { Open(&added_).Append(name, value); }
  void Inside(std::string_view name, Document diff) {
    inside_.emplace_back("s" + std::string(name), std::move(diff));
  }

  Document Finish() {
    Builder out;
    AppendPart("d", &removed_, &out);
    AppendPart("u", &changed_, &out);
    AppendPart("i", &added_, &out);
    for (const auto& [name, diff] : inside_) {
      out.Append(name, diff);
    }
    return out.Finish();
  }

 private:
  static Builder& Open(std::optional<Builder>* part) {
    if (!part->has_value()) {
      part->emplace();
    }
    return **part;
  }
  static void AppendPart(std::string_view name, std::optional<Builder>* part, Builder* out) {
    if (part->has_value()) {
      out->Append(name, (*part)->Finish());
    }
  }

  std::optional<Builder> removed_;
  std::optional<Builder> changed_;
  std::optional<Builder> added_;
  std::vector<std::pair<std::string, Document>> inside_;
};

std::vector<Value> ElementsOf(View array) {
  std::vector<Value> values;
  for (const Element& e : array) {
    values.push_back(e.value());
  }
  return values;
}

Document DiffArrays(View before, View after);

// Gives the change of one value to `report(value)` when it is shown whole, to `inside(diff)` when
// its inside is.
template <typename Report, typename Inside>
void DiffValues(const Value& before, const Value& after, Report report, Inside inside) {
  if (Same(before, after)) {
    return;
  }
  bool documents = before.is_document() && after.is_document();
  bool arrays = before.is_array() && after.is_array();
  if (!documents && !arrays) {
    report(after);
    return;
  }
  Document diff = documents ? Diff(before.AsDocument(), after.AsDocument())
                            : DiffArrays(before.AsArray(), after.AsArray());
  if (diff.view().size() >= after.AsDocument().size()) {
    report(after);
  } else {
    inside(std::move(diff));
  }
}

Document DiffArrays(View before, View after) {
  std::vector<Value> old_values = ElementsOf(before);
  std::vector<Value> new_values = ElementsOf(after);
  Builder out;
  out.Append("a", true);
  if (new_values.size() < old_values.size()) {
    out.Append("l", static_cast<int32_t>(new_values.size()));
  }
  for (size_t i = 0; i < new_values.size(); ++i) {
    std::string index = std::to_string(i);
    if (i >= old_values.size()) {
      out.Append("u" + index, new_values[i]);
      continue;
    }
    DiffValues(
        old_values[i], new_values[i], [&](const Value& value) { out.Append("u" + index, value); },
        [&](Document diff) { out.Append("s" + index, diff); });
  }
  return out.Finish();
}

bool OnlyGrew(View before, View after) {
  auto at = after.begin();
  for (const Element& e : before) {
    if (at == after.end() || !Same(e.value(), at->value())) {
      return false;
    }
    ++at;
  }
  return at != after.end() && before.Count() > 0;
}

class PathDiff {
 public:
  static Document Documents(View before, View after, Paths paths) {
    DocumentDiff out;
    const bson::FieldTable old_fields(before, paths.size());
    const bson::FieldTable new_fields(after, paths.size());
    while (!paths.empty()) {
      const Paths::Component component = paths.Next();
      const std::string_view name = component.name;
      Value old_value = old_fields[name];
      Value new_value = new_fields[name];
      if (new_value.missing()) {
        if (!old_value.missing()) {
          out.Removed(name);
        }
      } else if (old_value.missing()) {
        out.Added(name, new_value);
      } else if (!Same(old_value, new_value)) {
        if (std::optional<Document> diff = Inner(old_value, new_value, component)) {
          out.Inside(name, std::move(*diff));
        } else {
          out.Changed(name, new_value);
        }
      }
    }
    return out.Finish();
  }

 private:
  // The difference inside two values, or nothing when the new one is to be shown whole.
  static std::optional<Document> Inner(const Value& before, const Value& after,
                                       const Paths::Component& component) {
    if (before.is_array() && after.is_array() &&
        (!component.whole || OnlyGrew(before.AsArray(), after.AsArray()))) {
      return component.whole ? DiffArrays(before.AsArray(), after.AsArray())
                             : Arrays(before.AsArray(), after.AsArray(), component.below);
    }
    if (!component.whole && before.is_document() && after.is_document()) {
      return Documents(before.AsDocument(), after.AsDocument(), component.below);
    }
    return std::nullopt;
  }

  static Document Arrays(View before, View after, Paths paths) {
    Builder out;
    out.Append("a", true);
    std::map<size_t, Paths::Component> by_index;
    while (!paths.empty()) {
      const Paths::Component component = paths.Next();
      by_index.insert_or_assign(std::strtoul(std::string(component.name).c_str(), nullptr, 10),
                                component);
    }
    const bson::FieldTable old_elements(before, by_index.size());
    const bson::FieldTable new_elements(after, by_index.size());
    for (const auto& [position, component] : by_index) {
      std::string index = std::to_string(position);
      Value old_value = old_elements[index];
      Value new_value = new_elements[index];
      if (new_value.missing() || Same(old_value, new_value)) {
        continue;
      }
      std::optional<Document> diff =
          old_value.missing() ? std::nullopt : Inner(old_value, new_value, component);
      if (diff) {
        out.Append("s" + index, *diff);
      } else {
        out.Append("u" + index, new_value);
      }
    }
    return out.Finish();
  }
};

// A path on its way through a diff, with what kind each component is.
class Describer {
 public:
  explicit Describer(bool disambiguate) : disambiguate_(disambiguate) {}

  void Enter(View diff) {
    if (diff.Has("a") && diff["a"].type() == Type::kBool) {
      EnterArray(diff);
    } else {
      EnterDocument(diff);
    }
  }

  void Append(Builder* out) {
    out->Append("updatedFields", updated_.Finish());
    Document removed = removed_.Finish();
    Document truncated = truncated_.Finish();
    out->AppendArray("removedFields", removed);
    out->AppendArray("truncatedArrays", truncated);
    if (disambiguate_) {
      out->Append("disambiguatedPaths", ambiguous_.Finish());
    }
  }

 private:
  struct Component {
    std::string_view name;
    bool index;
  };

  void EnterDocument(View diff) {
    for (std::string_view part : {"d", "u", "i"}) {
      if (Value fields = diff[part]; fields.is_document()) {
        for (const Element& e : fields.AsDocument()) {
          Report(part, e);
        }
      }
    }
    for (const Element& e : diff) {
      if (e.name().size() > 1 && e.name()[0] == 's') {
        path_.push_back({e.name().substr(1), false});
        Enter(e.value().AsDocument());
        path_.pop_back();
      }
    }
  }

  void Report(std::string_view part, const Element& e) {
    path_.push_back({e.name(), false});
    if (part == "d") {
      std::string path = Path();
      removed_.Push(path);
    } else {
      updated_.Append(Path(), e.value());
    }
    NoteAmbiguous();
    path_.pop_back();
  }

  void EnterArray(View diff) {
    for (const Element& e : diff) {
      if (e.name() == "a") {
        continue;
      }
      if (e.name() == "l") {
        truncated_.PushDocument().Append("field", Path()).Append("newSize", e.value()).End();
        NoteAmbiguous();
        continue;
      }
      path_.push_back({e.name().substr(1), true});
      if (e.name()[0] == 'u') {
        updated_.Append(Path(), e.value());
        NoteAmbiguous();
      } else {
        Enter(e.value().AsDocument());
      }
      path_.pop_back();
    }
  }

  std::string Path() const {
    std::string path;
    for (const Component& component : path_) {
      if (!path.empty()) {
        path.push_back('.');
      }
      path.append(component.name);
    }
    return path;
  }

  // A field whose name holds a dot, or looks like an array's index, makes its path ambiguous.
  void NoteAmbiguous() {
    bool ambiguous = false;
    bool first = true;
    for (const Component& component : path_) {
      bool dotted = component.name.find('.') != std::string_view::npos;
      bool number =
          component.name.find_first_not_of("0123456789") == std::string_view::npos && !first;
      ambiguous = ambiguous || (!component.index && (dotted || number));
      first = false;
    }
    if (!disambiguate_ || !ambiguous) {
      return;
    }
    ambiguous_.BeginArray(Path());
    for (const Component& component : path_) {
      if (component.index) {
        ambiguous_.Push(static_cast<int32_t>(std::atoi(std::string(component.name).c_str())));
      } else {
        ambiguous_.Push(component.name);
      }
    }
    ambiguous_.End();
  }

  const bool disambiguate_;
  std::vector<Component> path_;
  Builder updated_;
  Builder removed_;
  Builder truncated_;
  Builder ambiguous_;
};

}  // namespace

Document Diff(View before, View after) {
  struct Old {
    size_t position;
    Value value;
  };
  std::unordered_map<std::string_view, Old, KeyedStringHash> old_fields;
  for (const Element& e : before) {
    old_fields.emplace(e.name(), Old{old_fields.size(), e.value()});
  }
  const bson::FieldTable new_fields(after, old_fields.size());
  DocumentDiff out;
  for (const Element& e : before) {
    if (new_fields[e.name()].missing()) {
      out.Removed(e.name());
    }
  }
  size_t reached = 0;
  for (const Element& e : after) {
    const auto old = old_fields.find(e.name());
    if (old == old_fields.end() || old->second.position < reached) {
      out.Added(e.name(), e.value());  // new, or moved behind fields it stood before
      continue;
    }
    reached = old->second.position;
    DiffValues(
        old->second.value, e.value(), [&](const Value& value) { out.Changed(e.name(), value); },
        [&](Document diff) { out.Inside(e.name(), std::move(diff)); });
  }
  return out.Finish();
}

Document DiffAt(View before, View after, const std::set<std::string>& paths) {
  std::vector<std::string_view> ordered(paths.begin(), paths.end());
  std::sort(ordered.begin(), ordered.end(), ComponentsBefore);
  return PathDiff::Documents(before, after, Paths(ordered));
}

void AppendUpdateDescription(View diff, bool disambiguate, Builder* out) {
  Describer describer(disambiguate);
  describer.Enter(diff);
  describer.Append(out);
}

}  // namespace quire::expr::update
