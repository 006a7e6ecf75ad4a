// SPDX-License-Identifier: Apache-2.0
//
// Who may run what: the lines of tests/privileges/*.txt as a user of every built-in role of
// roles.txt, on every namespace, on a node or through a router. Allowed is any answer but
// Unauthorized.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "auth/testing/role_table.h"
#include "base/error_codes.h"
#include "command/own_documents.h"
#include "command/testing/guarded.h"

namespace quire::command {

struct PrivilegeCase {
  std::string place;     // file and line
  std::string heading;   // the command or the stage
  std::string database;  // "" for that of the namespace
  std::string body;
  std::string need;
};

struct Matrix {
  std::vector<std::string> namespaces;
  std::vector<PrivilegeCase> cases;
  std::set<std::string> headings;
};

inline std::string Trimmed(std::string text) {
  text.erase(0, text.find_first_not_of(' '));
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

// The file's lines without comments, continued ones joined.
inline std::vector<std::pair<int, std::string>> JoinedLines(const char* path) {
  std::ifstream file(path);
  EXPECT_TRUE(file.is_open()) << path;
  std::vector<std::pair<int, std::string>> out;
  std::string text;
  for (int line = 1; std::getline(file, text); ++line) {
    std::string bare = Trimmed(text);
    if (bare.empty() || bare[0] == '#') {
      continue;
    }
    if (bare[0] == '+') {
      out.back().second += " " + Trimmed(bare.substr(1));
    } else {
      out.emplace_back(line, text);
    }
  }
  return out;
}

inline PrivilegeCase ReadCase(std::string place, const std::string& heading, std::string text) {
  PrivilegeCase out{std::move(place), heading, "", "", ""};
  text = Trimmed(std::move(text));
  if (text[0] == '@') {
    out.database = text.substr(1, text.find(' ') - 1);
    text = text.substr(text.find(' '));
  }
  size_t arrow = text.rfind(" => ");
  EXPECT_NE(arrow, std::string::npos) << out.place;
  out.body = Trimmed(text.substr(0, arrow));
  out.need = Trimmed(text.substr(arrow + 4));
  return out;
}

inline Matrix ReadMatrix(const std::string& folder, const std::vector<std::string>& files) {
  Matrix out;
  for (const std::string& file : files) {
    std::string heading;
    for (auto& [line, text] : JoinedLines((folder + file).c_str())) {
      if (text[0] == ' ') {
        out.cases.push_back(ReadCase(file + ":" + std::to_string(line), heading, text));
      } else if (text.starts_with("namespaces ")) {
        std::istringstream words(text.substr(11));
        for (std::string word; words >> word;) {
          out.namespaces.push_back(word);
        }
      } else {
        heading = text;
        EXPECT_TRUE(out.headings.insert(heading).second) << heading << " twice";
      }
    }
  }
  return out;
}

inline bool IsNameCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '.';
}

// JSON of the file's shorthand: names without quotes, and what $c, $ns, $d and $me stand for.
inline std::string Expand(const std::string& body,
                          const std::map<std::string, std::string>& words) {
  std::string out;
  for (size_t i = 0; i < body.size();) {
    if (body[i] == '"') {
      size_t end = body.find('"', i + 1) + 1;
      out += body.substr(i, end - i);
      i = end;
      continue;
    }
    if (!IsNameCharacter(body[i]) || std::isdigit(static_cast<unsigned char>(body[i]))) {
      out += body[i++];
      continue;
    }
    size_t end = i;
    while (end < body.size() && IsNameCharacter(body[end])) {
      ++end;
    }
    std::string word = body.substr(i, end - i);
    size_t next = body.find_first_not_of(' ', end);
    if (next != std::string::npos && body[next] == ':') {
      out += '"' + word + '"';
    } else if (auto at = words.find(word); at != words.end()) {
      out += '"' + at->second + '"';
    } else {
      out += word;
    }
    i = end;
  }
  return out;
}

// Whether the file's text speaks of `word` as a whole.
inline bool Mentions(const std::string& text, const std::string& word) {
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    size_t end = at + word.size();
    if (end == text.size() ||
        !(std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_')) {
      return true;
    }
  }
  return false;
}

// Errors of a request that names what cannot be, whoever asks: it is refused before anybody looks
// at privileges.
inline bool CannotBe(int code) {
  constexpr int kOutToSystem = 17385;
  constexpr int kMergeToSystem = 31319;
  constexpr int kMergeToServer = 31320;
  constexpr int kOutToServer = 31321;
  return code == kInvalidNamespace || code == kOutToSystem || code == kMergeToSystem ||
         code == kMergeToServer || code == kOutToServer;
}

struct RoleUser {
  std::string name;
  std::string role;  // "" for none
  std::string database;
  bool logged_in = true;
};

// What a line needs, evaluated for a user by the table of roles.
class Need {
 public:
  Need(const auth::RoleTable& roles, const std::string& text, std::string ns, const RoleUser& user)
      : roles_(roles), ns_(std::move(ns)), database_(ns_.substr(0, ns_.find('.'))), user_(user) {
    std::string word;
    for (char c : text + " ") {
      if (c == ' ' || c == '(' || c == ')') {
        if (!word.empty()) words_.push_back(word);
        word.clear();
        if (c != ' ') words_.emplace_back(1, c);
      } else {
        word += c;
      }
    }
  }

