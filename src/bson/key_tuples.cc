// SPDX-License-Identifier: Apache-2.0
#include "bson/key_tuples.h"

#include <algorithm>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/walk/form_walk.h"

namespace quire::bson {

namespace {

using Visitor = std::function<void(std::span<const Value>, bool)>;

// An array element that a numeric part of a path names, looked up when the array is met.
struct Positional {
  Value element;    // missing: none
  Value reached;    // what the rest of the path finds from there, up to the next array
  size_t next = 0;  // the first part of the path after `reached`
  View array;       // for the error message
};

// The state of one path on the way down.
struct Branch {
  size_t next = 0;  // the first part not used yet; path.size() when `value` is final
  Value value;
  Positional positional;
};

class TupleMaker {
 public:
  TupleMaker(const std::vector<FieldPath>& paths, uint64_t* array_steps, const Visitor& visit)
      : paths_(paths), array_steps_(array_steps), visit_(visit), tuple_(paths.size()) {}

  // Every call below the first has used a part of some path, so the depth is bounded by those.
  Status Expand(View object, std::vector<Branch> branches, size_t absent) {
    Step step;
    for (size_t i = 0; i < branches.size(); ++i) {
      if (branches[i].next < paths_[i].size()) {
        RETURN_IF_ERROR(Advance(i, object, &branches[i], &step, &absent));
      }
    }
    if (step.array.missing()) {
      Emit(branches, absent);
      return Status::Ok();
    }
    return ExpandArray(step, branches, absent);
  }

 private:
  // The array that the paths of one step meet.
  struct Step {
    Value array;
    std::string_view name;
    std::vector<size_t> met;     // the paths that meet it
    bool whole_element = false;  // it was itself an element of an array: not entered
  };

  Status Advance(size_t i, View object, Branch* branch, Step* step, size_t* absent) {
    const FieldPath& path = paths_[i];
    bool from_element = false;
    Value value;
    ASSIGN_OR_RETURN(value, Extract(path, object, branch, &from_element));
    if (value.missing()) {
      branch->value = Value::Null();
      branch->next = path.size();
      ++*absent;
      return Status::Ok();
    }
    if (!value.is_array()) {
      branch->value = value;
      branch->next = path.size();
      return Status::Ok();
    }
    std::string_view name = path[branch->next - 1];
    if (step->array.missing()) {
      step->array = value;
      step->name = name;
    } else if (step->array.bytes().data() != value.bytes().data()) {
      return Status(kCannotIndexParallelArrays, "cannot index parallel arrays [" +
                                                    std::string(name) + "] [" +
                                                    std::string(step->name) + "]");
    }
    step->met.push_back(i);
    step->whole_element = step->whole_element || from_element;
    return Status::Ok();
  }

  // The next value of a path: a field of `object`, or the array element that was looked up.
  static Result<Value> Extract(const FieldPath& path, View object, Branch* branch,
                               bool* from_element) {
    const Positional& positional = branch->positional;
    bool has_field = object.Has(path[branch->next]);
    if (has_field && !positional.element.missing()) {
      return Status(16746,
                    "Ambiguous field name found in array (do not use numeric field names in "
                    "embedded elements in an array), field: '" +
                        std::string(path[branch->next]) +
                        "' for array: " + ToJson(Value::Array(positional.array)));
    }
    if (has_field) {
      return GetPathOrArray(object, path, &branch->next);
    }
    if (positional.element.missing()) {
      return Value();
    }
    *from_element = positional.element.is_array();
    branch->next = positional.next;
    return positional.reached;
  }

  void Emit(const std::vector<Branch>& branches, size_t absent) {
    for (size_t i = 0; i < branches.size(); ++i) {
      tuple_[i] = branches[i].value;
    }
    visit_(tuple_, absent == branches.size());
  }

