// SPDX-License-Identifier: Apache-2.0
//
// Updates made of operators: {$set: {...}, $inc: {...}}.
#include <algorithm>

#include "base/current_op.h"
#include "base/error_codes.h"
#include "base/memory_charge.h"
#include "base/try.h"
#include "expr/update/apply_internal.h"
#include "expr/update/kinds_internal.h"

namespace quire::expr::update {

namespace {

class OperatorUpdate : public Update {
 public:
  OperatorUpdate(bson::View spec, const Context* context) : spec_(spec), context_(context) {}

  Status Parse(const ParseOptions& options);
  bool is_replacement() const override { return false; }
  Result<Outcome> Apply(bson::View document, std::string_view array_index, bool inserting,
                        std::string* out) const override;

 private:
  Status ParseOperator(const bson::Element& element);
  Status ParseRename(const bson::Element& field);
  Status AddRenameEnd(std::string_view path, Node::RenameEnd end);
  Status Add(std::string_view path, NodePtr leaf) {
    constexpr size_t kBytesOfNode = 200;  // and of its name: a path has a node for every component
    RETURN_IF_ERROR(CheckNames(path));
    nodes_ += 1 + static_cast<size_t>(std::count(path.begin(), path.end(), '.'));
    charge_.Set(nodes_ * kBytesOfNode);
    return AddLeaf(&changes_.root, path, std::move(leaf), &changes_.filters);
  }

  bson::Document spec_;
  const Context* context_;
  Changes changes_;
  size_t nodes_ = 0;  // of the tree, at most
  MemoryCharge charge_;
};

Status OperatorUpdate::Parse(const ParseOptions& options) {
  ASSIGN_OR_RETURN(changes_.filters, ArrayFilters::Parse(options.array_filters, context_));
  for (const bson::Element& element : spec_.view()) {
    RETURN_IF_ERROR(ParseOperator(element));
  }
  if (const ArrayFilter* unused = changes_.filters.FirstUnused()) {
    return Status(kFailedToParse, "The array filter for identifier '" + unused->identifier +
                                      "' was not used in the update " + bson::ToJson(spec_.view()));
  }
  return Status::Ok();
}

Status OperatorUpdate::ParseOperator(const bson::Element& element) {
  const ModifierRow* row = FindModifier(element.name());
  bool rename = element.name() == "$rename";
  if (!row && !rename) {
    return Status(kFailedToParse, "Unknown modifier: " + std::string(element.name()) +
                                      ". Expected a valid update modifier or pipeline-style "
                                      "update specified as an array");
  }
  if (element.type() != bson::Type::kDocument) {
    std::string name(element.name());
    return Status(kFailedToParse, "Modifiers operate on fields but we found type " +
                                      std::string(bson::TypeName(element.type())) +
                                      " instead. For example: {$mod: {<field>: ...}} not {" + name +
                                      ": " + bson::ToJson(element.value()) + "}");
  }
  for (const bson::Element& field : element.value().AsDocument()) {
    RETURN_IF_ERROR(CheckCurrentOp());
    if (rename) {
      RETURN_IF_ERROR(ParseRename(field));
      continue;
    }
    auto leaf = std::make_shared<Node>();
    leaf->kind = Node::Kind::kLeaf;
    leaf->row = row;
    ASSIGN_OR_RETURN(leaf->modifier, row->parse(field, context_));
    RETURN_IF_ERROR(Add(field.name(), std::move(leaf)));
  }
  return Status::Ok();
}

bool IsDynamic(std::string_view path) {
  for (std::string_view component : SplitPath(path)) {
    std::string_view identifier;
    if (component == "$" || IsFilterComponent(component, &identifier)) {
      return true;
    }
  }
  return false;
}

bool IsPrefix(std::string_view a, std::string_view b) {
  return b.size() > a.size() && b.substr(0, a.size()) == a && b[a.size()] == '.';
}

Status CheckNoNull(std::string_view path) {
  return path.find('\0') == std::string_view::npos
             ? Status::Ok()
             : Status(9867600, "The update path must not contain a null byte");
}

Status CheckRename(std::string_view from, std::string_view to, const std::string& shown) {
  RETURN_IF_ERROR(CheckNoNull(to));
  RETURN_IF_ERROR(CheckNames(to));
  if (from == to) {
    return Status(kBadValue, "The source and target field for $rename must differ: " + shown);
  }
  if (IsPrefix(from, to) || IsPrefix(to, from)) {
    return Status(kBadValue,
                  "The source and target field for $rename must not be on the same path: " + shown);
  }
  if (IsDynamic(from)) {
    return Status(kBadValue,
                  "The source field for $rename may not be dynamic: " + std::string(from));
  }
  if (IsDynamic(to)) {
    return Status(kBadValue,
                  "The destination field for $rename may not be dynamic: " + std::string(to));
  }
  return Status::Ok();
}

Status OperatorUpdate::ParseRename(const bson::Element& field) {
  bson::Value target = field.value();
  std::string shown = std::string(field.name()) + ": " + bson::ToJson(target);
  // What the source is in conflict with comes before what is wrong with the rename itself.
  changes_.renames.push_back({std::string(field.name()), ""});
  RETURN_IF_ERROR(CheckNoNull(field.name()));
  RETURN_IF_ERROR(AddRenameEnd(field.name(), Node::RenameEnd::kSource));
  if (!target.is_string()) {
    return Status(kBadValue, "The 'to' field for $rename must be a string: " + shown);
  }
  RETURN_IF_ERROR(CheckRename(field.name(), target.AsString(), shown));
  changes_.renames.back().to = target.AsString();
  return AddRenameEnd(target.AsString(), Node::RenameEnd::kTarget);
}

Status OperatorUpdate::AddRenameEnd(std::string_view path, Node::RenameEnd end) {
  auto leaf = std::make_shared<Node>();
  leaf->kind = Node::Kind::kLeaf;
  leaf->rename_end = end;
  leaf->rename = changes_.renames.size() - 1;
  return Add(path, std::move(leaf));
}

Result<Outcome> OperatorUpdate::Apply(bson::View document, std::string_view array_index,
                                      bool inserting, std::string* out) const {
  size_t start = out->size();
  Applier applier(changes_, context_, document, array_index, inserting);
  Result<bool> modified = applier.Run(out);
  Outcome outcome;
  if (!modified.ok() || !*modified) {
    out->resize(start);
    return modified.ok() ? Result<Outcome>(std::move(outcome)) : modified.status();
  }
  if (inserting) {
    MoveIdFirst(out, start);
  }
  outcome.modified = true;
  outcome.touched = std::move(applier.touched());
  return outcome;
}

}  // namespace

Result<std::unique_ptr<Update>> ParseOperators(bson::View spec, const ParseOptions& options,
                                               const Context* context) {
  auto made = std::make_unique<OperatorUpdate>(spec, context);
  RETURN_IF_ERROR(made->Parse(options));
  return std::unique_ptr<Update>(std::move(made));
}

}  // namespace quire::expr::update