  bool Met() {
    bool met = Or();
    EXPECT_EQ(at_, words_.size());
    return met;
  }

 private:
  std::string Next() { return at_ < words_.size() ? words_[at_++] : ""; }
  bool Take(std::string_view word) {
    bool here = at_ < words_.size() && words_[at_] == word;
    at_ += here ? 1 : 0;
    return here;
  }
  bool Or() {
    bool met = And();
    while (Take("or")) {
      met = And() || met;
    }
    return met;
  }
  bool And() {
    bool met = One();
    while (Take("and")) {
      met = One() && met;
    }
    return met;
  }
  bool One() {
    if (Take("not")) {
      return !One();
    }
    if (Take("(")) {
      bool met = Or();
      EXPECT_TRUE(Take(")"));
      return met;
    }
    std::string word = Next();
    if (word == "anyone") {
      return true;
    }
    if (word == "login") {
      return user_.logged_in;
    }
    if (word == "anything") {
      EXPECT_EQ(Next(), "in");
      std::string database = Next();
      return !user_.role.empty() && roles_.GivesAnything(user_.role, user_.database,
                                                         database == "$db" ? database_ : database);
    }
    if (word == "within") {
      return Next() == database_ && ns_.find(".system.") == std::string::npos;
    }
    EXPECT_EQ(Next(), "on") << word;
    return GivesAll(word, Next());
  }
  bool GivesAll(const std::string& actions, std::string resource) {
    if (resource == "$ns") {
      resource = ns_;
    } else if (resource.starts_with("$db.")) {
      resource = database_ + resource.substr(3);
    }
    if (user_.role.empty()) {
      return false;
    }
    std::istringstream list(actions);
    for (std::string action; std::getline(list, action, ',');) {
      EXPECT_TRUE(auth::FindAction(action).has_value()) << action;
      if (!roles_.Gives(user_.role, user_.database, action, resource)) {
        return false;
      }
    }
    return true;
  }

  const auth::RoleTable& roles_;
  std::string ns_;
  std::string database_;
  const RoleUser& user_;
  std::vector<std::string> words_;
  size_t at_ = 0;
};

// What the matrix is asked of.
class MatrixServer {
 public:
  virtual ~MatrixServer() = default;
  // What a client is answered.
  virtual bson::Document RunAs(request::Client& client, bson::View body,
                               std::string_view database) = 0;
  // As one who may do everything.
  virtual bson::Document Run(std::string_view json, std::string_view database) = 0;
  // Makes, or makes again, users of the database GuardedNode::kPeople.
  virtual void AddUsers(const std::vector<RoleUser>& users) = 0;
  virtual void LogIn(request::Client& client, std::string_view name) = 0;
  // Where the users are.
  virtual engine::Engine& users_engine() = 0;
};

inline std::vector<auth::RoleName> RolesOf(const RoleUser& user) {
  return user.role.empty() ? std::vector<auth::RoleName>()
                           : std::vector<auth::RoleName>{{user.role, user.database}};
}

class PrivilegeMatrix {
 public:
  // The files, and roles.txt, lie in `folder`, whose name ends with a slash.
  PrivilegeMatrix(MatrixServer* server, const std::string& folder,
                  const std::vector<std::string>& files)
      : roles_((folder + "roles.txt").c_str()),
        matrix_(ReadMatrix(folder, files)),
        server_(*server) {
    users_.push_back({"stranger", "", "", false});
    users_.push_back({"nothing", "", "", true});
    for (const auto& [role, row] : roles_.roles()) {
      users_.push_back({role + "@admin", role, "admin", true});
      if (row.everywhere) {
        users_.push_back({role + "@shop", role, "shop", true});
      }
    }
    server_.AddUsers(users_);
    for (const char* database : {"shop", "other", "admin", "config", "local"}) {
      MakeCollections(database);
    }
    server_.Run(R"({"insert": "system.js", "documents": [{"_id": "f", "value": 1}]})", "shop");
    server_.Run(R"({"create": "system.profile", "capped": true, "size": 4096})", "shop");
    people_ = People();
  }

  const std::set<std::string>& headings() const { return matrix_.headings; }