  Status ExpandArray(const Step& step, const std::vector<Branch>& branches, size_t absent) {
    View array = step.array.AsArray();
    std::vector<Branch> inner = branches;
    for (size_t i : step.met) {
      LookUpElement(i, array, &inner[i]);
    }
    if (array.empty()) {
      return ExpandElement(step, Value::Undefined(), Value::Undefined(), inner, absent);
    }
    bool shows_element = !step.whole_element && MeetsAtEnd(step, inner);
    bool plain_done = false;
    for (const Element& e : array) {
      Value element = e.value();
      // Elements that add nothing of their own would all give the same tuples.
      if (!shows_element && !HasNextField(step, inner, element)) {
        if (plain_done) {
          continue;
        }
        plain_done = true;
      }
      Value shown = step.whole_element ? step.array : element;
      RETURN_IF_ERROR(ExpandElement(step, element, shown, inner, absent));
    }
    return Status::Ok();
  }

  bool MeetsAtEnd(const Step& step, const std::vector<Branch>& branches) const {
    return std::any_of(step.met.begin(), step.met.end(),
                       [&](size_t i) { return branches[i].next == paths_[i].size(); });
  }

  bool HasNextField(const Step& step, const std::vector<Branch>& branches,
                    const Value& element) const {
    return element.is_document() && std::any_of(step.met.begin(), step.met.end(), [&](size_t i) {
             size_t next = branches[i].next;
             return next < paths_[i].size() && element.AsDocument().Has(paths_[i][next]);
           });
  }

  Status ExpandElement(const Step& step, const Value& element, const Value& shown,
                       std::vector<Branch> branches, size_t absent) {
    for (size_t i : step.met) {
      if (branches[i].next == paths_[i].size()) {
        branches[i].value = shown;
      }
    }
    View object = element.is_document() ? element.AsDocument() : View();
    return Expand(object, std::move(branches), absent);
  }

  void NoteArray(size_t i, size_t step) {
    for (size_t before = 0; before < i; ++before) {
      step += paths_[before].size();
    }
    *array_steps_ |= uint64_t{1} << std::min(step, size_t{63});
  }

  void LookUpElement(size_t i, View array, Branch* branch) {
    const FieldPath& path = paths_[i];
    branch->positional = Positional();
    if (branch->next == path.size() || !IsNumericPart(path[branch->next])) {
      NoteArray(i, branch->next - 1);
      return;
    }
    Positional& positional = branch->positional;
    positional.element = array[path[branch->next]];
    positional.array = array;
    if (positional.element.missing()) {
      NoteArray(i, branch->next - 1);
      return;
    }
    positional.next = branch->next;
    positional.reached = GetPathOrArray(array, path, &positional.next);
  }

  const std::vector<FieldPath>& paths_;
  uint64_t* array_steps_;
  const Visitor& visit_;
  std::vector<Value> tuple_;
};

// The common case: no path meets an array. False when one does.
bool PlainTuple(const std::vector<FieldPath>& paths, View document, const Visitor& visit) {
  constexpr size_t kInline = 8;
  Value values[kInline];
  if (paths.size() > kInline) {
    return false;
  }
  size_t absent = 0;
  for (size_t i = 0; i < paths.size(); ++i) {
    size_t next = 0;
    values[i] = paths[i].size() == 1 ? FindInForm(document, FieldName(paths[i].text()))
                                     : GetPathOrArray(document, paths[i], &next);
    if (values[i].is_array()) {
      return false;
    }
    if (values[i].missing()) {
      values[i] = Value::Null();
      ++absent;
    }
  }
  visit(std::span<const Value>(values, paths.size()), absent == paths.size());
  return true;
}

}  // namespace

Status ForEachKeyTuple(const std::vector<FieldPath>& paths, View document, uint64_t* array_steps,
                       const Visitor& visit) {
  *array_steps = 0;
  if (PlainTuple(paths, document, visit)) {
    return Status::Ok();
  }
  return TupleMaker(paths, array_steps, visit)
      .Expand(document, std::vector<Branch>(paths.size()), 0);
}

}  // namespace quire::bson
