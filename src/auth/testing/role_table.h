// SPDX-License-Identifier: Apache-2.0
//
// tests/privileges/roles.txt: the built-in roles as MongoDB's manual has them, read by rules of its
// own. What Quire answers is compared with it.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace quire::auth {

// What is asked for: "cluster", "db.collection", or "db." for a whole database; "." for all
// databases, "everything" for whatever there is.
class RoleTable {
 public:
  struct Line {
    std::string resource;  // as in the file
    std::set<std::string> actions;
  };
  struct Role {
    bool everywhere = false;  // not only on admin
    std::vector<std::string> inherits;
    std::vector<Line> lines;
  };

  // Reads tests/privileges/roles.txt.
  explicit RoleTable(const char* path) {
    std::ifstream file(path);
    EXPECT_TRUE(file.is_open()) << path;
    Role* role = nullptr;
    std::string text;
    while (std::getline(file, text)) {
      std::istringstream words(text);
      std::string first;
      if (!(words >> first) || first[0] == '#') {
        continue;
      }
      std::vector<std::string> rest;
      for (std::string word; words >> word;) {
        rest.push_back(word);
      }
      if (text[0] != ' ') {
        role = &roles_[first];
        role->everywhere = rest.at(0) == "any";
        role->inherits.assign(rest.begin() + 1, rest.end());
      } else if (first == "+") {
        role->lines.back().actions.insert(rest.begin(), rest.end());
      } else {
        role->lines.push_back({first, {rest.begin(), rest.end()}});
      }
    }
  }

  const std::map<std::string, Role>& roles() const { return roles_; }

  // Whether the role of `database` gives the action.
  bool Gives(const std::string& role, std::string_view database, const std::string& action,
             std::string_view asked) const {
    const Role& row = roles_.at(role);
    for (const Line& line : row.lines) {
      if ((line.actions.contains(action) || line.actions.contains("anyAction")) &&
          Covers(line.resource, database, asked)) {
        return true;
      }
    }
    for (const std::string& other : row.inherits) {
      if (Gives(other, database, action, asked)) {
        return true;
      }
    }
    return false;
  }
  // Whether the role gives anything in the database `asked`.
  bool GivesAnything(const std::string& role, std::string_view database,
                     std::string_view asked) const {
    const Role& row = roles_.at(role);
    for (const Line& line : row.lines) {
      std::string of = line.resource.substr(0, line.resource.find('.'));
      bool server = asked == "local" || asked == "config";
      if (line.resource == "everything" || of == asked || (of == "<db>" && database == asked) ||
          (of == "*" && (!server || line.resource != "*.*"))) {
        return true;
      }
    }
    for (const std::string& other : row.inherits) {
      if (GivesAnything(other, database, asked)) {
        return true;
      }
    }
    return false;
  }

 private:
  static bool Covers(std::string_view resource, std::string_view database, std::string_view asked) {
    if (resource == "everything" || resource == "cluster") {
      return resource == "everything" || asked == "cluster";
    }
    if (asked == "everything" || asked == "cluster") {
      return false;
    }
    std::string_view of = resource.substr(0, resource.find('.'));
    std::string_view name = resource.substr(resource.find('.') + 1);
    std::string_view asked_of = asked.substr(0, asked.find('.'));
    std::string_view asked_name = asked.substr(asked.find('.') + 1);
    if (of == "<db>") {
      of = database;
    }
    if (name != "*") {
      return name == asked_name && (of == "*" || of == asked_of);
    }
    if (asked_name.starts_with("system.")) {
      return false;
    }
    return of == "*" ? asked_of != "local" && asked_of != "config" : of == asked_of;
  }

  std::map<std::string, Role> roles_;
};

}  // namespace quire::auth
