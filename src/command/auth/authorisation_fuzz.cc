// SPDX-License-Identifier: Apache-2.0
//
// Commands that a user may run, changed in every way that has ever confused a check with what it
// checks: whatever comes of them, nothing is read or written outside of the user's privileges. The
// storage below tells what was touched, and what belongs to others is marked so that a reply that
// holds it is found.
//
// The input's bytes choose the user, the command and its changes; when they are used up, a random
// number generator that they are the seed of goes on.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "command/auth/login.h"
#include "command/command.h"
#include "command/own_documents.h"
#include "engine/engine.h"
#include "kv/open.h"
#include "kv/testing/record_store.h"
#include "request/crud.h"
#include "run/profiler.h"
#include "store/layout.h"

namespace quire::command {
namespace {

constexpr int kInputsPerEngine = 1000;
constexpr std::string_view kMark = "SECRET:";
constexpr std::string_view kLongDatabase =
    "ddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd";

void Require(bool condition, const char* what) {
  if (!condition) {
    std::fprintf(stderr, "%s\n", what);
    std::abort();
  }
}

class Choices {
 public:
  // `data` outlives it.
  Choices(const uint8_t* data, size_t size) : data_(data), size_(size) {
    std::seed_seq seed(data, data + size);
    random_.seed(seed);
  }
  size_t Below(size_t bound) {
    uint32_t number = at_ < size_ ? data_[at_++] : static_cast<uint32_t>(random_());
    return number % bound;
  }
  bool OneIn(size_t n) { return Below(n) == 0; }
  template <typename List>
  const auto& Of(const List& list) {
    return list[Below(std::size(list))];
  }

 private:
  const uint8_t* data_;
  size_t size_;
  size_t at_ = 0;
  std::minstd_rand random_;
};

struct Field;

// A document that can be changed in place: fields of a document or an array, or a value.
struct Tree {
  bool is_list = false;   // a document or an array
  bool is_array = false;  // of these
  std::vector<Field> fields;
  bson::Document leaf;  // {"": value}

