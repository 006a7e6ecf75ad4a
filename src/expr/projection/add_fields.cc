// SPDX-License-Identifier: Apache-2.0
#include "expr/projection/add_fields.h"

#include <algorithm>
#include <unordered_map>

#include "base/error_codes.h"
#include "base/keyed_hash.h"
#include "base/try.h"
#include "expr/row_size.h"

namespace quire::expr {

namespace {

constexpr int kMaxPathDepth = 200;

void Header(bson::Type type, std::string_view name, std::string* out) {
  out->push_back(static_cast<char>(type));
  out->append(name);
  out->push_back('\0');
}

size_t Open(std::string* out) {
  out->append(4, '\0');
  return out->size() - 4;
}

void Close(std::string* out, size_t start) {
  out->push_back('\0');
  auto size = static_cast<uint32_t>(out->size() - start);
  memcpy(out->data() + start, &size, sizeof size);
}

bool IsExpressionObject(const bson::Value& value) {
  bson::View fields = value.AsDocument();
  return fields.empty() || (!fields.front().name().empty() && fields.front().name()[0] == '$');
}

}  // namespace

Status CheckFieldPath(std::string_view path) {
  if (path.empty()) {
    return Status(40352, "FieldPath cannot be constructed with empty string");
  }
  if (path.back() == '.') {
    return Status(40353, "FieldPath must not end with a '.'.");
  }
  int depth = 0;
  for (size_t at = 0; at <= path.size();) {
    size_t dot = std::min(path.find('.', at), path.size());
    std::string_view part = path.substr(at, dot - at);
    if (part.empty()) {
      return Status(15998, "FieldPath field names may not be empty strings.");
    }
    bool reference = part == "$id" || part == "$ref" || part == "$db";
    if (part[0] == '$' && !reference) {
      return Status(16410,
                    "FieldPath field names may not start with '$'. Consider using "
                    "$getField or $setField.");
    }
    if (part.find('\0') != std::string_view::npos) {
      return Status(16411, "FieldPath field names may not contain '\\0'.");
    }
    if (++depth > kMaxPathDepth) {
      return Status(kOverflow, "FieldPath is too long");
    }
    at = dot + 1;
  }
  return Status::Ok();
}

struct AddFields::Node {
  std::string name;
  std::unique_ptr<agg::Expression> expression;  // null: a document with children
  std::vector<std::unique_ptr<Node>> children;
  std::unordered_map<std::string_view, size_t, KeyedStringHash> index;  // only when there are many

