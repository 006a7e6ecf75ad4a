// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>

#include "base/arena.h"
#include "base/error_codes.h"
#include "base/try.h"
#include "expr/match/node.h"
#include "expr/projection/tree_internal.h"
#include "expr/row_size.h"

namespace quire::expr::projection {
namespace {

using bson::Value;
using Kind = Child::Kind;

bool KeepsRest(const ApplyState& state) { return state.mode != Mode::kInclusion; }

// ------------------------------------------------------------------ leaves
Status AppendExpression(const Child& child, ApplyState& state, bson::Builder* out) {
  ASSIGN_OR_RETURN(Value value, child.expression->Evaluate(*state.eval));
  out->Append(child.name, value);
  return CheckRowSize(out->size());
}

// The first element of the array that the condition takes, as an array of one.
Status AppendElemMatch(const Child& child, ApplyState& state, bson::Builder* out) {
  Value array = state.root[child.name];
  if (!array.is_array()) {
    return Status::Ok();
  }
  match::Details details;
  ASSIGN_OR_RETURN(bool matches, child.filter->Matches(state.root, nullptr, &details));
  if (matches) {
    out->BeginArray(child.name).Push(array.AsArray()[details.array_index]).End();
  }
  return Status::Ok();
}

void AppendSlice(std::string_view name, const Slice& slice, const Value& value,
                 bson::Builder* out) {
  if (!value.is_array()) {
    out->Append(name, value);
    return;
  }
  auto count = static_cast<int64_t>(value.AsArray().Count());
  int64_t from = 0;
  int64_t limit = slice.limit;
  if (slice.has_skip) {
    from = slice.skip < 0 ? std::max<int64_t>(0, count + slice.skip) : std::min(slice.skip, count);
  } else if (limit < 0) {
    limit = limit <= -count ? count : -limit;
    from = count - limit;
  }
  out->BeginArray(name);
  int64_t i = 0;
  for (const bson::Element& element : value.AsArray()) {
    if (i >= from && i - from < limit) {
      out->Push(element.value());
    }
    ++i;
  }
  out->End();
}

// The element of `array` that the filter matched.
Result<Value> PositionalElement(bson::View array, ApplyState& state) {
  if (state.array_index.empty()) {
    return Status(51246,
                  "Executor error during find command :: caused by :: positional operator '.$' "
                  "couldn't find a matching element in the array");
  }
  state.positional_done = true;
  Value element = array[state.array_index];
  if (element.missing()) {
    return Status(51247,
                  "Executor error during find command :: caused by :: positional operator '.$' "
                  "element mismatch");
  }
  return element;
}

// ------------------------------------------------------------------ nodes
Status AppendNode(std::string_view name, const Child& child, const Value& value, ApplyState& state,
                  bson::Builder* out);

// Elements of an array, each projected; scalars an inclusion cannot look into fall away.
Status AppendArray(std::string_view name, const Child& child, bson::View array, ApplyState& state,
                   bson::Builder* out) {
  out->BeginArray(name);
  uint32_t next = 0;
  for (const bson::Element& element : array) {
    char index[12];
    auto end = std::to_chars(index, index + sizeof index, next).ptr;
    std::string_view at(index, static_cast<size_t>(end - index));
    Value value = element.value();
    bool composed = value.is_document() || value.is_array();
    if (composed || child.computes || KeepsRest(state)) {
      RETURN_IF_ERROR(AppendNode(at, child, value, state, out));
      ++next;
    }
  }
  out->End();
  return Status::Ok();
}

Status AppendPositionalNode(std::string_view name, const Child& child, bson::View array,
                            ApplyState& state, bson::Builder* out) {
  ASSIGN_OR_RETURN(Value element, PositionalElement(array, state));
  out->BeginArray(name);
  if (element.is_document() || element.is_array()) {
    RETURN_IF_ERROR(AppendNode("0", child, element, state, out));
  }
  out->End();
  return Status::Ok();
}

Status AppendNode(std::string_view name, const Child& child, const Value& value, ApplyState& state,
                  bson::Builder* out) {
  if (value.is_array()) {
    if (child.positional && !state.positional_done) {
      return AppendPositionalNode(name, child, value.AsArray(), state, out);
    }
    return AppendArray(name, child, value.AsArray(), state, out);
  }
  if (value.is_document() || child.computes) {
    out->BeginDocument(name);
    bson::View fields = value.is_document() ? value.AsDocument() : bson::View();
    RETURN_IF_ERROR(ApplyNode(*child.node, fields, state, out));
    out->End();
  } else if (KeepsRest(state)) {
    out->Append(name, value);
  }
  return Status::Ok();
}

Status AppendIncluded(const Child& child, const bson::Element& element, ApplyState& state,
                      bson::Builder* out) {
  if (child.positional && !state.positional_done && element.type() == bson::Type::kArray) {
    ASSIGN_OR_RETURN(Value picked, PositionalElement(element.value().AsArray(), state));
    out->BeginArray(child.name).Push(picked).End();
    return Status::Ok();
  }
  out->Append(element);
  return Status::Ok();
}

Status AppendComputed(const Child& child, ApplyState& state, bson::Builder* out) {
  return child.kind == Kind::kElemMatch ? AppendElemMatch(child, state, out)
                                        : AppendExpression(child, state, out);
}

// A field that is in the document; `*done` when nothing is left to do for it afterwards.
Status AppendExisting(const Child& child, const bson::Element& element, ApplyState& state,
                      bson::Builder* out, bool* done) {
  *done = true;
  switch (child.kind) {
    case Kind::kInclude:
      return AppendIncluded(child, element, state, out);
    case Kind::kExclude:
      return Status::Ok();
    case Kind::kSlice:
      AppendSlice(child.name, child.slice, element.value(), out);
      return Status::Ok();
    case Kind::kNode:
      return AppendNode(child.name, child, element.value(), state, out);
    default:
      if (!KeepsRest(state)) {
        *done = false;  // computed fields of an inclusion follow the others
        return Status::Ok();
      }
      return AppendComputed(child, state, out);
  }
}

bool Computed(const Child& child) {
  return child.kind == Kind::kExpression || child.kind == Kind::kElemMatch;
}

}  // namespace

Status ApplyNode(const TreeNode& node, bson::View document, ApplyState& state, bson::Builder* out) {
  std::vector<bool> done(node.computes() ? node.children().size() : 0);
  for (const bson::Element& element : document) {
    size_t position = 0;
    const Child* child = node.Find(element.name(), &position);
    if (child == nullptr) {
      if (KeepsRest(state)) {
        out->Append(element);
      }
      continue;
    }
    bool finished = false;
    RETURN_IF_ERROR(AppendExisting(*child, element, state, out, &finished));
    if (finished && !done.empty()) {
      done[position] = true;
    }
  }
  for (size_t i = 0; i < done.size(); ++i) {
    const Child& child = node.children()[i];
    if (done[i] || !child.computes) {
      continue;
    }
    RETURN_IF_ERROR(Computed(child) ? AppendComputed(child, state, out)
                                    : AppendNode(child.name, child, Value(), state, out));
  }
  return Status::Ok();
}

// ------------------------------------------------------------------ Projection
namespace {

class TreeProjection final : public Projection {
 public:
  TreeProjection(Tree tree, const Context* context, const match::Filter* filter)
      : tree_(std::move(tree)), context_(context), filter_(filter) {}