  static Tree Of(const bson::Value& value);
  static Tree Json(std::string_view text);
  void AppendTo(bson::Builder* out) const;
  bson::Document ToDocument() const;
};

struct Field {
  std::string name;
  Tree value;
};

Tree Tree::Of(const bson::Value& value) {
  Tree out;
  if (value.is_document() || value.is_array()) {
    out.is_list = true;
    out.is_array = value.is_array();
    for (const bson::Element& e : value.is_array() ? value.AsArray() : value.AsDocument()) {
      out.fields.push_back({std::string(e.name()), Of(e.value())});
    }
  } else {
    out.leaf = bson::Builder().Append("", value).Finish();
  }
  return out;
}

Tree Tree::Json(std::string_view text) {
  auto parsed = bson::Document::FromJson("{\"v\": " + std::string(text) + "}");
  Require(parsed.ok(), std::string(text).c_str());
  return Of((*parsed)["v"]);
}

void Tree::AppendTo(bson::Builder* out) const {
  for (const auto& [name, value] : fields) {
    if (!value.is_list) {
      is_array ? out->Push(value.leaf.view().front().value())
               : out->Append(name, value.leaf.view().front().value());
      continue;
    }
    if (is_array) {
      value.is_array ? out->PushArray() : out->PushDocument();
    } else {
      value.is_array ? out->BeginArray(name) : out->BeginDocument(name);
    }
    value.AppendTo(out);
    out->End();
  }
}

bson::Document Tree::ToDocument() const {
  bson::Builder out;
  AppendTo(&out);
  return out.Finish();
}

struct Template {
  const char* database;
  const char* command;
};
constexpr Template kWriter[] = {
    {"app", R"({"find": "orders", "filter": {"_id": 1}})"},
    {"app", R"({"find": "view", "filter": {}})"},
    {"app", R"({"count": "deep", "query": {}})"},
    {"app", R"({"distinct": "orders", "key": "a"})"},
    {"app", R"({"insert": "inbox", "documents": [{"a": 1}]})"},
    {"app", R"({"update": "inbox", "updates": [{"q": {"a": 1}, "u": {"$set": {"b": 1}},
                "upsert": false}]})"},
    {"app", R"({"delete": "inbox", "deletes": [{"q": {"a": 1}, "limit": 1}]})"},
    {"app", R"({"findAndModify": "inbox", "query": {"a": 1}, "update": {"$inc": {"n": 1}}})"},
    {"app", R"({"aggregate": "orders", "pipeline": [{"$match": {}}], "cursor": {}})"},
    {"app", R"({"aggregate": "orders", "pipeline": [{"$lookup": {"from": "inbox", "as": "x",
                "localField": "a", "foreignField": "a"}}], "cursor": {}})"},
    {"app", R"({"aggregate": "orders", "pipeline": [{"$lookup": {"from": "inbox", "as": "x",
                "let": {"a": "$a"}, "pipeline": [{"$match": {}}]}}], "cursor": {}})"},
    {"app", R"({"aggregate": "orders", "pipeline": [{"$graphLookup": {"from": "inbox", "as": "x",
                "startWith": "$a", "connectFromField": "a", "connectToField": "a"}}],
                "cursor": {}})"},
    {"app", R"({"aggregate": "orders", "pipeline": [{"$unionWith": {"coll": "inbox",
                "pipeline": []}}], "cursor": {}})"},
    {"app", R"({"aggregate": "orders", "pipeline": [{"$facet": {"x": [{"$match": {}}]}}],
                "cursor": {}})"},
    {"app", R"({"aggregate": "orders", "pipeline": [{"$out": "written"}], "cursor": {}})"},
    {"app", R"({"aggregate": "orders", "pipeline": [{"$out": {"db": "app", "coll": "written"}}],
                "cursor": {}})"},
    {"app", R"({"aggregate": "orders", "pipeline": [{"$merge": {"into": {"db": "app",
                "coll": "merged"}, "whenMatched": "replace"}}], "cursor": {}})"},
    {"app", R"({"aggregate": 1, "pipeline": [{"$documents": [{"a": 1}]}], "cursor": {}})"},
    {"app", R"({"aggregate": "orders", "pipeline": [{"$changeStream": {}}], "cursor": {}})"},
    {"app", R"({"aggregate": "orders", "pipeline": [{"$collStats": {"count": {}}}],
                "cursor": {}})"},
    {"app", R"({"explain": {"find": "orders", "filter": {}}, "verbosity": "executionStats"})"},
    {"app", R"({"explain": {"aggregate": "orders", "pipeline": [], "cursor": {}}})"},
    {"app", R"({"mapReduce": "orders", "map": "function() { emit(1, this); }",
                "reduce": "function(k, v) { return 1; }", "out": {"inline": 1}})"},
    {"app", R"({"mapReduce": "orders", "map": "function() { emit(1, 1); }",
                "reduce": "function(k, v) { return 1; }", "out": {"replace": "reduced",
                "db": "app"}})"},
    {"app", R"({"create": "made", "capped": false})"},
    {"app", R"({"create": "seen", "viewOn": "orders", "pipeline": [{"$lookup": {"from": "inbox",
                "as": "x", "pipeline": []}}]})"},
    {"app", R"({"find": "seen"})"},
    {"app", R"({"drop": "made"})"},
    {"app", R"({"createIndexes": "inbox", "indexes": [{"key": {"a": 1}, "name": "a"}]})"},
    {"app", R"({"listIndexes": "orders"})"},
    {"app", R"({"listCollections": 1, "filter": {}})"},
    {"app", R"({"dbHash": 1, "collections": ["orders"]})"},
    {"app", R"({"collStats": "orders"})"},
    {"app", R"({"dbStats": 1})"},
    {"app", R"({"dataSize": "app.orders"})"},
    {"app", R"({"cloneCollectionAsCapped": "orders", "toCollection": "cloned", "size": 4096})"},
    {"app", R"({"convertToCapped": "made", "size": 4096})"},
    {"admin", R"({"renameCollection": "app.made", "to": "app.renamed", "dropTarget": false})"},
    {"admin", R"({"bulkWrite": 1, "ops": [{"insert": 0, "document": {"a": 1}},
                {"update": 0, "filter": {"a": 1}, "updateMods": {"$set": {"b": 1}}},
                {"delete": 0, "filter": {"a": 9}}], "nsInfo": [{"ns": "app.inbox"}]})"},
};
constexpr Template kClerk[] = {
    {"app", R"({"find": "orders", "filter": {"a": 1}})"},
    {"app", R"({"find": "view", "filter": {}})"},
    {"app", R"({"aggregate": "view", "pipeline": [{"$match": {}}], "cursor": {}})"},
    {"app", R"({"aggregate": "orders", "pipeline": [{"$unionWith": "view"}], "cursor": {}})"},
    {"app", R"({"aggregate": "orders", "pipeline": [{"$lookup": {"from": "view", "as": "x",
                "localField": "a", "foreignField": "a"}}], "cursor": {}})"},
    {"app", R"({"insert": "inbox", "documents": [{"a": 1}]})"},
    {"app", R"({"aggregate": "orders", "pipeline": [{"$merge": {"into": "inbox",
                "whenMatched": "fail", "whenNotMatched": "insert"}}], "cursor": {}})"},
    {"app", R"({"explain": {"count": "orders", "query": {}}})"},
    {"admin", R"({"bulkWrite": 1, "ops": [{"insert": 0, "document": {"a": 1}}],
                "nsInfo": [{"ns": "app.inbox"}]})"},
    {"app", R"({"listCollections": 1, "nameOnly": true, "authorizedCollections": true})"},
    {"app", R"({"usersInfo": {"user": "clerk", "db": "people"}})"},
    {"app", R"({"rolesInfo": {"role": "clerk", "db": "admin"}})"},
};
constexpr Template kKeeper[] = {
    {"app", R"({"collMod": "orders", "validator": {}})"},
    {"app", R"({"collMod": "view", "viewOn": "orders", "pipeline": []})"},
    {"app", R"({"create": "kept", "viewOn": "orders", "pipeline": [{"$lookup": {"from": "inbox",
                "as": "x", "pipeline": []}}]})"},
    {"app", R"({"validate": "orders", "full": true})"},
    {"app", R"({"compact": "orders"})"},
    {"app", R"({"collStats": "orders"})"},
    {"app", R"({"aggregate": "orders", "pipeline": [{"$collStats": {"storageStats": {}}}],
                "cursor": {}})"},
    {"app", R"({"planCacheClear": "orders"})"},
    {"app", R"({"createIndexes": "orders", "indexes": [{"key": {"a": 1}, "name": "a"}]})"},
    {"app", R"({"validateDBMetadata": 1, "db": "app", "collections": ["orders"],
                "apiParameters": {"version": "1", "strict": true}})"},
};
// With roles on all databases but the server's own.
constexpr Template kWatcher[] = {
    {"secret", R"({"find": "vault", "filter": {}})"},
    {"secret", R"({"aggregate": "vault", "pipeline": [{"$match": {}}], "cursor": {}})"},
    {"app", R"({"listCollections": 1, "filter": {}})"},
    {"app", R"({"listIndexes": "orders"})"},
    {"app", R"({"dbHash": 1})"},
    {"app", R"({"dbStats": 1})"},
    {"app", R"({"collStats": "orders"})"},
    {"admin", R"({"listDatabases": 1})"},
    {"app", R"({"validateDBMetadata": 1, "apiParameters": {"version": "1", "strict": true}})"},
};
constexpr Template kCurator[] = {
    {"app", R"({"profile": 2})"},
    {"secret", R"({"profile": 1, "slowms": 0})"},
    {"secret", R"({"profile": 0})"},
    {"secret", R"({"create": "made"})"},
    {"secret", R"({"create": "seen", "viewOn": "orders", "pipeline": []})"},
    {"secret", R"({"collMod": "vault", "validator": {}})"},
    {"secret", R"({"createIndexes": "vault", "indexes": [{"key": {"a": 1}, "name": "a"}]})"},
    {"secret", R"({"drop": "made"})"},
    {"app", R"({"validate": "orders"})"},
    {"app", R"({"listCollections": 1})"},
};
struct User {
  const char* name;
  std::span<const Template> templates;
};
const User kUsersOfTheFuzzer[] = {{"writer", kWriter},
                                  {"clerk", kClerk},
                                  {"keeper", kKeeper},
                                  {"watcher", kWatcher},
                                  {"curator", kCurator}};

