// SPDX-License-Identifier: Apache-2.0
//
// Privileges: which actions on which resources. No storage: roles are given as documents.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "auth/action.h"
#include "base/keyed_hash.h"
#include "quire/bson.h"
#include "quire/status.h"

namespace quire::auth {

// What a privilege is about.
struct Resource {
  enum class Kind : unsigned char { kNamespace, kCluster, kAny };
  Kind kind = Kind::kNamespace;
  // "" in a privilege: every database, without a collection but local and config. Asked for with ""
  // twice: all of them.
  std::string database;
  // "" in a privilege: every collection that is not a system one.
  std::string collection;

  bool operator==(const Resource&) const = default;
};

struct ResourceHash {
  size_t operator()(const Resource& resource) const {
    return quire::KeyedHash(
        resource.collection,
        quire::KeyedHash(resource.database, static_cast<uint64_t>(resource.kind)));
  }
};

inline Resource Cluster() { return {Resource::Kind::kCluster, "", ""}; }
inline Resource AnyResource() { return {Resource::Kind::kAny, "", ""}; }
inline Resource Database(std::string_view database) {
  return {Resource::Kind::kNamespace, std::string(database), ""};
}
inline Resource Collection(std::string_view database, std::string_view collection) {
  return {Resource::Kind::kNamespace, std::string(database), std::string(collection)};
}

struct Privilege {
  Resource resource;
  ActionSet actions;
};

// Everything somebody may do. Immutable once built.
class Privileges {
 public:
  void Add(const Resource& resource, const ActionSet& actions);
  void Add(const Privileges& other);

  // Whether `action` is allowed on what is asked for: a namespace, a whole database (collection
  // "") or the cluster.
  bool Allow(Action action, const Resource& asked) const;
  // Whether anything at all is allowed in the database.
  bool AllowAnythingIn(std::string_view database) const;
  // Whether anything at all is allowed on what is asked for.
  bool AllowAnythingOn(const Resource& asked) const;
  const std::vector<Privilege>& all() const { return all_; }
  // The one on that very resource; null when there is none.
  const Privilege* Find(const Resource& resource) const;

 private:
  // Calls `take` with the privileges that cover what is asked for until one is taken.
  template <typename Take>
  bool AnyCovering(const Resource& asked, Take take) const;

  std::vector<Privilege> all_;
  std::unordered_map<Resource, size_t, ResourceHash> index_;  // only when there are many
};

// {resource: {...}, actions: [...]}. Error: FailedToParse, BadValue.
Result<Privilege> ParsePrivilege(bson::View document);
void AppendPrivilege(const Privilege& privilege, bson::Builder* array);

struct RoleName {
  std::string role;
  std::string database;
  bool operator==(const RoleName&) const = default;
};

struct RoleNameHash {
  size_t operator()(const RoleName& name) const {
    return quire::KeyedHash(name.role, quire::KeyedHash(name.database));
  }
};
using RoleNameSet = std::unordered_set<RoleName, RoleNameHash>;

// Adds what MongoDB's role of that name allows; false when there is none.
bool AddBuiltInRole(const RoleName& name, Privileges* out);
bool IsBuiltInRole(const RoleName& name);
// The built-in roles of a database, in alphabetical order.
std::vector<std::string_view> BuiltInRoles(std::string_view database);

}  // namespace quire::auth
