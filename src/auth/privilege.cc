// SPDX-License-Identifier: Apache-2.0
#include "auth/privilege.h"

#include <algorithm>
#include <iterator>

#include "base/error_codes.h"
#include "base/try.h"

namespace quire::auth {
namespace {

// Of all databases but these a privilege on "every database" speaks.
bool IsOfTheServer(std::string_view database) {
  return database == "local" || database == "config";
}

// System collections have to be named: no privilege on whole databases covers them.
bool IsSystem(const Resource& asked) {
  return asked.collection.starts_with("system.") ||
         (asked.database == "local" && asked.collection.starts_with("replset."));
}

bool Covers(const Resource& pattern, const Resource& asked) {
  if (pattern.kind == Resource::Kind::kAny) {
    return true;
  }
  if (pattern.kind != asked.kind) {
    return false;
  }
  if (pattern.kind == Resource::Kind::kCluster) {
    return true;
  }
  if (!pattern.collection.empty()) {
    return pattern.collection == asked.collection &&
           (pattern.database.empty() || pattern.database == asked.database);
  }
  return !IsSystem(asked) && (pattern.database.empty() ? !IsOfTheServer(asked.database)
                                                       : pattern.database == asked.database);
}

Result<Resource> ParseResource(bson::View document) {
  bson::Value cluster = document["cluster"];
  bson::Value any = document["anyResource"];
  if (!cluster.missing() || !any.missing()) {
    bson::Value flag = cluster.missing() ? any : cluster;
    if (flag.type() != bson::Type::kBool || !flag.AsBool()) {
      return Status(kFailedToParse, "cluster and anyResource may only be true");
    }
    return cluster.missing() ? AnyResource() : Cluster();
  }
  bson::Value database = document["db"];
  bson::Value collection = document["collection"];
  if (!database.is_string() || !collection.is_string()) {
    return Status(kFailedToParse,
                  "resource must have set both 'db' and 'collection', 'cluster' or 'anyResource'");
  }
  return Collection(database.AsString(), collection.AsString());
}

}  // namespace

const Privilege* Privileges::Find(const Resource& resource) const {
  if (!index_.empty()) {
    auto found = index_.find(resource);
    return found == index_.end() ? nullptr : &all_[found->second];
  }
  auto found = std::find_if(all_.begin(), all_.end(), [&](const Privilege& privilege) {
    return privilege.resource == resource;
  });
  return found == all_.end() ? nullptr : &*found;
}

void Privileges::Add(const Resource& resource, const ActionSet& actions) {
  constexpr size_t kFew = 64;
  if (const Privilege* known = Find(resource)) {
    all_[static_cast<size_t>(known - all_.data())].actions |= actions;
    return;
  }
  all_.push_back({resource, actions});
  if (all_.size() > kFew) {
    for (size_t i = index_.size(); i < all_.size(); ++i) {
      index_.emplace(all_[i].resource, i);
    }
  }
}

template <typename Take>
bool Privileges::AnyCovering(const Resource& asked, Take take) const {
  if (index_.empty()) {
    return std::any_of(all_.begin(), all_.end(), [&](const Privilege& privilege) {
      return Covers(privilege.resource, asked) && take(privilege);
    });
  }
  // All resources that may cover it.
  const Resource candidates[] = {AnyResource(), asked, Collection("", asked.collection),
                                 Database(asked.database), Database("")};
  return std::any_of(std::begin(candidates), std::end(candidates), [&](const Resource& one) {
    auto found = index_.find(one);
    return found != index_.end() && Covers(one, asked) && take(all_[found->second]);
  });
}

void Privileges::Add(const Privileges& other) {
  for (const Privilege& privilege : other.all_) {
    Add(privilege.resource, privilege.actions);
  }
}

bool Privileges::Allow(Action action, const Resource& asked) const {
  return AnyCovering(asked, [&](const Privilege& privilege) {
    return privilege.actions.test(static_cast<size_t>(action)) ||
           privilege.actions.test(static_cast<size_t>(Action::anyAction));
  });
}

bool Privileges::AllowAnythingIn(std::string_view database) const {
  for (const Privilege& privilege : all_) {
    const Resource& resource = privilege.resource;
    if (resource.kind == Resource::Kind::kAny) {
      return true;
    }
    if (resource.kind == Resource::Kind::kNamespace &&
        (resource.database.empty() ? !resource.collection.empty() || !IsOfTheServer(database)
                                   : resource.database == database)) {
      return true;
    }
  }
  return false;
}

bool Privileges::AllowAnythingOn(const Resource& asked) const {
  return AnyCovering(asked, [](const Privilege&) { return true; });
}

Result<Privilege> ParsePrivilege(bson::View document) {
  bson::Value resource = document["resource"];
  bson::Value actions = document["actions"];
  if (!resource.is_document() || !actions.is_array()) {
    return Status(kFailedToParse, "a privilege needs a resource document and an array of actions");
  }
  Privilege out;
  ASSIGN_OR_RETURN(out.resource, ParseResource(resource.AsDocument()));
  for (const bson::Element& e : actions.AsArray()) {
    std::optional<Action> action =
        e.type() == bson::Type::kString ? FindAction(e.value().AsString()) : std::nullopt;
    if (!action) {
      return Status(kBadValue,
                    "Unrecognized action privilege strings: " +
                        (e.type() == bson::Type::kString ? std::string(e.value().AsString())
                                                         : std::string(bson::TypeName(e.type()))));
    }
    out.actions.set(static_cast<size_t>(*action));
  }
  if (out.actions.none()) {
    return Status(kFailedToParse, "a privilege needs at least one action");
  }
  return out;
}

void AppendPrivilege(const Privilege& privilege, bson::Builder* array) {
  array->PushDocument().BeginDocument("resource");
  switch (privilege.resource.kind) {
    case Resource::Kind::kCluster:
      array->Append("cluster", true);
      break;
    case Resource::Kind::kAny:
      array->Append("anyResource", true);
      break;
    case Resource::Kind::kNamespace:
      array->Append("db", privilege.resource.database)
          .Append("collection", privilege.resource.collection);
  }
  array->End().BeginArray("actions");
  for (size_t i = 0; i < kActionCount; ++i) {
    if (privilege.actions.test(i)) {
      array->Push(ActionName(static_cast<Action>(i)));
    }
  }
  array->End().End();
}

}  // namespace quire::auth