// Names that lead elsewhere, or look as if they did.
constexpr const char* kNames[] = {
    R"("vault")",
    R"("secret.vault")",
    R"("secret")",
    R"("admin")",
    R"("system.users")",
    R"("admin.system.users")",
    R"("hidden")",
    R"("app.hidden")",
    R"("system.views")",
    R"("system.profile")",
    R"("local.oplog.rs")",
    R"("oplog.rs")",
    R"("orders")",
    R"("app.orders")",
    R"("inbox")",
    R"("deep")",
    R"("seen")",
    R"("view")",
    R"("$cmd.aggregate")",
    R"("")",
    R"("app")",
    R"("app.")",
    R"(".vault")",
    R"("vault\u0000x")",
    R"("VAULT")",
    R"({"db": "secret", "coll": "vault"})",
    R"({"db": null, "db": "secret", "coll": "vault"})",
    R"({"db": "app", "db": "secret", "coll": "vault"})",
    R"({"coll": "vault"})",
    R"({"db": "admin", "coll": "system.users"})",
    R"({"into": "vault"})",
    R"(["vault"])",
    R"("system.js")",
    R"("system.roles")",
};
constexpr const char* kValues[] = {"null",
                                   "0",
                                   "1",
                                   "1.0",
                                   R"({"$numberLong": "1"})",
                                   R"({"$numberDecimal": "1"})",
                                   "true",
                                   "false",
                                   R"("true")",
                                   "[]",
                                   "{}",
                                   "-1",
                                   R"({"$numberLong": "0"})",
                                   "\"\""};
