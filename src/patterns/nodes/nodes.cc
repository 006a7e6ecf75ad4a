// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/nodes.h"

#include <utility>

#include "base/try.h"
#include "patterns/doc.h"
#include "patterns/walk.h"

namespace quire::patterns {

namespace {

using bson::Document;

constexpr char kNodes[] = "nodes";

bool SameType(bson::Type given, bson::Type wanted) {
  auto whole = [](bson::Type type) {
    return type == bson::Type::kInt32 || type == bson::Type::kInt64;
  };
  return given == wanted || (whole(given) && whole(wanted));
}

Status CheckField(bson::View node, const std::string& name, bson::Type type) {
  bson::Value value = node[name];
  if (value.missing()) {
    return MakeError(Error::kMissingField, name);
  }
  if (!SameType(value.type(), type)) {
    return MakeError(Error::kWrongType, name + " is " + std::string(bson::TypeName(value.type())) +
                                            ", not " + std::string(bson::TypeName(type)));
  }
  return Status::Ok();
}

Status CheckRequired(bson::View node, const NodeType& type) {
  for (const char* common : {"url", "title"}) {
    RETURN_IF_ERROR(CheckField(node, common, bson::Type::kString));
  }
  for (const auto& [name, wanted] : type.required) {
    RETURN_IF_ERROR(CheckField(node, name, wanted));
  }
  return type.validate ? type.validate(node) : Status::Ok();
}

Document WithDefaults(const Document& node, const NodeType& type) {
  bson::Builder out;
  out.AppendFields(node);
  for (const bson::Element& field : type.defaults.view()) {
    if (!node.view().Has(field.name())) {
      out.Append(field);
    }
  }
  return out.Finish();
}

}  // namespace

Nodes::Nodes(const Client& client, std::string_view database, const Seams& seams)
    : store_(client, database, seams), calls_(store_, "nodes") {}

const std::vector<IndexSpec>& Nodes::Indexes() {
  static const std::vector<IndexSpec> kIndexes = {
      {kNodes, R"({"url": 1})", true}, {kNodes, R"({"type": 1, "_id": 1})"}, Idempotency::Index()};
  return kIndexes;
}

const std::vector<ShardKeySpec>& Nodes::ShardKeys() {
  static const std::vector<ShardKeySpec> kKeys = {{kNodes, R"({"url": 1})"},
                                                  Idempotency::ShardKey()};
  return kKeys;
}

void Nodes::Register(std::string_view type, NodeType definition) {
  types_.insert_or_assign(std::string(type), std::move(definition));
}

Result<const NodeType*> Nodes::TypeOf(bson::View node) const {
  auto found = types_.find(TextAt(node, "type"));
  if (found == types_.end()) {
    return MakeError(Error::kUnknownType, bson::ToJson(node["type"]));
  }
  return &found->second;
}

Result<bson::OwnedValue> Nodes::Insert(const Document& node, const CallKey& key) const {
  ASSIGN_OR_RETURN(const NodeType* type, TypeOf(node));
  RETURN_IF_ERROR(CheckRequired(node, *type));
  ASSIGN_OR_RETURN(Document made, calls_.Once("nodes.insert", key, node, [&](const Claim& claim) {
    return InsertChecked(node, *type, claim);
  }));
  return bson::OwnedValue(made["_id"]);
}

Result<Document> Nodes::InsertChecked(const Document& node, const NodeType& type,
                                      const Claim& claim) const {
  bson::Builder out;
  const bson::OwnedValue id(node.view().Has("_id") ? node["_id"] : bson::Value(claim.id));
  out.Append("_id", id.value());
  for (const bson::Element& field : node.view()) {
    if (field.name() != "_id" && field.name() != "schema_version") {
      out.Append(field);
    }
  }
  const Document stored = out.Append("schema_version", type.schema_version).Finish();
  RETURN_IF_ERROR(InsertOnce(store_, kNodes, stored, claim));
  RETURN_IF_ERROR(store_.seams().After("nodes.insert.c1"));
  return Doc("_id", id);
}

Result<std::vector<Document>> Nodes::Find(const Document& filter, FindOptions options) const {
  ASSIGN_OR_RETURN(auto found, store_.Find(kNodes, filter, std::move(options)));
  for (Document& node : found) {
    if (auto type = TypeOf(node); type.ok()) {
      node = WithDefaults(node, **type);
    }
  }
  return found;
}

Result<Document> Nodes::Load(const bson::Value& id) const {
  ASSIGN_OR_RETURN(auto found, store_.FindOne(kNodes, Doc("_id", id)));
  if (!found) {
    return MakeError(Error::kNotFound, bson::ToJson(id));
  }
  ASSIGN_OR_RETURN(const NodeType* type, TypeOf(*found));
  return WithDefaults(*found, *type);
}

Result<std::vector<std::string>> Nodes::CheckInvariants() const {
  std::vector<std::string> wrong;
  auto check = [&](const Document& node) {
    auto type = TypeOf(node);
    Status status = type.status();
    if (status.ok() && IntegerAt(node, "schema_version") == (*type)->schema_version) {
      status = CheckRequired(node, **type);
    }
    if (!status.ok()) {
      wrong.push_back(bson::ToJson(node["_id"]) + ": " + status.message());
    }
    return Status::Ok();
  };
  RETURN_IF_ERROR(Walk(store_, kNodes, check));
  return wrong;
}

}  // namespace quire::patterns