  // Asks every line whose heading is in `known`; the others are no commands there.
  void Check(const std::set<std::string>& known) {
    int asked = 0;
    for (const PrivilegeCase& test : matrix_.cases) {
      std::map<std::string, std::string> wrong;  // users by what is wrong
      for (const std::string& ns : NamespacesOf(test)) {
        for (const RoleUser& user : users_) {
          const std::string what = Judge(test, ns, user, known.contains(test.heading));
          ++asked;
          if (!what.empty()) {
            wrong[what] += " " + user.name + " on " + ns + ";";
          }
        }
      }
      for (const auto& [what, who] : wrong) {
        ADD_FAILURE() << test.place << ": "
                      << (test.database.empty() ? "" : "@" + test.database + " ") << test.body
                      << "\n  " << what << ":" << who.substr(0, 600);
      }
    }
    EXPECT_GT(asked, 1000);
  }

 private:
  void MakeCollections(std::string_view database) {
    server_.Run(R"({"insert": "orders", "documents": [{"_id": 1, "a": 1, "n": 1}]})", database);
    server_.Run(R"({"insert": "second", "documents": [{"_id": 1}]})", database);
    server_.Run(R"({"create": "view", "viewOn": "orders", "pipeline": []})", database);
    server_.Run(R"({"createUser": "known", "pwd": "pencil", "roles": []})", database);
    server_.Run(R"({"createRole": "watcher", "privileges": [], "roles": []})", database);
  }

  // What is wrong with the answer to a user; empty: nothing.
  std::string Judge(const PrivilegeCase& test, const std::string& ns, const RoleUser& user,
                    bool known) {
    const int code = Ask(user, test, ns);
    if (!known) {
      return code == kCommandNotFound || (code == kUnauthorized && !user.logged_in)
                 ? ""
                 : "is no command there, and yet answered with " + std::to_string(code);
    }
    if (test.need == "refused") {
      return code == 0 ? "is allowed, should be an error" : "";
    }
    if (CannotBe(code)) {
      return "";
    }
    const std::string found = code == kUnauthorized ? "refused" : "allowed";
    const std::string expected = Need(roles_, test.need, ns, user).Met() ? "allowed" : "refused";
    return found == expected ? ""
                             : "is " + found + " (" + std::to_string(code) + " " + text_ +
                                   "), should be " + expected;
  }

  // The answer's code to a user. What it did to the users themselves is undone.
  int Ask(const RoleUser& user, const PrivilegeCase& test, const std::string& ns) {
    const std::string database = ns.substr(0, ns.find('.'));
    const std::map<std::string, std::string> words = {
        {"$c", ns.substr(ns.find('.') + 1)}, {"$ns", ns}, {"$d", database}, {"$me", user.name}};
    const bson::Document body = GuardedNode::Parse(Expand(test.body, words));
    request::Client client("192.0.2.1:40000");
    if (user.logged_in) {
      server_.LogIn(client, user.name);
    }
    const bson::Document reply =
        server_.RunAs(client, body.view(), test.database.empty() ? database : test.database);
    const int code = GuardedNode::CodeOf(reply);
    text_ = code == 0 ? "" : reply["errmsg"].AsString().substr(0, 60);
    if (code == 0 &&
        (database == "admin" || test.database == "admin" || Mentions(test.body, "$me"))) {
      RestoreUsers();
    }
    return code;
  }
  void RestoreUsers() {
    store::CollectionPtr kept = server_.users_engine().catalog().Find(kUsers);
    if (kept != nullptr && kept->capped) {  // it would forget the first of them
      server_.Run(R"({"drop": "system.users"})", "admin");
    }
    if (People() != people_) {
      server_.AddUsers(users_);
    }
  }
  // The users as they are stored.
  std::string People() {
    const bson::Document filter = GuardedNode::Parse(R"({"db": "people"})");
    const auto all = LoadOwnAll(server_.users_engine(), kUsers, filter.view(), {});
    std::set<std::string> documents;
    for (size_t i = 0; all.ok() && i < all->size(); ++i) {
      documents.insert(std::string((*all)[i].bytes()));
    }
    std::string out;
    for (const std::string& document : documents) {
      out += document;
    }
    return out;
  }

  std::vector<std::string> NamespacesOf(const PrivilegeCase& test) const {
    const std::string text = test.body + " " + test.need;
    if (Mentions(text, "$c") || Mentions(text, "$ns")) {
      return matrix_.namespaces;
    }
    if (Mentions(text, "$d") || Mentions(text, "$db")) {
      return {"shop.orders", "other.orders", "admin.orders", "config.orders", "local.orders"};
    }
    return {"shop.orders"};
  }

  const auth::RoleTable roles_;
  Matrix matrix_;
  MatrixServer& server_;
  std::vector<RoleUser> users_;
  std::string people_;  // as they are to be stored
  std::string text_;    // the error of the last answer
};

}  // namespace quire::command