// Fields that say what else is touched.
constexpr std::pair<const char*, const char*> kFields[] = {
    {"$db", R"("secret")"},
    {"upsert", "1"},
    {"upsert", "true"},
    {"remove", "1"},
    {"remove", R"({"$numberLong": "1"})"},
    {"multi", "true"},
    {"bypassDocumentValidation", "true"},
    {"dropTarget", "true"},
    {"dropTarget", "1"},
    {"db", R"("secret")"},
    {"coll", R"("vault")"},
    {"from", R"("vault")"},
    {"from", R"({"db": "secret", "coll": "vault"})"},
    {"into", R"({"db": "secret", "coll": "vault"})"},
    {"viewOn", R"("system.users")"},
    {"viewOn", R"("hidden")"},
    {"to", R"("secret.vault")"},
    {"collection", R"("hidden")"},
    {"collections", R"(["hidden"])"},
    {"nsInfo", R"([{"ns": "secret.vault"}])"},
    {"ns", R"("secret.vault")"},
    {"pipeline", R"([{"$unionWith": "hidden"}])"},
    {"pipeline", R"([{"$graphLookup": {"from": {"db": "secret", "coll": "vault"}, "as": "x",
        "startWith": 1, "connectFromField": "a", "connectToField": "a"}}])"},
    {"out", R"({"replace": "vault", "db": "secret"})"},
    {"explain", "true"},
    {"allChangesForCluster", "true"},
    {"forAllDBs", "true"},
    {"showCredentials", "true"},
    {"showPrivileges", "true"},
    {"nameOnly", "false"},
    {"authorizedCollections", "false"},
};
constexpr const char* kStages[] = {
    R"({"$unionWith": "hidden"})",
    R"({"$unionWith": {"coll": "orders", "coll": "hidden"}})",
    R"({"$unionWith": {"db": "secret", "coll": "vault"}})",
    R"({"$lookup": {"from": "hidden", "as": "x", "pipeline": []}})",
    R"({"$lookup": {"from": {"db": "secret", "coll": "vault"}, "as": "x", "pipeline": []}})",
    R"({"$lookup": {"from": "orders", "from": "hidden", "as": "x", "pipeline": []}})",
    R"({"$graphLookup": {"from": "orders", "from": {"db": "secret", "coll": "vault"}, "as": "x",
        "startWith": 1, "connectFromField": "a", "connectToField": "a"}})",
    R"({"$graphLookup": {"from": "hidden", "as": "x", "startWith": 1, "connectFromField": "a",
        "connectToField": "a"}})",
    R"({"$out": {"db": "secret", "coll": "vault"}})",
    R"({"$out": {"db": null, "db": "secret", "coll": "vault"}})",
    R"({"$merge": {"into": "inbox", "into": {"db": "secret", "coll": "vault"}}})",
    R"({"$merge": {"into": {"db": "secret", "coll": "vault"}}})",
    R"({"$merge": "hidden"})",
    R"({"$collStats": {"count": {}}})",
    R"({"$indexStats": {}})",
    R"({"$planCacheStats": {}})",
    R"({"$changeStream": {"allChangesForCluster": true}})",
    R"({"$listClusterCatalog": {}})",
    R"({"$currentOp": {"allUsers": true}})",
    R"({"$match": {"$where": "true"}})",
};