  Status Apply(bson::View document, const Metadata* metadata, std::string* out) const override {
    ApplyState state;
    state.mode = tree_.mode;
    state.root = document;
    Arena arena;
    agg::EvalContext eval;
    if (tree_.computes) {
      eval.context = context_;
      eval.root = Value(document);
      eval.metadata = metadata;
      eval.arena = &arena;
      state.eval = &eval;
    }
    match::Details details;
    if (tree_.positional && filter_ != nullptr) {
      ASSIGN_OR_RETURN(bool matches, filter_->Matches(document, metadata, &details));
      state.array_index = matches ? details.array_index : std::string_view();
    }
    bson::Builder builder(out);
    RETURN_IF_ERROR(ApplyNode(tree_.root, document, state, &builder));
    builder.Close();
    return Status::Ok();
  }

  bool AddDependencies(std::set<std::string>* fields) const override {
    if (tree_.mode != Mode::kInclusion || tree_.positional) {
      return false;
    }
    for (const Child& child : tree_.root.children()) {
      if (child.kind != Kind::kExpression && child.kind != Kind::kExclude) {
        fields->insert(child.name);
      }
    }
    return AddComputedDependencies(tree_.root, fields);
  }

  bool is_exclusion() const override { return tree_.mode == Mode::kExclusion; }

  bool PlainInclusion(std::set<std::string>* paths) const override {
    return tree_.mode == Mode::kInclusion && !tree_.positional &&
           AddPlainPaths(tree_.root, "", paths);
  }

 private:
  static bool AddComputedDependencies(const TreeNode& node, std::set<std::string>* fields) {
    return std::all_of(node.children().begin(), node.children().end(), [&](const Child& child) {
      if (child.kind == Kind::kExpression) {
        return child.expression->AddDependencies(fields);
      }
      return child.kind != Kind::kNode || AddComputedDependencies(*child.node, fields);
    });
  }

  static bool AddPlainPaths(const TreeNode& node, const std::string& prefix,
                            std::set<std::string>* paths) {
    for (const Child& child : node.children()) {
      if (child.kind == Kind::kExclude && child.name == "_id" && prefix.empty()) {
        continue;
      }
      if (child.kind == Kind::kInclude) {
        paths->insert(prefix + child.name);
      } else if (child.kind != Kind::kNode ||
                 !AddPlainPaths(*child.node, prefix + child.name + ".", paths)) {
        return false;
      }
    }
    return true;
  }

  Tree tree_;
  const Context* context_;
  const match::Filter* filter_;
};

}  // namespace

std::unique_ptr<Projection> MakeProjection(Tree tree, const Context* context,
                                           const match::Filter* filter) {
  tree.computes = tree.root.computes();
  return std::make_unique<TreeProjection>(std::move(tree), context, filter);
}

}  // namespace quire::expr::projection
