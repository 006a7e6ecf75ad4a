// SPDX-License-Identifier: Apache-2.0
//
// What a request is going to do, stated by the parsed request itself before anything of it runs.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "auth/privilege.h"

namespace quire::auth {

// One action on one resource.
struct Need {
  Action action;
  Resource resource;
};

// Everything a request of one user needs. Empty: a login is enough.
class Needs {
 public:
  Needs() = default;
  Needs(std::string user, std::string database)
      : user_(std::move(user)), database_(std::move(database)) {}

  // Whether that is who asks: much is allowed on what is one's own.
  bool IsCaller(std::string_view user, std::string_view database) const {
    return user == user_ && database == database_;
  }
  void Add(Action action, Resource resource) { all_.push_back({{{action, std::move(resource)}}}); }
  // All of one of the ways.
  void AddEither(std::vector<std::vector<Need>> ways) { all_.push_back(std::move(ways)); }
  // Nothing that can be granted: the server itself does it.
  void AddImpossible() { all_.emplace_back(); }

  bool MetBy(const Privileges& privileges) const;
  bool empty() const { return all_.empty(); }

 private:
  using Ways = std::vector<std::vector<Need>>;
  std::string user_;
  std::string database_;
  std::vector<Ways> all_;
};

// The collection of a full name "db.collection"; the whole database when it has no dot.
Resource OfNamespace(std::string_view ns);

}  // namespace quire::auth