// Every list inside a tree, the tree's own among them.
void Lists(Tree* tree, std::vector<Tree*>* out) {
  if (tree->is_list) {
    out->push_back(tree);
    for (auto& [name, value] : tree->fields) {
      Lists(&value, out);
    }
  }
}

bool IsPipeline(const std::string& name, const Tree& value) {
  return value.is_array &&
         (name == "pipeline" || (!value.fields.empty() && !value.fields[0].value.fields.empty() &&
                                 value.fields[0].value.fields[0].name[0] == '$'));
}

Tree Wrapped(const char* before, Tree inner, const char* after) {
  bson::Builder text;
  text.BeginArray("p");
  inner.AppendTo(&text);
  text.End();
  bson::Document document = text.Finish();
  return Tree::Json(before + bson::ToJson(document["p"]) + after);
}

// The pipeline inside another one.
Tree Nested(Choices& choices, Tree pipeline) {
  switch (choices.Below(4)) {
    case 0:
      return Wrapped(R"([{"$facet": {"f": )", std::move(pipeline), "}}]");
    case 1:
      return Wrapped(R"([{"$lookup": {"from": "orders", "as": "l", "pipeline": )",
                     std::move(pipeline), "}}]");
    case 2:
      return Wrapped(R"([{"$unionWith": {"coll": "orders", "pipeline": )", std::move(pipeline),
                     "}}]");
    default:
      return Wrapped(R"([{"$lookup": {"from": "view", "as": "l", "pipeline": )",
                     std::move(pipeline), "}}]");
  }
}

void ChangeField(Choices& choices, Tree* list, size_t at) {
  auto& [name, value] = list->fields[at];
  switch (choices.Below(8)) {
    case 0:  // repeated, before
      list->fields.insert(list->fields.begin() + static_cast<std::ptrdiff_t>(at),
                          {name, Tree::Json(choices.OneIn(2) ? "null" : choices.Of(kNames))});
      break;
    case 1:  // repeated, after
      list->fields.insert(list->fields.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                          {name, Tree::Json(choices.Of(kNames))});
      break;
    case 2:
      value = Tree::Json(choices.Of(kValues));
      break;
    case 3:
    case 4:
      value = Tree::Json(choices.Of(kNames));
      break;
    case 5:
      list->fields.erase(list->fields.begin() + static_cast<std::ptrdiff_t>(at));
      break;
    case 6:
      if (IsPipeline(name, value)) {
        value = Nested(choices, std::move(value));
      }
      break;
    default:
      if (IsPipeline(name, value)) {
        size_t place = choices.Below(value.fields.size() + 1);
        value.fields.insert(value.fields.begin() + static_cast<std::ptrdiff_t>(place),
                            {"", Tree::Json(choices.Of(kStages))});
      } else {
        name = choices.Of(kFields).first;
      }
  }
}

void Change(Choices& choices, Tree* command) {
  std::vector<Tree*> lists;
  Lists(command, &lists);
  Tree* list = lists[choices.Below(lists.size())];
  if (choices.OneIn(4)) {
    const auto& [name, value] = choices.Of(kFields);
    size_t place = choices.Below(list->fields.size() + 1);
    if (list == command && place == 0) {
      place = list->fields.size();
    }
    list->fields.insert(list->fields.begin() + static_cast<std::ptrdiff_t>(place),
                        {name, Tree::Json(value)});
  } else if (!list->fields.empty()) {
    ChangeField(choices, list, choices.Below(list->fields.size()));
  }
}

