// SPDX-License-Identifier: Apache-2.0
//
// Who may run what: every line of tests/privileges/commands.txt as a user of every built-in role of
// tests/privileges/roles.txt, on every namespace. Allowed is any answer but Unauthorized.
#include <algorithm>
#include <cctype>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "auth/testing/role_table.h"
#include "base/error_codes.h"
#include "command/testing/guarded.h"
#include "pipeline/stage_table.h"

namespace quire::command {
namespace {

const auth::RoleTable& Roles() {
  static const auth::RoleTable table(QUIRE_SOURCE_DIR "/tests/privileges/roles.txt");
  return table;
}

using auth::RoleTable;

struct Case {
  int line = 0;
  std::string heading;   // the command or the stage
  std::string database;  // "" for that of the namespace
  std::string body;
  std::string need;
};

struct Matrix {
  std::vector<std::string> namespaces;
  std::vector<Case> cases;
  std::set<std::string> headings;
};

std::string Trimmed(std::string text) {
  text.erase(0, text.find_first_not_of(' '));
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

// The file's lines without comments, continued ones joined.
std::vector<std::pair<int, std::string>> JoinedLines(const char* path) {
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

Case ReadCase(int line, const std::string& heading, std::string text) {
  Case out{line, heading, "", "", ""};
  text = Trimmed(std::move(text));
  if (text[0] == '@') {
    out.database = text.substr(1, text.find(' ') - 1);
    text = text.substr(text.find(' '));
  }
  size_t arrow = text.rfind(" => ");
  EXPECT_NE(arrow, std::string::npos) << "line " << line;
  out.body = Trimmed(text.substr(0, arrow));
  out.need = Trimmed(text.substr(arrow + 4));
  return out;
}

Matrix ReadMatrix() {
  Matrix out;
  std::string heading;
  for (auto& [line, text] : JoinedLines(QUIRE_SOURCE_DIR "/tests/privileges/commands.txt")) {
    if (text[0] == ' ') {
      out.cases.push_back(ReadCase(line, heading, text));
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
  return out;
}

bool IsNameCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '.';
}

// JSON of the file's shorthand: names without quotes, and what $c, $ns, $d and $me stand for.
std::string Expand(const std::string& body, const std::map<std::string, std::string>& words) {
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
bool Mentions(const std::string& text, const std::string& word) {
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
bool CannotBe(int code) {
  constexpr int kOutToSystem = 17385;
  constexpr int kMergeToSystem = 31319;
  constexpr int kMergeToServer = 31320;
  constexpr int kOutToServer = 31321;
  return code == kInvalidNamespace || code == kOutToSystem || code == kMergeToSystem ||
         code == kMergeToServer || code == kOutToServer;
}

struct User {
  std::string name;
  std::string role;  // "" for none
  std::string database;
  bool logged_in = true;
};

// What a line needs, evaluated for a user by the table of roles.
class Need {
 public:
  Need(const std::string& text, std::string ns, const User& user)
      : ns_(std::move(ns)), database_(ns_.substr(0, ns_.find('.'))), user_(user) {
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
      return !user_.role.empty() && Roles().GivesAnything(user_.role, user_.database,
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
      if (!Roles().Gives(user_.role, user_.database, action, resource)) {
        return false;
      }
    }
    return true;
  }

  std::string ns_;
  std::string database_;
  const User& user_;
  std::vector<std::string> words_;
  size_t at_ = 0;
};

class PrivilegeMatrix : public testing::Test {
 protected:
  PrivilegeMatrix() : matrix_(ReadMatrix()) {
    node_.commands().fail_points().Enable(true);
    users_.push_back({"stranger", "", "", false});
    users_.push_back({"nothing", "", "", true});
    for (const auto& [role, row] : Roles().roles()) {
      users_.push_back({role + "@admin", role, "admin", true});
      if (row.everywhere) {
        users_.push_back({role + "@shop", role, "shop", true});
      }
    }
    for (const char* database : {"shop", "other", "admin", "config", "local"}) {
      MakeCollections(database);
    }
    node_.Run(R"({"insert": "system.js", "documents": [{"_id": "f", "value": 1}]})", "shop");
    node_.Run(R"({"create": "system.profile", "capped": true, "size": 4096})", "shop");
    for (const User& user : users_) {
      MakeUser(user);
    }
  }

  void MakeCollections(std::string_view database) {
    node_.Run(R"({"insert": "orders", "documents": [{"_id": 1, "a": 1, "n": 1}]})", database);
    node_.Run(R"({"insert": "second", "documents": [{"_id": 1}]})", database);
    node_.Run(R"({"create": "view", "viewOn": "orders", "pipeline": []})", database);
    node_.Run(R"({"createUser": "known", "pwd": "pencil", "roles": []})", database);
    node_.Run(R"({"createRole": "watcher", "privileges": [], "roles": []})", database);
  }
  void MakeUser(const User& user) {
    std::vector<auth::RoleName> roles;
    if (!user.role.empty()) {
      roles.push_back({user.role, user.database});
    }
    node_.AddUser(user.name, roles);
  }

  // The answer's code to a user. What it did to the users themselves is undone.
  int Ask(const User& user, const Case& test, const std::string& ns) {
    std::string database = ns.substr(0, ns.find('.'));
    std::map<std::string, std::string> words = {
        {"$c", ns.substr(ns.find('.') + 1)}, {"$ns", ns}, {"$d", database}, {"$me", user.name}};
    bson::Document body = GuardedNode::Parse(Expand(test.body, words));
    request::Client client("192.0.2.1:40000");
    if (user.logged_in) {
      node_.LogIn(client, user.name);
    }
    bson::Document reply =
        node_.RunAs(client, body.view(), test.database.empty() ? database : test.database);
    int code = GuardedNode::CodeOf(reply);
    text_ = code == 0 ? "" : reply["errmsg"].AsString().substr(0, 60);
    if (code == 0 &&
        (database == "admin" || test.database == "admin" || Mentions(test.body, "$me"))) {
      RestoreUsers(user);
    }
    return code;
  }
  void RestoreUsers(const User& changed) {
    store::CollectionPtr kept = node_.engine().catalog().Find(kUsers);
    if (kept != nullptr && kept->capped) {  // it would forget the first of them
      node_.Run(R"({"drop": "system.users"})", "admin");
    }
    bson::Document people = GuardedNode::Parse(R"({"db": "people"})");
    auto all = LoadOwnAll(node_.engine(), kUsers, people.view(), {});
    if (!all.ok() || all->size() != users_.size()) {
      for (const User& user : users_) {
        MakeUser(user);
      }
    } else if (changed.logged_in) {
      MakeUser(changed);
    }
  }

  std::vector<std::string> NamespacesOf(const Case& test) const {
    std::string text = test.body + " " + test.need;
    if (Mentions(text, "$c") || Mentions(text, "$ns")) {
      return matrix_.namespaces;
    }
    if (Mentions(text, "$d") || Mentions(text, "$db")) {
      return {"shop.orders", "other.orders", "admin.orders", "config.orders", "local.orders"};
    }
    return {"shop.orders"};
  }

  Matrix matrix_;
  GuardedNode node_;
  std::vector<User> users_;
  std::string text_;  // the error of the last answer
};

TEST_F(PrivilegeMatrix, NamesEveryCommandAndStage) {
  std::set<std::string> all;
  for (const Row* row : node_.commands().rows()) {
    all.emplace(row->info.name);
  }
  for (const pipeline::StageRow& stage : pipeline::AllStages()) {
    all.emplace(stage.name);
  }
  EXPECT_EQ(matrix_.headings, all);
}

TEST_F(PrivilegeMatrix, IsWhatUsersMayDo) {
  int asked = 0;
  for (const Case& test : matrix_.cases) {
    std::map<std::string, std::string> wrong;  // users by what is wrong
    for (const std::string& ns : NamespacesOf(test)) {
      for (const User& user : users_) {
        int code = Ask(user, test, ns);
        ++asked;
        std::string found = code == kUnauthorized ? "refused" : "allowed";
        if (test.need == "refused") {
          if (code == 0) {
            wrong["is allowed, should be an error"] += " " + user.name + " on " + ns + ";";
          }
          continue;
        }
        if (CannotBe(code)) {
          continue;
        }
        std::string expected = Need(test.need, ns, user).Met() ? "allowed" : "refused";
        if (found != expected) {
          wrong["is " + found + " (" + std::to_string(code) + " " + text_ + "), should be " +
                expected] += " " + user.name + " on " + ns + ";";
        }
      }
    }
    for (const auto& [what, who] : wrong) {
      ADD_FAILURE() << "commands.txt:" << test.line << ": "
                    << (test.database.empty() ? "" : "@" + test.database + " ") << test.body
                    << "\n  " << what << ":" << who.substr(0, 600);
    }
  }
  EXPECT_GT(asked, 10000);
}

}  // namespace
}  // namespace quire::command