  // The child's place; that behind the last when there is none.
  size_t PlaceOf(std::string_view child) const {
    if (!index.empty()) {
      auto it = index.find(child);
      return it == index.end() ? children.size() : it->second;
    }
    size_t at = 0;
    while (at < children.size() && children[at]->name != child) {
      ++at;
    }
    return at;
  }
  Node* Find(std::string_view child) const {
    const size_t at = PlaceOf(child);
    return at == children.size() ? nullptr : children[at].get();
  }
  Node* Add(std::string_view child) {
    constexpr size_t kMany = 16;
    children.push_back(std::make_unique<Node>());
    children.back()->name = child;
    for (size_t at = index.size(); children.size() > kMany && at < children.size(); ++at) {
      index.emplace(children[at]->name, at);
    }
    return children.back().get();
  }
};

AddFields::AddFields() : root_(std::make_unique<Node>()) {}
AddFields::~AddFields() = default;

Result<std::unique_ptr<AddFields>> AddFields::Parse(bson::View spec, const Context* context,
                                                    bool defer_errors) {
  std::unique_ptr<AddFields> made(new AddFields);
  made->spec_ = bson::Document(spec);
  agg::ParseScope scope;
  scope.context = context;
  scope.defer_errors = defer_errors ? 1 : 0;
  for (const bson::Element& field : made->spec_.view()) {
    RETURN_IF_ERROR(CheckFieldPath(field.name()));
    RETURN_IF_ERROR(made->ParseField(field, false, made->root_.get(), &scope, 0));
  }
  return made;
}

Status AddFields::ParseField(const bson::Element& field, bool nested, Node* at,
                             agg::ParseScope* scope, int depth) {
  std::string_view path = field.name();
  if (nested && path.find('.') != std::string_view::npos) {
    return Status(
        40183, "FieldPath field names may not contain '.' in a sub-document: " + std::string(path));
  }
  if (depth > kMaxPathDepth) {
    return Status(kOverflow, "FieldPath is too long");
  }
  bson::Value value = field.value();
  bool leaf = !value.is_document() || IsExpressionObject(value);
  for (;;) {
    size_t dot = path.find('.');
    std::string_view name = path.substr(0, dot);
    bool last = dot == std::string_view::npos;
    Node* child = at->Find(name);
    if (child && (child->expression || (last && leaf))) {
      return Status(40176, "specification contains two conflicting paths. Cannot specify both '" +
                               std::string(field.name()) + "' and '" + child->name + "'");
    }
    at = child ? child : at->Add(name);
    if (last) {
      break;
    }
    path.remove_prefix(dot + 1);
  }
  if (!leaf) {
    return ParseInto(value.AsDocument(), at, scope, depth + 1);
  }
  if (value.is_document() && value.AsDocument().Count() > 1) {
    return Status(40181,
                  "an expression specification must contain exactly one field, the name of "
                  "the expression, at '" +
                      std::string(field.name()) + "'");
  }
  ASSIGN_OR_RETURN(at->expression, agg::ParseExpression(value, *scope));
  return Status::Ok();
}

Status AddFields::ParseInto(bson::View spec, Node* at, agg::ParseScope* scope, int depth) {
  for (const bson::Element& field : spec) {
    if (!field.name().empty() && field.name()[0] == '$') {
      return Status(
          40182, "cannot mix operators and field names in the sub-document at '" + at->name + "'");
    }
    if (field.name().find('.') == std::string_view::npos) {
      RETURN_IF_ERROR(CheckFieldPath(field.name()));
    }
    RETURN_IF_ERROR(ParseField(field, true, at, scope, depth));
  }
  return Status::Ok();
}

Status AddFields::Apply(agg::EvalContext& eval, std::string* out) const {
  return WriteObject(*root_, eval.root.AsDocument(), eval, out);
}

Status AddFields::WriteObject(const Node& node, bson::View object, agg::EvalContext& eval,
                              std::string* out) {
  size_t start = Open(out);
  std::vector<bool> done(node.children.size());
  const char* copied = object.data() + 4;
  for (const bson::Element& element : object) {
    const size_t at = node.PlaceOf(element.name());
    if (at == node.children.size() || done[at]) {
      continue;
    }
    done[at] = true;
    std::string_view raw = element.raw();
    out->append(copied, raw.data());
    copied = raw.data() + raw.size();
    RETURN_IF_ERROR(WriteValue(*node.children[at], element.name(), element.value(), eval, out));
  }
  out->append(copied, object.data() + object.size() - 1);
  for (size_t at = 0; at < done.size(); ++at) {
    if (!done[at]) {
      const Node& child = *node.children[at];
      RETURN_IF_ERROR(WriteValue(child, child.name, bson::Value(), eval, out));
    }
  }
  Close(out, start);
  return Status::Ok();
}

Status AddFields::WriteValue(const Node& node, std::string_view name, const bson::Value& old,
                             agg::EvalContext& eval, std::string* out) {
  if (node.expression) {
    ASSIGN_OR_RETURN(bson::Value value, node.expression->Evaluate(eval));
    if (!value.missing()) {
      Header(value.type(), name, out);
      value.AppendTo(out);
    }
    return CheckRowSize(out->size());
  }
  if (!old.is_array()) {
    Header(bson::Type::kDocument, name, out);
    return WriteObject(node, old.is_document() ? old.AsDocument() : bson::View(), eval, out);
  }
  Header(bson::Type::kArray, name, out);
  size_t start = Open(out);
  for (const bson::Element& element : old.AsArray()) {
    RETURN_IF_ERROR(WriteValue(node, element.name(), element.value(), eval, out));
  }
  Close(out, start);
  return Status::Ok();
}

bool AddFields::AddDependencies(std::set<std::string>* fields) const {
  std::vector<const Node*> stack = {root_.get()};
  while (!stack.empty()) {
    const Node* node = stack.back();
    stack.pop_back();
    if (node->expression && !node->expression->AddDependencies(fields)) {
      return false;
    }
    for (const auto& child : node->children) {
      stack.push_back(child.get());
    }
  }
  return true;
}

std::vector<std::string_view> AddFields::Written() const {
  std::vector<std::string_view> names;
  for (const auto& child : root_->children) {
    names.push_back(child->name);
  }
  return names;
}

void AddFields::Serialize(std::string_view name, bson::Builder* out) const {
  struct Writer {
    static void Write(const Node& node, bson::Builder* to) {
      for (const auto& child : node.children) {
        if (child->expression) {
          child->expression->Serialize(child->name, to);
        } else {
          to->BeginDocument(child->name);
          Write(*child, to);
          to->End();
        }
      }
    }
  };
  out->BeginDocument(name);
  Writer::Write(*root_, out);
  out->End();
}

}  // namespace quire::expr