// The places of keys: "C<ns>" for a catalog entry, "t<table>" for a table, "" for what belongs to
// no collection: the change log, the answers of retryable writes.
std::string PlaceOf(std::string_view key) {
  if (key.size() < 4) {
    return "";
  }
  if (store::TableId table = store::ReadTableId(key); table != store::kMetaTable) {
    return "t" + std::to_string(table);
  }
  char kind = key.size() > 4 ? key[4] : '\0';
  if (kind == 'C') {
    return "C" + std::string(key.substr(5));
  }
  bool of_table = kind == 'D' || kind == 'M' || kind == 'n' || kind == 'b';
  return of_table && key.size() >= 9 ? "t" + std::to_string(store::ReadTableId(key.substr(5))) : "";
}

class Target {
 public:
  Target() : record_(PlaceOf) {
    auto store = kv::Open("rocks:", {.cache_bytes = 16 << 20, .sections = store::KeySections()});
    Require(store.ok(), "no store");
    auto engine = engine::Engine::Open(kv::NewRecordStore(*std::move(store), record_), {});
    Require(engine.ok(), "no engine");
    engine_ = *std::move(engine);
    open_ = std::make_unique<Commands>(engine_.get(), ServerInfo());
    ServerInfo info;
    info.access_control = true;
    guarded_ = std::make_unique<Commands>(engine_.get(), std::move(info));
    MakeCollections();
    MakeUsers();
  }

  // The input that is run, as hexadecimal digits: what makes a failure happen again.
  static std::string& Input() {
    static std::string input;
    return input;
  }

  void Run(Choices choices) {
    const User& user = choices.Of(kUsersOfTheFuzzer);
    const Template& chosen = choices.Of(user.templates);
    auto parsed = bson::Document::FromJson(chosen.command);
    Require(parsed.ok(), chosen.command);
    Tree command = Tree::Of(bson::Value(parsed->view()));
    for (size_t changes = choices.Below(5); changes > 0; --changes) {
      Change(choices, &command);
    }
    if (choices.OneIn(8)) {
      Tree wrapper = Tree::Json(R"({"explain": 1})");
      wrapper.fields[0].value = std::move(command);
      command = std::move(wrapper);
    }
    constexpr std::string_view kDatabases[] = {
        "app",          "secret",     "admin",       "local", "config",    "",
        "app.orders",   "local.evil", "local.vault", "x$",    "config.x",  "admin.system",
        "secret.vault", "$external",  "we$ird/..",   " ",     {"a\0b", 3}, kLongDatabase};
    std::string_view database =
        choices.OneIn(8) ? choices.Of(kDatabases) : std::string_view(chosen.database);
    Ask(user, command, database, choices);
  }

 private:
  void Open(std::string_view json, std::string_view database) {
    auto parsed = bson::Document::FromJson(json);
    Require(parsed.ok(), std::string(json).c_str());
    request::Request request;
    request.body = *parsed;
    request.database = database;
    std::string reply;
    open_->Run(nobody_, request, &reply);
  }

  void MakeCollections() {
    for (const char* ns : {"app.orders", "app.inbox", "app.hidden", "secret.vault", "secret.orders",
                           "secret.hidden", "admin.vault", "admin.hidden", "config.vault",
                           "config.x.vault", "local.vault", "local.vault.deep"}) {
      std::string_view name(ns);
      std::string database(name.substr(0, name.find('.')));
      std::string collection(name.substr(name.find('.') + 1));
      Open(R"({"insert": ")" + collection + R"(", "documents": [{"_id": 1, "a": 1, "s": ")" +
               std::string(kMark) + ns + "\"}]}",
           database);
      Open(R"({"createIndexes": ")" + collection +
               R"(", "indexes": [{"key": {"s": 1}, "name": "s"}]})",
           database);
    }
    Open(R"({"create": "view", "viewOn": "orders", "pipeline": [{"$match": {"a": 1}}]})", "app");
    Open(R"({"create": "deep", "viewOn": "view", "pipeline": [{"$lookup": {"from": "inbox",
             "as": "i", "pipeline": []}}]})",
         "app");
  }

  void MakeUsers() {
    Save(kRoles, R"({"_id": "admin.clerk", "role": "clerk", "db": "admin", "roles": [],
         "privileges": [
           {"resource": {"db": "app", "collection": "orders"}, "actions": ["find"]},
           {"resource": {"db": "app", "collection": "view"}, "actions": ["find"]},
           {"resource": {"db": "app", "collection": "inbox"}, "actions": ["insert"]}]})");
    Save(kUsers, R"({"_id": "people.writer", "user": "writer", "db": "people", "credentials": {},
                     "roles": [{"role": "readWrite", "db": "app"}]})");
    Save(kUsers, R"({"_id": "people.clerk", "user": "clerk", "db": "people", "credentials": {},
                     "roles": [{"role": "clerk", "db": "admin"}]})");
    Save(kUsers, R"({"_id": "people.keeper", "user": "keeper", "db": "people", "credentials": {},
                     "roles": [{"role": "dbAdmin", "db": "app"}]})");
    Save(kUsers, R"({"_id": "people.watcher", "user": "watcher", "db": "people",
                     "credentials": {}, "roles": [{"role": "readAnyDatabase", "db": "admin"}]})");
    Save(kUsers, R"({"_id": "people.curator", "user": "curator", "db": "people",
                     "credentials": {}, "roles": [{"role": "dbAdminAnyDatabase", "db": "admin"}]})");
    Save(kUsers, R"({"_id": "secret.victim", "user": "victim", "db": "secret", "roles": [],
                     "credentials": {"SCRAM-SHA-256": {"storedKey": "SECRET:admin.system.users"}},
                     "customData": "SECRET:admin.system.users"})");
    guarded_->accounts_version.fetch_add(1);
  }
  void Save(std::string_view ns, const char* json) {
    auto document = bson::Document::FromJson(json);
    Require(document.ok() && SaveOwn(*engine_, ns, document->view()).ok(), json);
  }

  // Which namespace each table belongs to.
  void AddTables(std::map<std::string, std::string>* out) {
    for (const store::CollectionPtr& info : engine_->catalog().snapshot()->All()) {
      if (info->is_view()) {
        continue;
      }
      (*out)["t" + std::to_string(info->table->id)] = info->ns();
      for (const auto& index : info->indexes) {
        (*out)["t" + std::to_string(index->table->id)] = info->ns();
      }
      for (const auto& index : info->building) {
        (*out)["t" + std::to_string(index->table->id)] = info->ns();
      }
    }
  }

  void Ask(const User& user, const Tree& command, std::string_view database, Choices& choices) {
    request::Client client("192.0.2.1:40000");
    auto login = LoadLogin(*guarded_, client, user.name, "people");
    Require(login.ok() && *login != nullptr, "no login");
    SetLogin(client, *login);
    bson::Document body = command.ToDocument();
    if (body.view().empty()) {
      return;
    }
    request::Request request;
    request.body = body.view();
    request.database = database;
    if (choices.OneIn(6)) {
      Lift(body.view(), &request);
    }
    std::map<std::string, std::string> tables;
    AddTables(&tables);
    NoteProfiled();
    std::string reply;
    record_.Start();
    guarded_->Run(client, request, &reply);
    record_.Stop();
    AddTables(&tables);
    bson::Document answer = bson::Document::FromTrusted(std::move(reply));
    Check(user, (*login)->privileges, body.view(), database, answer, tables);
  }

  // Lists are sent beside the body as well.
  static void Lift(bson::View body, request::Request* request) {
    for (const bson::Element& e : body) {
      if (e.type() != bson::Type::kArray) {
        continue;
      }
      request::Sequence sequence{e.name(), {}};
      for (const bson::Element& item : e.value().AsArray()) {
        if (item.type() == bson::Type::kDocument) {
          sequence.documents.push_back(item.value().AsDocument());
        }
      }
      request->sequences.push_back(std::move(sequence));
    }
  }

  static bool MayDoAnything(const auth::Privileges& privileges, std::string_view ns) {
    auth::Resource asked =
        auth::Collection(ns.substr(0, ns.find('.')), ns.substr(ns.find('.') + 1));
    for (size_t i = 0; i < auth::kActionCount; ++i) {
      if (privileges.Allow(static_cast<auth::Action>(i), asked)) {
        return true;
      }
    }
    return false;
  }
  static bool MayFind(const auth::Privileges& privileges, std::string_view ns) {
    return privileges.Allow(auth::Action::find, auth::Collection(ns.substr(0, ns.find('.')),
                                                                 ns.substr(ns.find('.') + 1)));
  }

  static std::string NamespaceOf(const std::string& place,
                                 const std::map<std::string, std::string>& tables) {
    if (place.starts_with('C')) {
      return place.substr(1);
    }
    auto at = tables.find(place);
    return at == tables.end() ? "" : at->second;
  }

  // Users and roles are read by the server itself, to know who may do what; what a client sees of
  // them is found by the marks. Nor is what the profiler reads while it writes a client's reading.
  bool IsOwnReading(std::string_view ns) const {
    return ns == kUsers || ns == kRoles || profiled_.contains(ns);
  }
  // Sizes and hashes of whole databases are told to who may ask for them.
  static bool IsOfDatabase(std::string_view command, const auth::Privileges& privileges,
                           std::string_view database, std::string_view ns) {
    if (command == "listDatabases") {
      return privileges.Allow(auth::Action::listDatabases, auth::Cluster());
    }
    const bool there = ns.substr(0, ns.find('.')) == database;
    return (command == "dbStats" && there &&
            privileges.Allow(auth::Action::dbStats, auth::Database(database))) ||
           (command == "dbHash" && there &&
            privileges.Allow(auth::Action::dbHash, auth::Database(database)));
  }
  // The profiler writes what it was told to before.
  bool IsOwnWriting(std::string_view ns) const { return profiled_.contains(ns); }
  void NoteProfiled() {
    profiled_.clear();
    for (const std::string& database : engine_->catalog().snapshot()->Databases()) {
      if (guarded_->profiler().Get(database).level > 0) {
        profiled_.insert(run::ProfileNamespace(database));
      }
    }
  }

  void Check(const User& user, const auth::Privileges& privileges, bson::View body,
             std::string_view database, const bson::Document& answer,
             const std::map<std::string, std::string>& tables) {
    auto fail = [&](const std::string& what) {
      std::fprintf(stderr, "%s as %s, on %s: %s\nanswer: %.2000s\ninput: %s\n", what.c_str(),
                   user.name, std::string(database).c_str(), bson::ToJson(body).c_str(),
                   bson::ToJson(answer.view()).c_str(), Input().c_str());
      std::abort();
    };
    for (const std::string& place : record_.read()) {
      std::string ns = NamespaceOf(place, tables);
      if (!ns.empty() && !IsOwnReading(ns) && !MayDoAnything(privileges, ns) &&
          !IsOfDatabase(body.front().name(), privileges, database, ns)) {
        fail(ns + " was read");
      }
    }
    for (const std::string& place : record_.written()) {
      std::string ns = NamespaceOf(place, tables);
      if (!ns.empty() && !IsOwnWriting(ns) && !MayDoAnything(privileges, ns)) {
        fail(ns + " was written");
      }
    }
    for (const std::string& there : engine_->catalog().snapshot()->Databases()) {
      if (!request::CheckDatabaseName(there).ok()) {
        fail("database '" + there + "' was made");
      }
    }
    std::string text = bson::ToJson(answer.view());
    for (size_t at = text.find(kMark); at != std::string::npos; at = text.find(kMark, at + 1)) {
      std::string ns = text.substr(at + kMark.size());
      ns.resize(std::min(ns.size(), ns.find_first_of("\"\\")));
      if (!MayFind(privileges, ns)) {
        fail(ns + " was shown");
      }
    }
  }

  std::set<std::string, std::less<>> profiled_;
  kv::AccessRecord record_;
  std::unique_ptr<engine::Engine> engine_;
  std::unique_ptr<Commands> open_;
  std::unique_ptr<Commands> guarded_;
  request::Client nobody_;
};

}  // namespace
}  // namespace quire::command

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using quire::command::Target;
  static Target* target = nullptr;  // the last one stays: RocksDB's statics go before ours
  static int inputs = 0;
  if (target == nullptr || ++inputs % quire::command::kInputsPerEngine == 0) {
    delete target;
    target = new Target();
  }
  Target::Input().clear();
  for (size_t i = 0; i < size; ++i) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", data[i]);
    Target::Input() += digits;
  }
  target->Run({data, size});
  return 0;
}
